import msgspec
import numpy as np
import pytest
import torch

from lab.small import small
from lab.test_evaluation import Right, untrained
from unmask.errors import WordError
from unmask.lab.evaluation.trained import Trained
from unmask.lab.inside.operands import operand_attention
from unmask.lab.inside.page import view_of
from unmask.lab.inside.signals import first_signal, pull_on_uniform_attention
from unmask.lab.inside.waiting import Waiting, waiting
from unmask.lab.network.places import PlaceTable
from unmask.lab.settings.shape import Shape
from unmask.lab.tasks.task import Task
from unmask.lab.training.lessons import lesson
from unmask.lab.training.loss import per_example
from unmask.lab.training.train import new_network
from unmask.viewer.render import render
from unmask.viewer.text import text_of

WORD = "+1 +1 +0 +1"


def handed(beta):
    return Shape(width=16, hidden=32, heads=2, layers=1, beta=beta, encoding="none")


@pytest.mark.parametrize("framework", ["cot", "tree", "scan", "looped"])
def test_attention_to_operands_is_1_where_the_wiring_is_handed_over(framework):
    seen = operand_attention(untrained(framework, shape=handed(60.0)), seed=0)
    assert seen.best > 0.99
    blind = operand_attention(untrained(framework, shape=handed(0.0)), seed=0)
    assert blind.best < 0.6
    assert blind.mass.shape[:2] == (1, 2)


def test_whether_a_planner_waits():
    """One that is right is on time; one that fills all slots at once is early but for the lowest level."""
    trained = untrained("tree", length=8)
    exact = Trained(trained.task, Right(trained.task), trained.config)
    assert waiting(exact, seed=0) == Waiting(0.0, 1.0, 0.0)
    hasty = Trained(trained.task, Hasty(trained.task), trained.config)
    assert waiting(hasty, seed=0) == Waiting(3 / 7, 4 / 7, 0.0)
    assert waiting(untrained("scan"), seed=0) is None


class Hasty(Right):
    """Never says that a slot must wait."""

    def logits(self, seen):
        return seen - 100 * (torch.arange(seen.shape[-1]) == self.task.mask)


def test_a_direct_answer_fetches_nothing():
    assert operand_attention(untrained("direct"), seed=0) is None


def test_the_signal_grows_with_what_is_handed_over():
    """With attention on its operands, the first gradient on their scores is that of a lookup; without, it is small."""
    found = []
    for beta in (0.0, 2.0):
        config = small(shape=handed(beta), problem="group:S3")
        network = new_network(config, Task.of("group:S3", 4, "tree"))
        found.append(first_signal(config, network, batches=8))
    assert found[0].mass == pytest.approx(1 / 7, abs=0.05)
    assert found[1].mass > 2 * found[0].mass
    assert all(np.isfinite([signal.signal, signal.noise]).all() for signal in found)


def test_attention_that_is_kept_uniform():
    """All else is trained, queries and keys stay 0; one operand then has more pull than two at once."""
    found = {}
    for framework in ("cot", "tree"):
        shape = Shape(width=16, hidden=32, heads=2, layers=1)
        config = small(framework, shape=shape, problem="group:S3", steps=100)
        found[framework] = pull_on_uniform_attention(config, batches=8)
    assert found["tree"].mass == pytest.approx(1 / 7)  # seven rows, all alike
    assert found["cot"].signal > 3 * found["cot"].noise


def test_the_first_gradient_is_that_of_finite_differences():
    """One head, one operand: β adds to just the scores that the signal is about."""
    config = small("scan", shape=msgspec.structs.replace(handed(0.0), heads=1), problem="group:S3", batch=16)
    task = Task.of("group:S3", 4, "scan")
    network = new_network(config, task)
    found = first_signal(config, network, batches=1)
    part = lesson(task, config, 0)
    places = PlaceTable(task, "none").at(torch.from_numpy(part.steps))

    def loss(nudge):
        with torch.no_grad():
            network.layers[0].attention.beta.fill_(nudge)
            seen = network(torch.from_numpy(part.tokens), places)
            return per_example(network.logits(seen), torch.from_numpy(part.targets[:, 0])).numpy()

    slope = (loss(0.01) - loss(-0.01)) / 0.02 / (part.operands[:, 0] >= 0).sum(axis=(1, 2))
    assert found.signal == pytest.approx(-slope.mean(), rel=0.02, abs=1e-6)


@pytest.mark.parametrize("framework", ["direct", "cot", "tree", "scan", "looped"])
def test_a_trained_run_is_shown_as_a_compiled_one(framework):
    seen = view_of(untrained(framework), WORD)
    (panel,) = seen.panels
    assert panel.trace.steps_taken == untrained(framework).steps
    assert panel.heads == [("model" if framework in ("cot", "looped") else "predictor", 0, h) for h in (0, 1)]
    assert "the product is +1" in seen.remarks[0]
    assert text_of(panel)
    assert "<!doctype html>" in render(seen).lower()


def test_a_sampler_may_choose_the_order():
    (panel,) = view_of(untrained("tree"), WORD, sampler="llada").panels
    assert panel.trace.steps_taken == 3
    assert panel.planner == "llada"


def test_a_word_that_it_cannot_read():
    with pytest.raises(WordError, match="'x' is not a letter of this task; use"):
        view_of(untrained("tree"), "+1 x +0 +1")
    with pytest.raises(WordError, match="reads words of length 4, not 2"):
        view_of(untrained("tree"), "+1 +1")
