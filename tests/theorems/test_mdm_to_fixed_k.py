"""mdm → topk with k = P and P dummy slots: the same k in every step."""

from dataclasses import replace

import numpy as np
import pytest

from theorems.odd_sources import check_divisions, engine, odd_sources, wrong
from unmask.pipeline import compile_problem, verify_model
from unmask.reasoners.run import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.theorems import mdm_to_fixed_k as module
from unmask.theorems.checking.conversions import check_theorem
from unmask.theorems.mdm_to_fixed_k import THEOREM
from unmask.weights.matrix import Matrix


def hardly_sure(seed, precision):
    """A model whose predictor has the logits -B, -B + 2^-p and -B + 2·2^-p in about half of its rows, else 0."""
    source = random_model(seed, "mdm", seed % 3, precision=precision)
    predictor, draws = source.transformers["predictor"], Draws(seed, 7)
    positions = np.zeros(predictor.positions.shape, dtype=np.int64)
    positions[:, 0] = source.precision.one * draws.integers(0, 1, (len(positions),))
    out = np.zeros(predictor.out.shape, dtype=np.int64)
    out[:, 0] = draws.integers(0, seed % 3, (len(out),)) - source.precision.bound
    predictor = replace(
        predictor, embed=Matrix.zeros(predictor.embed.shape), positions=positions, layers=(), out=Matrix.of(out)
    )
    return replace(source, transformers={**source.transformers, "predictor": predictor})


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_mdm_to_fixed_k_correct(precision):
    assert check_theorem(THEOREM, range(20 if precision > 1 else 8), precision=precision, engine=engine()) == []


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_many_sources(precision):
    assert check_theorem(THEOREM, range(20, 400), precision=precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_any_source_is_converted(precision):
    assert wrong(THEOREM.convert, odd_sources(precision, range(6))) == 0


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_sources_that_are_hardly_sure(precision):
    assert wrong(THEOREM.convert, (hardly_sure(seed, precision) for seed in range(15))) == 0


def test_the_conversion_divides_by_zero_where_the_source_does():
    divided, found = check_divisions(THEOREM.convert, 2)
    assert (divided > 5, found) == (True, [])


def test_k_slots_are_written_in_every_step_and_no_unchosen_one():
    """Whatever the planner chooses, from nothing to everything."""
    counts = set()
    for seed in range(30):
        source = random_model(seed, "mdm", 1 + seed % 2, padding=2)
        model = THEOREM.convert(source).model
        assert (model.k, model.padding, model.steps) == (source.padding, 2 * source.padding, source.steps)
        ours, theirs = (run(m, [0] * source.length, engine=engine()) for m in (source, model))
        for chosen, taken in zip(ours.chosen, theirs.chosen, strict=True):
            assert taken.sum() == model.k
            assert np.array_equal(taken[source.padding :], chosen)
            counts.add(int(chosen.sum()))
    assert counts == {0, 1, 2}


@pytest.mark.parametrize("problem", ["group:Z2", "(a|b)*abb"])
def test_compiled_languages_survive(problem):
    source = compile_problem(problem, "mdm", length=4)
    assert verify_model(THEOREM.convert(source).model, method="exhaustive").status == "held"


def test_slots_that_are_hardly_sure_must_be_lifted(monkeypatch):
    """A chosen slot whose largest logit is -B + 2^-p would be as sure as a dummy, and the lower slot wins."""
    monkeypatch.setattr(module, "barely_preferred", lambda *_: None)
    assert wrong(THEOREM.convert, (hardly_sure(seed, 2) for seed in range(1, 40, 3))) > 2


def test_slots_without_preference_must_be_lifted(monkeypatch):
    monkeypatch.setattr(module, "no_preference", lambda *_: None)
    assert wrong(THEOREM.convert, odd_sources(2)) > 5


def test_subtracting_once_is_caught(monkeypatch):
    monkeypatch.setattr(module, "SUBTRACTIONS", 1)
    assert wrong(THEOREM.convert, (random_model(seed, "mdm", 2) for seed in range(12))) > 2


def test_dummies_must_be_hidden(monkeypatch):
    monkeypatch.setattr(module, "hide", lambda *_: None)
    assert wrong(THEOREM.convert, (random_model(seed, "mdm", 2) for seed in range(12))) > 2
