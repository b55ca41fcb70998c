from dataclasses import replace

import msgspec
import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from lab.small import small
from unmask import compile_problem, run_word
from unmask.errors import WordError
from unmask.lab.network_measures import (
    OperandAttention,
    Waiting,
    _writing,
    first_signal,
    measure_waiting,
    operand_attention,
    pull_on_uniform_attention,
    right_by_level,
    scattered,
)
from unmask.lab.settings import Shape
from unmask.lab.task_layouts import NO_OPERAND
from unmask.lab.tasks import LabTask
from unmask.lab.trained_network import EVERY_ROW, PlaceTable
from unmask.lab.trained_view import view_of
from unmask.lab.training import new_network
from unmask.lab.training_batches import training_batch
from unmask.viewer.html_page import render, render_text

from .test_trained_model import judged_words, untrained

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
    assert blind.uniform == pytest.approx(UNIFORM[framework])


UNIFORM = {"cot": (1 / 4 + 1 / 5 + 1 / 6 + 1 / 7) / 4, "tree": 1 / 7, "scan": 1 / 8, "looped": 1 / 6}
"""At N = 4: a row of a chain sees those before it and itself."""


def test_every_round_of_a_loop_is_watched():
    """A pad is no operand: of six rows with two operands each, those of the rows 0, 1 and of the answer are left."""
    trained = untrained("looped", shape=handed(60.0))
    rounds = []
    network = trained.network
    inner = network.pass_through
    network.pass_through = lambda *given: rounds.append(given) or inner(*given)
    operand_attention(trained, seed=0)
    assert len(rounds) == trained.steps == 2


@pytest.mark.parametrize(("framework", "kind", "part"), [("tree", "smdm", "predictor"), ("cot", "cot", "model")])
def test_attention_to_operands_is_1_in_compiled_models(framework, kind, part):
    """From every row that is written to each of its operands, by some head and with all of its weight."""
    length = 6
    task, model = LabTask.of("group:S3", length, framework), compile_problem("group:S3", kind, length=length)
    activations = run_word(model, "(12) (13) (12) e (123) (23)", record=True).activations
    masked = task.states(np.zeros((1, length), dtype=np.int64))[0] == task.mask
    for step in range(task.layout.steps):
        heads = [w for name, w in activations.items() if name.startswith(f"steps.{step}.{part}") and "heads" in name]
        rows = [length - 1 + step] if task.causal else np.flatnonzero(masked[step] & ~masked[step + 1])
        for row in rows:
            for operand in task.pointers[step, row]:
                assert operand == NO_OPERAND or any(w[row, operand] == w[row].sum() > 0 for w in heads)


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (2, Waiting(0.0, 1.0, 0.0, (0.0, 0.0, 1.0))),
        (1, Waiting(0.0, 1.0, 0.0, (0.0, 1.0, 1.0))),
        (0, Waiting(3 / 7, 4 / 7, 0.0, (1.0, 1.0, 1.0))),
    ],
)
def test_whether_a_planner_waits_for_both_factors(needs, expected):
    """By itself, one that waits for one factor is on time, too: canvases of no level tell it from one that waits for
    both. One that waits for none is early but for the lowest level."""
    trained = untrained("tree", length=8)
    assert measure_waiting(replace(trained, network=Products(trained.task, needs)), seed=0) == expected
    assert measure_waiting(untrained("scan"), seed=0) is None


def test_levels_are_asked_by_themselves():
    """The first level wrong, all others right: the answer would be a guess."""
    trained = untrained("tree", length=8)
    network = Products(trained.task, 2, wrong=slice(8, 12))
    assert right_by_level(replace(trained, network=network), seed=0) == (0.0, 1.0, 1.0)
    assert right_by_level(untrained("scan"), seed=0) is None


def test_a_scattered_canvas_has_no_slot_without_its_factors():
    task = LabTask.of("group:Z2", 8, "tree")
    is_written = scattered(task.pointers[0], 8, np.random.default_rng(0).random((50, 15)) < 0.5)
    needed = is_written[:, task.pointers[0, 8:]].all(axis=-1)
    assert (is_written[:, 8:] <= needed).all()
    assert (needed[:, :4] & ~is_written[:, 8:12]).any()
    assert is_written[:, 12:].any()


class Products(torch.nn.Module):
    """In place of a network: a slot of which `needs` factors are there is its product, any other waits."""

    def __init__(self, task, needs, wrong=slice(0)):
        super().__init__()
        self.task, self.needs, self.wrong = task, needs, wrong
        self.shape = Shape()
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens, places, watch=None, past=None, needed_rows=EVERY_ROW):  # noqa: ARG002
        said = self.task.states(tokens[:, : self.task.length].numpy())[:, -1]
        said[:, self.wrong] = (said[:, self.wrong] + 1) % self.task.source.size
        factors = (tokens.numpy() != self.task.mask)[:, self.task.pointers[0]].sum(axis=-1)
        said = np.where(factors >= self.needs, said, self.task.mask)
        return 10.0 * torch.nn.functional.one_hot(torch.from_numpy(said), len(self.task.vocabulary))[:, needed_rows]

    def logits(self, seen):
        return seen


def test_a_direct_answer_fetches_nothing():
    assert operand_attention(untrained("direct"), seed=0) is None


def test_the_signal_grows_with_what_is_handed_over():
    """With attention on its operands, the first gradient on their scores is that of a lookup; without, it is small."""
    signals = []
    for beta in (0.0, 2.0):
        config = small(shape=handed(beta), problem="group:S3")
        network = new_network(config, LabTask.of("group:S3", 4, "tree"))
        signals.append(first_signal(config, network, batches=8))
    assert signals[0].mass == pytest.approx(1 / 7, abs=0.05)
    assert signals[1].mass > 2 * signals[0].mass
    assert all(np.isfinite([signal.signal, signal.noise]).all() for signal in signals)


def test_attention_that_is_kept_uniform():
    """All else is trained, queries and keys stay 0; one operand then has more pull than two at once."""
    signals = {}
    for framework in ("cot", "tree"):
        shape = Shape(width=16, hidden=32, heads=2, layers=1)
        config = small(framework, shape=shape, problem="group:S3", steps=100)
        signals[framework] = pull_on_uniform_attention(config, batches=8)
    assert signals["tree"].mass == pytest.approx(1 / 7)  # seven rows, all alike
    assert signals["cot"].signal > 3 * signals["cot"].noise
    assert signals["cot"].signal > signals["tree"].signal


def test_the_first_gradient_is_that_of_finite_differences():
    """One head, one operand: β adds to just the scores that the signal is about, and every row to its own loss."""
    config = small("scan", shape=msgspec.structs.replace(handed(0.0), heads=1), problem="group:S3", batch=16)
    task = LabTask.of("group:S3", 4, "scan")
    network = new_network(config, task)
    measured = first_signal(config, network, batches=1)
    batch = training_batch(task, config, config.steps)
    places = PlaceTable(task, "none").at(torch.from_numpy(batch.steps))

    def loss(nudge):
        with torch.no_grad():
            network.layers[0].attention.beta.fill_(nudge)
            stream = network(torch.from_numpy(batch.tokens), places)
            return (
                cross_entropy(network.logits(stream).mT, torch.from_numpy(batch.targets[:, 0]), reduction="none")
                .sum(1)
                .numpy()
            )

    slope = (loss(0.01) - loss(-0.01)) / 0.02 / (batch.operands[:, 0] >= 0).sum(axis=(1, 2))
    assert measured.signal == pytest.approx(-slope.mean(), rel=0.02, abs=1e-6)


@pytest.mark.parametrize("framework", ["direct", "cot", "tree", "scan", "looped"])
def test_a_trained_run_is_shown_as_a_compiled_one(framework):
    seen = view_of(untrained(framework), WORD)
    (panel,) = seen.panels
    assert panel.trace.steps_taken == untrained(framework).steps
    assert panel.heads == [("model" if framework in ("cot", "looped") else "predictor", 0, h) for h in (0, 1)]
    assert "the product is +1" in seen.remarks[0]
    assert render_text(panel)
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


# Attention to operands: the best head of each, and the rows that write.


@pytest.mark.parametrize(
    ("mass", "best"),
    [
        ([[[0.9, 0.1], [0.2, 0.3]]], 0.6),  # two heads of one layer, one operand each
        ([[[0.9, 0.1]], [[0.2, 0.5]]], 0.7),  # one head in each of two layers
        ([[[0.1, 0.1], [0.1, 0.1]], [[0.1, 0.8], [0.4, 0.1]]], 0.6),
        ([[[0.3], [0.8]]], 0.8),  # a single operand
        (np.zeros((1, 2, 0)), 0.0),
    ],
)
def test_each_operand_has_the_best_of_its_heads(mass, best):
    assert OperandAttention(np.array(mass), 0.1).best == pytest.approx(best)


def writing(framework, step):
    trained = untrained(framework, length=8)
    rows, pointers = _writing(trained, trained.task.states(judged_words(trained, 1))[0], step)
    assert (pointers == trained.task.pointers[step, : len(rows)]).all()
    return np.flatnonzero(rows).tolist()


def test_rows_that_write():
    """Of a tree the slots of the step's level, of a chain those from the last letter on, else all."""
    assert [writing("tree", step) for step in range(3)] == [[8, 9, 10, 11], [12, 13], [14]]
    assert writing("cot", 0) == [7, 8, 9, 10, 11, 12, 13, 14]
    assert writing("scan", 1) == [*range(16)]
    assert writing("looped", 2) == [*range(10)]
