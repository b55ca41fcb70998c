"""The fast engine gives the integers of the reference on models of every kind that are aimed at its shortcuts."""

import numpy as np
import pytest

from engines.agreement import assert_same_run, run_of
from engines.aimed import aimed_model
from engines.test_fast import BREAKS
from unmask.engines import chain_kernel, fast
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.reasoners.decoding import Tape
from unmask.testing.random_model import all_words
from unmask.weights.kinds import KINDS

REFERENCE, FAST = ReferenceEngine(), FastEngine()
WORDS = 5


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Chains of any length go through the kernel, and learn codes after a few rows."""
    monkeypatch.setattr(fast, "LONG_CHAIN", 1)
    monkeypatch.setattr(chain_kernel, "FIRST_BUDGET", 8)


def some_words(model, seed):
    words = all_words(model)
    return words[np.random.default_rng(seed).permutation(len(words))[:WORDS]]


def check(seed, kind):
    """A few words at once, one alone, and sampled."""
    model = aimed_model(seed, kind)
    words = some_words(model, seed)
    assert_same_run(model, words, REFERENCE, FAST)
    assert_same_run(model, words[:1], REFERENCE, FAST, Tape(seed) if seed % 2 else None)


def check_many(seeds, kind):
    for seed in seeds:
        check(seed, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_some_aimed_models(kind):
    """Every family of each kind, every precision of two or three."""
    check_many(range(KINDS.index(kind) % 4, 40, 4), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_many_run_to_their_end_and_some_attend_to_nothing(kind):
    """Neither is all that is compared."""
    errors = []
    for seed in range(40):
        model = aimed_model(seed, kind)
        errors.append(run_of(model, some_words(model, seed)[:1], FAST, watched=False)[2])
    assert errors.count(None) >= 10
    assert any(errors)


@pytest.mark.parametrize(
    "name", ["products are not rounded", "sums clip only at their end", "the proof accepts every bit"]
)
def test_a_broken_engine_is_noticed(name, monkeypatch):
    BREAKS[name](monkeypatch)
    with pytest.raises(AssertionError):
        check_many(range(200), "mdm")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(10))
def test_five_thousand_aimed_models(kind, part):
    check_many(range(1000 + 84 * part, 1084 + 84 * part), kind)
