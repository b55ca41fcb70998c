from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import PlannerError
from unmask.reasoners.decoding import Tape
from unmask.reasoners.planners import (
    Blockwise,
    Confidence,
    LeftToRight,
    Situation,
    Threshold,
    Uniform,
    parse_planner,
)

TAPE = Tape(1)
NAMES = [
    "uniform:1",
    "uniform:3",
    "confidence:1",
    "confidence:2",
    "threshold:0",
    "threshold:-100",
    "threshold:1/2",
    "left-to-right:2",
    "blockwise:2:uniform:1",
    "blockwise:3:threshold:0.5",
    "blockwise:2:blockwise:1:confidence:1",
]


def situation(masked, sure=None, *, step=0, first_row=2):
    masked = np.array([masked], dtype=bool)
    sure = np.zeros(masked.shape, dtype=np.int64) if sure is None else np.array([sure])
    return Situation(step, first_row, masked, sure, one=4)


def chosen(planner, masked, sure=None, **rest):
    return np.flatnonzero(planner.choose(situation(masked, sure, **rest))[0]).tolist()


@pytest.mark.parametrize(
    ("k", "masked", "sure", "expected"),
    [
        (1, [1, 1, 1], [0, 5, 5], [1]),
        (2, [1, 1, 1], [5, 0, 5], [0, 2]),
        (1, [1, 0, 1], [-5, 9, -5], [0]),
        (5, [1, 0, 1], [-15, 9, -15], [0, 2]),
        (1, [0, 0, 0], [1, 2, 3], []),
    ],
)
def test_confidence_takes_the_surest_masked_slots(k, masked, sure, expected):
    assert chosen(Confidence(k), masked, sure) == expected


@pytest.mark.parametrize(
    ("x", "masked", "sure", "expected"),
    [
        ("1", [1, 1, 1, 1], [4, 5, 6, 0], [1, 2]),
        ("5/4", [1, 1, 1, 1], [4, 5, 6, 0], [2]),
        ("3", [1, 1, 1, 1], [4, 5, 5, 0], [1]),
        ("-4", [1, 0, 1, 1], [-15, 5, 5, 0], [0, 2, 3]),
        ("0.000000000000000001", [1, 1, 1, 1], [0, 1, 15, 0], [1, 2]),
        ("-0.00000000000000001", [1, 1, 1, 1], [0, 1, 15, -1], [0, 1, 2]),
        ("99999999999999999999", [1, 1, 1, 1], [0, 15, 15, 0], [1]),
        ("-9999999999999999999", [1, 1, 1, 1], [0, 15, 15, -15], [0, 1, 2, 3]),
        ("1", [0, 0, 1, 1], [15, 15, 0, 0], [2]),
    ],
)
def test_threshold_takes_every_sure_slot_and_always_the_surest(x, masked, sure, expected):
    assert chosen(Threshold(Fraction(x)), masked, sure) == expected


def test_left_to_right_takes_the_leftmost():
    assert chosen(LeftToRight(2), [0, 1, 0, 1, 1]) == [1, 3]
    assert chosen(LeftToRight(9), [0, 1, 0, 1, 1]) == [1, 3, 4]


def test_blockwise_stays_in_the_first_block_with_a_mask():
    planner = Blockwise(2, Confidence(1))
    assert chosen(planner, [0, 1, 1, 1, 1], [0, 0, 9, 9, 15]) == [1]
    assert chosen(planner, [0, 0, 1, 1, 1], [0, 0, 3, 9, 15]) == [3]
    assert chosen(planner, [0, 0, 0, 0, 1], [0, 0, 3, 9, 15]) == [4]


def test_uniform_takes_the_smallest_words_of_the_planners_tape():
    raw = TAPE.raw(3, 0, 2 * 2, 2 * 5).reshape(5, 2)[:, 1]
    order = [slot for slot in np.argsort(raw).tolist() if slot != 1]
    assert chosen(Uniform(2, TAPE), [1, 0, 1, 1, 1], step=3) == sorted(order[:2])


def test_uniform_is_uniform():
    """3,000 seeds over the 6 pairs of 4 slots: chi-square with 5 degrees of freedom below 20.5 (p = 0.001)."""
    draws = 3000
    counts = Counter(tuple(chosen(Uniform(2, Tape(seed)), [1, 1, 0, 1, 1])) for seed in range(draws))
    pairs = list(combinations((0, 1, 3, 4), 2))
    assert set(counts) == set(pairs)

    def distance(expected):
        return sum(Fraction((counts[pair] - e) ** 2) / e for pair, e in expected.items())

    assert distance(dict.fromkeys(pairs, Fraction(draws, 6))) < 20
    lopsided = {pair: Fraction(draws, 6) + (60 if 0 in pair else -60) for pair in pairs}
    assert distance(lopsided) > 20


def test_uniform_changes_with_step_and_seed():
    masked = [1] * 8
    assert len({tuple(chosen(Uniform(1, TAPE), masked, step=step)) for step in range(40)}) == 8
    assert len({tuple(chosen(Uniform(1, Tape(seed)), masked)) for seed in range(40)}) == 8


@settings(max_examples=60)
@given(
    st.sampled_from(NAMES),
    st.lists(st.tuples(st.booleans(), st.integers(-15, 15)), min_size=1, max_size=7),
    st.integers(0, 5),
)
def test_planners_choose_masked_slots_only_and_always_go_on(name, slots, step):
    masked, sure = [m for m, _ in slots], [c for _, c in slots]
    found = chosen(parse_planner(name, TAPE), masked, sure, step=step)
    assert all(masked[slot] for slot in found)
    assert bool(found) == any(masked)


def is_choice_of_floats_the_same(planner, of_integers):
    """Return whether the planner chooses the same slots from integers and from the same numbers as floats."""
    of_floats = replace(of_integers, confidence=of_integers.confidence / of_integers.one, one=1.0)
    return np.array_equal(planner.choose(of_integers), planner.choose(of_floats))


class WithoutUnit:
    """A wrong planner: a threshold that ignores that the integer 4 means the number 1."""

    def choose(self, situation):
        return situation.masked & (situation.confidence > 1)


class AtThreshold:
    """A wrong planner: of floats, a confidence at the threshold counts as above it."""

    def choose(self, situation):
        if situation.confidence.dtype == np.int64:
            return situation.masked & (situation.confidence > situation.one)
        return situation.masked & (situation.confidence >= situation.one)


@settings(max_examples=300)
@given(
    st.sampled_from([name for name in NAMES if "uniform" not in name] + ["left-to-right:1", "blockwise:2"])
    | st.integers(-16, 16).map(lambda quarters: f"threshold:{quarters}/4"),
    st.lists(st.tuples(st.booleans(), st.integers(-15, 15)), min_size=1, max_size=9),
)
def test_planners_choose_the_same_from_integers_and_from_floats(name, slots):
    """Nine slots with 31 values often tie, and a multiple of 1/4 often is the confidence of a slot."""
    masked, sure = [m for m, _ in slots], [c for _, c in slots]
    assert is_choice_of_floats_the_same(parse_planner(name, tape=None), situation(masked, sure))


@pytest.mark.parametrize(("wrong", "sure"), [(WithoutUnit(), [0, 3, 9]), (AtThreshold(), [0, 4, 9])])
def test_a_planner_that_treats_floats_differently_is_noticed(wrong, sure):
    assert is_choice_of_floats_the_same(Threshold(Fraction(1)), situation([1, 1, 1], sure))
    assert not is_choice_of_floats_the_same(wrong, situation([1, 1, 1], sure))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_one_word_after_the_other(name):
    planner = parse_planner(name, TAPE)
    masked = np.array([[1, 1, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    sure = np.array([[0, 3, 9, 3], [1, 1, 1, 1], [0, 0, 0, 0], [-15, 2, 2, 0]])
    together = planner.choose(Situation(0, 1, masked, sure, one=4))
    apart = [planner.choose(Situation(0, 1, masked[i : i + 1], sure[i : i + 1], one=4)) for i in range(4)]
    assert np.array_equal(together, np.concatenate(apart))


@pytest.mark.parametrize(
    ("text", "planner"),
    [
        ("uniform", Uniform(1, TAPE)),
        ("uniform:7", Uniform(7, TAPE)),
        ("confidence:2", Confidence(2)),
        ("threshold:1.5", Threshold(Fraction(3, 2))),
        ("threshold:-1/4", Threshold(Fraction(-1, 4))),
        ("left-to-right", LeftToRight(1)),
        ("blockwise:4", Blockwise(4, Confidence(1))),
        ("blockwise:4:uniform:2", Blockwise(4, Uniform(2, TAPE))),
    ],
)
def test_names_of_planners(text, planner):
    assert parse_planner(text, TAPE) == planner


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "unknown planner ''; use uniform:K"),
        ("oracle", "unknown planner 'oracle'"),
        ("Uniform:1", "unknown planner"),
        ("uniform:0", "needs a positive integer"),
        ("uniform:-1", "needs a positive integer"),
        ("uniform:x", "needs a positive integer"),
        ("uniform:1:2", "needs a positive integer"),
        ("uniform:²", "needs a positive integer"),
        ("confidence:99999999999", "needs a positive integer"),
        ("threshold:", "needs a number"),
        ("threshold:x", "needs a number"),
        ("threshold:1/0", "needs a number"),
        ("threshold:nan", "needs a number"),
        ("threshold:1e999999999", "needs a number"),
        ("blockwise:x", "needs a positive integer"),
        ("blockwise:2:oracle", "unknown planner 'oracle'"),
        ("x" * 10000, "unknown planner 'xxx.*…"),
        ("blockwise:1:" * 5000 + "uniform", "unknown planner|nested"),
    ],
)
def test_unknown_planners_are_refused(text, sentence):
    with pytest.raises(PlannerError, match=sentence):
        parse_planner(text, TAPE)


@pytest.mark.parametrize("text", ["uniform", "uniform:2", "blockwise:2:uniform:1"])
def test_a_random_planner_needs_a_tape(text):
    with pytest.raises(PlannerError, match=r"the planner '.*uniform.*' is random and cannot be a sampler"):
        parse_planner(text, tape=None)
