"""How large a step of the optimiser is: the rate rises and falls, gradients are clipped, weights decay."""

import pytest
import torch
from accelerate import Accelerator

from lab.small import small
from unmask.lab.settings import Config
from unmask.lab.trained_model import Trained
from unmask.lab.training import Trainer, new_network, new_optimizer, rate_factor
from unmask.lab.training_batches import NetworkWithLoss


class Scaled(NetworkWithLoss):
    """A loss that is `scale` times as large."""

    def __init__(self, network, scale):
        super().__init__(network)
        self.scale = scale

    def forward(self, *given):
        return self.scale * super().forward(*given)


def pupil_of(config, scale=1.0):
    network = new_network(config, config.task)
    trained = Trained(config.task, network, config)
    return Trainer(trained, Scaled(network, scale), new_optimizer(config, network), Accelerator(cpu=True))


@pytest.mark.parametrize(
    ("step", "share"), [(1, 0.01), (50, 0.5), (100, 1), (101, 1), (300, 1), (301, (300 / 301) ** 0.5), (1200, 0.5)]
)
def test_the_rate_rises_over_the_warmup_and_falls_from_the_decay_on(step, share):
    assert rate_factor(step, Config(warmup=100, decay=300)) == share


def test_a_decay_before_the_end_of_the_warmup_and_no_warmup():
    assert rate_factor(1, Config(warmup=0, decay=300)) == 1
    assert [rate_factor(step, Config(warmup=100, decay=4)) for step in (1, 16, 25, 64)] == [0.01, 0.16, 0.25, 0.25]


def test_every_batch_has_the_rate_of_its_step():
    pupil, rates = pupil_of(small(rate=0.01, warmup=4, decay=4)), []
    for step in (0, 1, 3, 15):
        pupil.learn(step)
        rates.append(pupil.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.0025, 0.005, 0.01, 0.005])


def test_the_optimiser():
    config = small(rate=0.003)
    network = new_network(config, config.task)
    optimizer = new_optimizer(config, network)
    assert isinstance(optimizer, torch.optim.AdamW)
    (group,) = optimizer.param_groups
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.003, (0.9, 0.99), 0.01)
    assert {id(p) for p in group["params"]} == {id(p) for p in network.parameters()}


@pytest.mark.parametrize(("scale", "cut"), [(1000.0, True), (1e-4, False)])
def test_a_long_gradient_is_cut_to_length_1_before_the_step_and_a_short_one_is_not(scale, cut):
    """The optimiser's first moments are those of the gradients that it was given."""
    pupil = pupil_of(small(), scale)
    pupil.learn(0)
    parameters = [*pupil.trained.network.parameters()]
    length = torch.sqrt(sum((parameter.grad**2).sum() for parameter in parameters)).item()
    assert length == pytest.approx(1, rel=1e-3) if cut else 0 < length < 0.01
    for parameter in parameters:
        moments = pupil.optimizer.state[parameter]
        torch.testing.assert_close(moments["exp_avg"], 0.1 * parameter.grad)
        torch.testing.assert_close(moments["exp_avg_sq"], 0.01 * parameter.grad**2)
