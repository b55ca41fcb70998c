"""A trained model goes through the loops and samplers of compiled ones."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import torch

from lab.small import small
from unmask.lab.result_tables import expected_right, right_order
from unmask.lab.settings import Shape
from unmask.lab.task_layouts import TreeLayout
from unmask.lab.task_sources import Stream, words
from unmask.lab.tasks import FRAMEWORKS
from unmask.lab.trained_model import NetworkMedium, NetworkReading, Trained, accuracy, last_symbols
from unmask.lab.trained_network import EVERY_ROW
from unmask.lab.trained_sampling import TrainedPredictor, measure_samplers
from unmask.lab.training import new_network, train
from unmask.reasoners.loops import Medium, canvases
from unmask.samplers.rule_interface import Predictor, SamplerError


def untrained(framework, **more):
    config = small(framework, **more)
    task = config.task
    return Trained(task, new_network(config, task).eval(), config)


def judged_words(trained, count=6):
    return words(trained.task.source, count, trained.length, 0, Stream.judging)


class Right(torch.nn.Module):
    """In place of a network: reads the canvas and says what the next one is, with logits of ±10."""

    def __init__(self, task, *, wrong_slot=None):
        super().__init__()
        self.task, self.wrong_slot = task, wrong_slot
        self.shape = Shape()
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens, places, watch=None, past=None, needed_rows=EVERY_ROW):  # noqa: ARG002
        if self.task.causal and past is not None and past.rows:
            tokens = torch.cat([self.kept, tokens], dim=1)
        self.kept = tokens
        states = self.task.states(tokens[:, : self.task.length].numpy())
        if self.task.causal:
            next_symbols = np.roll(states[:, -1], -1, axis=1)[:, : tokens.shape[1]]
        else:
            step = [
                np.argmax((s[:, : tokens.shape[1]] == t).all(axis=1))
                for s, t in zip(states, tokens.numpy(), strict=True)
            ]
            next_symbols = states[np.arange(len(states)), np.minimum(np.array(step) + 1, states.shape[1] - 1)]
        if self.wrong_slot is not None:
            next_symbols = next_symbols.copy()
            next_symbols[:, self.wrong_slot] = (next_symbols[:, self.wrong_slot] + 1) % self.task.source.size
        symbols = torch.nn.functional.one_hot(torch.from_numpy(next_symbols), len(self.task.vocabulary))
        return symbols[:, needed_rows].double() * 20 - 10

    def logits(self, stream):
        return stream


@pytest.mark.parametrize("framework", ["direct", "cot", "tree", "scan"])
def test_the_loops_of_compiled_models_run_it(framework):
    """A network that is right step by step leaves the true canvases; one that is wrong in the last row is not."""
    trained = untrained(framework, length=5)
    right = Trained(trained.task, Right(trained.task), trained.config)
    medium = NetworkMedium(right, judged_words(trained))
    assert isinstance(medium, Medium)
    states = trained.task.states(judged_words(trained))[:, 1:, trained.length :]
    for t, canvas in enumerate(canvases(medium)):
        assert (canvas == states[:, t, : canvas.shape[1]]).all()
    assert medium.passes == trained.steps
    assert accuracy(right, 50, seed=0, stream=Stream.judging).right == 1
    if framework != "cot":
        wrong = Trained(trained.task, Right(trained.task, wrong_slot=-1), trained.config)
        assert accuracy(wrong, 50, seed=0, stream=Stream.judging).right < 0.9


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_word_is_answered_alike_alone_and_among_others(framework):
    trained = untrained(framework)
    together, _ = last_symbols(trained, judged_words(trained))
    alone = [last_symbols(trained, word[None])[0][0] for word in judged_words(trained)]
    assert together.tolist() == alone


def test_a_tree_writes_a_slot_once():
    trained = untrained("tree", length=8)
    before = np.full((6, 7), trained.task.mask)
    for canvas in canvases(NetworkMedium(trained, judged_words(trained))):
        assert (canvas[before != trained.task.mask] == before[before != trained.task.mask]).all()
        before = canvas


def test_longer_words_by_the_same_weights():
    trained = untrained("tree").at_length(8)
    assert trained.padding == 7
    assert last_symbols(trained, judged_words(trained))[0].shape == (6, 1)


def test_planners_on_a_trained_predictor():
    """One layer, random masking: the oracle and a threshold are right in two passes, all at once is a guess."""
    shape = Shape(width=16, hidden=32, heads=2, layers=1, beta=4.0, encoding="none")
    run = train(small(shape=shape, objective="masking", steps=300, evaluate_every=300))
    assert isinstance(TrainedPredictor(run.trained, judged_words(run.trained)), Predictor)
    asked = ("oracle", "threshold 0.9", "confidence k=4", "uniform k=1")
    found = {
        entry["planner"]: entry
        for entry in measure_samplers(run.trained, count=200, seed=0, include=asked.__contains__)
    }
    assert found["oracle"]["right"] > 0.97
    assert found["oracle"]["passes"] == 2
    assert found["threshold 0.9"]["right"] > 0.97
    assert found["confidence k=4"]["passes"] == 1
    assert found["confidence k=4"]["right"] < 0.7
    assert abs(found["uniform k=1"]["right"] - float(expected_right(4, 2))) < 0.12


def test_a_scan_has_no_canvas_that_is_written_once():
    trained = untrained("scan")
    with pytest.raises(SamplerError, match="train the framework tree"):
        TrainedPredictor(trained, judged_words(trained))


@pytest.mark.parametrize("length", [2, 3, 4, 5, 6])
def test_orders_by_hook_lengths_and_by_counting(length):
    tree = TreeLayout(length)
    needs = [[row - length for row in factors if row >= length] for factors in tree.factors]
    orders = list(permutations(range(tree.padding)))
    valid = [o for o in orders if all(o.index(n) < o.index(slot) for slot, ns in enumerate(needs) for n in ns)]
    assert right_order(length) == Fraction(len(valid), len(orders))


def test_the_accuracy_that_the_theorem_predicts():
    assert expected_right(4, 2) == Fraction(2, 3)
    assert [float(expected_right(n, 2)) for n in (3, 5)] == [0.75, 0.5625]


# What stands between two passes of a trained model: a stream or symbols, and which slots a step writes.


def rounds(trained):
    """What goes into all layers and what comes out of them, in every loop."""
    loops, network = [], trained.network
    pass_through = network.pass_through

    def watched(hidden, *more):
        loops.append((hidden, pass_through(hidden, *more)))
        return loops[-1][1]

    network.pass_through = watched
    answers, _ = last_symbols(trained, judged_words(trained))
    return answers, loops


@pytest.mark.parametrize("supervision", ["tokens", "each", "end"])
def test_what_a_loop_hands_to_the_next(supervision):
    """With symbols between them, what the stream reads out to, embedded anew; else the stream itself."""
    trained = untrained("looped", length=8, supervision=supervision)
    network, places = trained.network, trained.places.at(0)
    answers, loops = rounds(trained)
    assert len(loops) == trained.steps == 3
    with torch.inference_mode():
        expected = network.embed(torch.from_numpy(trained.task.states(judged_words(trained))[:, 0]), places)
        for loop_input, stream in loops:
            torch.testing.assert_close(loop_input, expected)
            read_out = network.logits(network.norm(stream)).argmax(dim=-1)
            expected = network.embed(read_out, places) if supervision == "tokens" else stream
    assert (answers == read_out[:, -1].numpy()).all()


def reading(trained, best, tokens, step):
    logits = np.zeros((1, trained.padding, len(trained.vocabulary)))
    logits[0, np.arange(trained.padding), best] = 1
    return NetworkReading(logits, np.array([tokens]), step)


@pytest.mark.parametrize("objective", ["masking", "masking-1/t"])
def test_a_predictor_alone_writes_what_the_exact_order_writes(objective):
    """Whatever it says, and canvas by canvas."""
    trained = untrained("tree", length=8, objective=objective)
    mask = trained.task.mask
    medium = NetworkMedium(trained, judged_words(trained))
    for best in (mask, 0):
        chosen = [medium.chosen_slots(reading(trained, best, [mask] * 7, step))[0].tolist() for step in range(3)]
        assert np.array(chosen).astype(int).tolist() == [[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0], [0] * 6 + [1]]
    assert medium.chosen_slots(reading(trained, 0, [1, mask, 1, mask, mask, mask, mask], 0))[0].tolist() == [
        *(False, True, False, True),
        *(False, False, False),
    ]
    masked = np.ones(7, dtype=bool)
    for step, canvas in enumerate(canvases(medium)):
        masked = masked & ~trained.order[step]
        assert ((canvas == mask) == masked).all()
    assert not masked.any()


def test_a_planner_writes_what_is_no_mask():
    """A tree where a mask stands, a scan anywhere."""
    for framework, expected in (("tree", [True, False, False]), ("scan", [True, True, False, False])):
        trained = untrained(framework)
        mask = trained.task.mask
        best = [0, 1, mask, mask][: trained.padding]
        tokens = [mask, 1, mask, 0][: trained.padding]
        medium = NetworkMedium(trained, judged_words(trained, 1))
        assert medium.chosen_slots(reading(trained, best, tokens, 0))[0].tolist() == expected
