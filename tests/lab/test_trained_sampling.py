"""Every planner on a predictor whose logits and correctness are known: which slots it writes, and when."""

import numpy as np
import pytest

from unmask.lab import trained_sampling
from unmask.lab.task_sources import Stream, words
from unmask.lab.trained_sampling import compared_samplers, measure_samplers
from unmask.samplers.rule_interface import Beliefs, Drawn, State
from unmask.samplers.sampling_loop import masks, sample

from .test_trained_model import untrained

# of seven slots, the chances of six elements; the likeliest of slot i is (i + 1) mod 6
CHANCES = [
    (0.60, 0.30, 0.10),
    (0.94, 0.045, 0.0075, 0.0075),  # the largest chance
    (0.55, 0.09, 0.09, 0.09, 0.09, 0.09),
    (0.93, 0.014, 0.014, 0.014, 0.014, 0.014),  # the largest margin
    (0.61, 0.39),
    (0.925, 0.075),  # the smallest entropy
    (0.89, 0.11),
]
BY_CHANCE, BY_MARGIN, BY_ENTROPY = (1, 3, 5, 6, 4, 0, 2), (3, 1, 5, 6, 2, 0, 4), (5, 1, 6, 3, 4, 0, 2)
BY_CORRECTNESS = (2, 6, 0, 4, 5, 3, 1)
FIXED = ("uniform", "confidence", "margin", "entropy", "p2", "learned")
NAMES = ["oracle", *(f"{name} k={k}" for k in (1, 2, 4) for name in FIXED), "threshold 0.9", "eb 0.1"]
SLOTS, ELEMENTS = 7, 6
TRAINED = untrained("tree", problem="group:S3", length=8)


def logits_of(chances):
    """[slots, symbols], mask and pad impossible."""
    rows = np.zeros((len(chances), ELEMENTS + 2))
    for slot, chance in enumerate(chances):
        rows[slot, (slot + 1 + np.arange(len(chance))) % ELEMENTS] = chance
    with np.errstate(divide="ignore"):
        return np.log(rows)


class Known:
    """A predictor of the same beliefs about every canvas, or of other ones as soon as a slot is written."""

    trained, mask_id, vocabulary = TRAINED, TRAINED.task.mask, TRAINED.vocabulary

    def __init__(self, chances=CHANCES, then=None):
        self.first = logits_of(chances)
        self.then = self.first if then is None else logits_of(then)
        self.correctness = np.zeros(0)

    def logits(self, canvas):
        confidence = np.empty(SLOTS)
        confidence[[*BY_CORRECTNESS]] = np.arange(SLOTS, 0, -1)
        self.correctness = np.array([np.roll(confidence, row) for row in range(len(canvas))])
        return np.where((canvas == self.mask_id).all(axis=1)[:, None, None], self.first, self.then)


def run(name, predictor, rows=1):
    return sample(predictor, dict(compared_samplers(predictor))[name], masks(predictor, rows, SLOTS))


def order(sampled, row=0):
    """The slots of every pass."""
    return [set(np.flatnonzero(sampled.step_map[row] == step + 1).tolist()) for step in range(sampled.passes[row])]


def in_turns(slots, k):
    return [set(slots[first : first + k]) for first in range(0, SLOTS, k)]


def test_the_slots_are_ranked_by_each_measure_in_an_order_of_its_own():
    beliefs = Beliefs(logits_of(CHANCES))
    chance = beliefs.probability(beliefs.best)
    for measure, ranked in ((chance, BY_CHANCE), (beliefs.margin, BY_MARGIN), (-beliefs.entropy, BY_ENTROPY)):
        assert tuple(np.argsort(-measure).tolist()) == ranked


def test_the_names():
    assert [name for name, _ in compared_samplers(Known())] == NAMES


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize(
    ("name", "ranked"),
    [
        ("confidence", BY_CHANCE),
        ("margin", BY_MARGIN),
        ("entropy", BY_ENTROPY),
        ("p2", BY_CHANCE),
        ("learned", BY_CORRECTNESS),
    ],
)
def test_k_slots_a_pass_the_surest_first(name, ranked, k):
    sampled = run(f"{name} k={k}", Known())
    assert order(sampled) == in_turns(ranked, k)
    assert sampled.passes.tolist() == [-(-SLOTS // k)]


def test_each_word_has_a_correctness_of_its_own():
    sampled = run("learned k=2", Known(), rows=3)
    for row in range(3):
        assert order(sampled, row) == in_turns([(slot + row) % SLOTS for slot in BY_CORRECTNESS], 2)


def test_all_write_the_likeliest_symbol():
    """The uniform one as well: it draws places."""
    for name, _ in compared_samplers(Known()):
        assert run(name, Known()).sequences[0].tolist() == [(slot + 1) % ELEMENTS for slot in range(SLOTS)], name


@pytest.mark.parametrize("k", [1, 2, 4])
def test_uniform_writes_k_slots_of_no_preference(k):
    predictor = Known()
    rule, blank = dict(compared_samplers(predictor))[f"uniform k={k}"], masks(predictor, 1, SLOTS)[0]
    first = []
    for seed in range(700):
        chance = Drawn(np.random.default_rng(seed))
        first.append(~rule.next(State(blank, blank, predictor.mask_id), Beliefs(predictor.first), chance).masked)
    assert (np.sum(first, axis=1) == k).all()
    assert np.mean(first, axis=0) == pytest.approx(np.full(SLOTS, k / SLOTS), abs=0.06)


def test_the_oracle_writes_level_by_level_from_the_letters_on():
    assert order(run("oracle", Known())) == [{0, 1, 2, 3}, {4, 5}, {6}]


def test_a_threshold_writes_all_that_is_above_it_and_else_the_surest():
    assert order(run("threshold 0.9", Known())) == [{1, 3, 5}, {6}, {4}, {0}, {2}]


def test_a_bound_on_entropy_is_a_tenth():
    """Entropies of 0.042, 0.051, 0.15 and more: those before the third have 0.093, before the fourth 0.25."""
    chances = [(0.6, 0.4), (0.991, 0.009), (0.5, 0.3, 0.2), (0.993, 0.007), (0.965, 0.035), (0.7, 0.3), (0.8, 0.2)]
    assert order(run("eb 0.1", Known(chances))) == [{1, 3, 4}, {6}, {5}, {0}, {2}]


def test_p2_alone_masks_again_what_it_is_no_longer_sure_of():
    """The surest slot is the least sure one as soon as it is written."""
    doubted = [chance if slot != BY_CHANCE[0] else (0.3, 0.25, 0.25, 0.2) for slot, chance in enumerate(CHANCES)]
    for name in ("p2", "confidence", "margin", "entropy", "learned"):
        sampled = run(f"{name} k=1", Known(then=doubted))
        again = sampled.histories[2][0] == TRAINED.task.mask
        first = np.flatnonzero(sampled.histories[1][0] != TRAINED.task.mask)
        assert again[first].all() == (name == "p2")
        assert (~again).sum() == 2


class Odd(Known):
    """Right about the root of every other word, and sure of all slots of those."""

    def __init__(self, trained, drawn):
        super().__init__()
        self.trained, self.words = trained, drawn

    def logits(self, canvas):
        logits = np.where((np.arange(len(canvas)) % 2 == 0)[:, None, None], logits_of([(1.0,)] * SLOTS), self.first)
        self.correctness = np.zeros(canvas.shape)
        answers = self.trained.task.answers(self.words)[:, 0]
        logits[:, -1] = -np.inf
        logits[np.arange(len(canvas)), -1, (answers + np.arange(len(canvas)) % 2) % ELEMENTS] = 0
        return logits


def test_every_planner_is_judged_by_all_words(monkeypatch):
    asked = []
    monkeypatch.setattr(trained_sampling, "TrainedPredictor", lambda *given: asked.append(given) or Odd(*given))
    found = measure_samplers(TRAINED, count=10, seed=5)
    ((trained, drawn),) = asked
    assert trained is TRAINED
    assert (drawn == words(TRAINED.task.source, 10, 8, 5, Stream.judging, 1)).all()
    assert [entry["planner"] for entry in found] == NAMES
    assert {entry["right"] for entry in found} == {0.5}
    assert {entry["words"] for entry in found} == {10}
    passes = {entry["planner"]: entry["passes"] for entry in found}
    assert passes["confidence k=2"] == 4
    assert passes["oracle"] == 3
    assert passes["threshold 0.9"] == (1 + 4) / 2  # of the unsure ones 1, 3, 5 and the root, then 4, 0, 2
