"""The read-out of correctness: it learns whether the likeliest symbol is right, and nothing else learns from it."""

import pytest
import torch

from lab.small import SMALL, small
from unmask.lab.tasks import LabTask
from unmask.lab.trained_network import PlaceTable, TrainedNetwork
from unmask.lab.training import new_network
from unmask.lab.training_batches import IGNORED, NetworkWithLoss, training_batch

SAID = 1


def gradients(network, config, tokens, targets, operands, weights):
    places = PlaceTable(config.task, config.shape.encoding).at(0, tokens.shape[1])
    network.zero_grad()
    NetworkWithLoss(network)(tokens, places, targets, operands, weights, config.latent).backward()
    return {name: parameter.grad.clone() for name, parameter in network.named_parameters()}


@pytest.mark.parametrize("framework", ["tree", "looped", "cot"])
def test_nothing_but_its_own_weights_learns_from_it(framework):
    """Whatever they are, the gradients of all others are the same."""
    config = small(framework)
    batch = training_batch(config.task, config, 0)
    tensors = [torch.from_numpy(array) for array in (batch.tokens, batch.targets, batch.operands)]
    network, found = new_network(config, config.task), []
    for scale in (1, -100):
        with torch.no_grad():
            network.correct.weight.mul_(scale)
        found.append(gradients(network, config, *tensors, torch.from_numpy(batch.weights).float()))
    assert found[0]["correct.weight"].abs().max() > 0
    for name in found[0]:
        equal = torch.equal(found[0][name], found[1][name])
        assert equal != name.startswith("correct."), name


@pytest.mark.parametrize(("target", "sign"), [(SAID, -1), (SAID - 1, 1)])
def test_it_rises_where_the_likeliest_symbol_is_right_and_falls_where_it_is_not(target, sign):
    """A network that always says the same, taught in a single row: the others do not count."""
    config, task = small(), LabTask.of("group:Z2", 4, "tree")
    network = TrainedNetwork(SMALL, len(task.vocabulary))
    with torch.no_grad():
        network.out.weight.zero_()
        network.out.bias.copy_(10.0 * torch.nn.functional.one_hot(torch.tensor(SAID), len(task.vocabulary)))
        network.correct.weight.zero_()
        network.correct.bias.zero_()
    targets = torch.full((3, 1, task.rows), IGNORED)
    targets[:, 0, 5] = target
    operands = torch.full((3, 1, task.rows, 2), IGNORED)
    found = gradients(network, config, torch.zeros(3, task.rows, dtype=torch.long), targets, operands, torch.ones(3))
    assert torch.sign(found["correct.bias"]).item() == sign  # a step of descent goes the other way
