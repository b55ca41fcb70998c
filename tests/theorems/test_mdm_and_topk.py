"""mdm → topk: the slots above -B are the planner's, their logits the predictor's."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from theorems.odd_sources import check_divisions, engine, odd_sources, wrong
from unmask.api import compile_problem, verify_model
from unmask.engines.engine import forward
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.programs.program import ULP
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.run_words import answers, run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import all_words
from unmask.theorems import mdm_and_topk as fusion
from unmask.theorems import mdm_and_topk as module
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.mdm_and_topk import (
    ACCEPT,
    LETTER_B,
    MASK,
    MDM_TO_FIXED_K,
    PLANNER_AND_PREDICTOR_TO_TOPK,
    TOPK_TO_MDM,
    A,
    majority_by_topk,
    topk_to_mdm,
)
from unmask.weights.matrices import Matrix
from unmask.weights.model import Price


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_planner_and_predictor_to_topk_correct(precision):
    assert theorem_disagreements(PLANNER_AND_PREDICTOR_TO_TOPK, range(12), precision=precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_any_source_is_converted(precision):
    assert wrong(PLANNER_AND_PREDICTOR_TO_TOPK.convert, odd_sources(precision, range(3))) == 0


def test_the_conversion_divides_by_zero_where_the_source_does():
    divided, disagreements = check_divisions(PLANNER_AND_PREDICTOR_TO_TOPK.convert, 2)
    assert (divided > 5, disagreements) == (True, [])


def slot_logits(model, name, words, canvas):
    frame = RunSetup(model, words, ReferenceEngine())
    session = frame.session(name)
    return session.logits(forward(session, model.transformers[name], frame.before(canvas))[:, frame.first_row :])


@pytest.mark.parametrize("precision", [2, 3])
def test_logits_are_the_predictors_where_the_planner_chooses(precision):
    some_chosen = 0
    for seed in range(30):
        source = random_model(seed, "mdm", 2, precision=precision)
        model = PLANNER_AND_PREDICTOR_TO_TOPK.convert(source).model
        words, mask, low = all_words(source), source.token["m"], -source.precision.bound
        canvas = np.array([run(source, word, engine=ReferenceEngine()).canvas[0] for word in words.tolist()])
        ours = slot_logits(source, "predictor", words, canvas)
        theirs = slot_logits(model, "model", words, canvas)
        chosen = decode(slot_logits(source, "planner", words, canvas), source.precision) == 1
        assert (theirs[~chosen] == low).all()
        assert np.array_equal(chosen, confidence(theirs, source.precision, without=mask) > low)
        decided = chosen & (confidence(ours, source.precision, without=mask) > low)
        assert np.array_equal(ours[decided], theirs[decided])
        some_chosen += decided.sum()
    assert some_chosen > 50


def test_the_form_is_kept():
    source = random_model(1, "mdm", 3)
    model = PLANNER_AND_PREDICTOR_TO_TOPK.convert(source).model
    assert (model.k, model.vocabulary, model.padding, model.steps) == (
        None,
        source.vocabulary,
        source.padding,
        source.steps,
    )
    assert model.provenance[-1] == {"converted": "planner_and_predictor_to_topk", "from": "mdm", "to": "topk"}


def test_subtracting_once_is_caught(monkeypatch):
    monkeypatch.setattr(module, "SUBTRACTIONS", 1)
    assert (
        wrong(PLANNER_AND_PREDICTOR_TO_TOPK.convert, (random_model(seed, "mdm", 2) for seed in range(20)), enough=6) > 5
    )


def test_a_slot_without_preference_is_distinguished(monkeypatch):
    monkeypatch.setattr(module, "no_preference", lambda *_: None)
    assert wrong(PLANNER_AND_PREDICTOR_TO_TOPK.convert, odd_sources(2), enough=6) > 5


def test_a_compiled_language_survives():
    source = compile_problem("(ab)*", "mdm", length=16)
    verdict = verify_model(
        PLANNER_AND_PREDICTOR_TO_TOPK.convert(source).model, method="sample", cases=40, engine=engine()
    )
    assert verdict.status == "held", verdict


# mdm → topk with k = P and P dummy slots: the same k in every step.


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
    assert (
        theorem_disagreements(MDM_TO_FIXED_K, range(12 if precision > 1 else 8), precision=precision, engine=engine())
        == []
    )


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_many_sources(precision):
    assert theorem_disagreements(MDM_TO_FIXED_K, range(12, 400), precision=precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_any_source_is_converted_to_a_fixed_k(precision):
    assert wrong(MDM_TO_FIXED_K.convert, odd_sources(precision, range(3))) == 0


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_sources_that_are_hardly_sure(precision):
    assert wrong(MDM_TO_FIXED_K.convert, (hardly_sure(seed, precision) for seed in range(15))) == 0


def test_a_fixed_k_divides_by_zero_where_the_source_does():
    divided, disagreements = check_divisions(MDM_TO_FIXED_K.convert, 2)
    assert (divided > 5, disagreements) == (True, [])


def test_k_slots_are_written_in_every_step_and_no_unchosen_one():
    """For every number of slots that the planner may choose."""
    counts = set()
    for seed in range(30):
        source = random_model(seed, "mdm", 1 + seed % 2, padding=2)
        model = MDM_TO_FIXED_K.convert(source).model
        assert (model.k, model.padding, model.steps) == (source.padding, 2 * source.padding, source.steps)
        ours, theirs = (run(m, [0] * source.length, engine=engine()) for m in (source, model))
        for chosen, chosen_slots in zip(ours.chosen, theirs.chosen, strict=True):
            assert chosen_slots.sum() == model.k
            assert np.array_equal(chosen_slots[source.padding :], chosen)
            counts.add(int(chosen.sum()))
    assert counts == {0, 1, 2}


@pytest.mark.parametrize("problem", ["group:Z2", "(a|b)*abb"])
def test_compiled_languages_survive(problem):
    source = compile_problem(problem, "mdm", length=4)
    assert verify_model(MDM_TO_FIXED_K.convert(source).model, method="exhaustive").status == "held"


def test_slots_that_are_hardly_sure_must_be_lifted(monkeypatch):
    """A chosen slot with the largest logit -B + 2^-p would tie with a dummy, and the lower slot wins."""
    monkeypatch.setattr(module, "barely_preferred", lambda *_: None)
    assert wrong(MDM_TO_FIXED_K.convert, (hardly_sure(seed, 2) for seed in range(1, 40, 3)), enough=3) > 2


def test_slots_without_preference_must_be_lifted(monkeypatch):
    monkeypatch.setattr(module, "no_preference", lambda *_: None)
    assert wrong(MDM_TO_FIXED_K.convert, odd_sources(2), enough=6) > 5


def test_subtracting_once_with_a_fixed_k_is_caught(monkeypatch):
    monkeypatch.setattr(module, "SUBTRACTIONS", 1)
    assert wrong(MDM_TO_FIXED_K.convert, (random_model(seed, "mdm", 2) for seed in range(12)), enough=3) > 2


def test_dummies_must_be_hidden(monkeypatch):
    monkeypatch.setattr(module, "hide", lambda *_: None)
    assert wrong(MDM_TO_FIXED_K.convert, (random_model(seed, "mdm", 2) for seed in range(12)), enough=3) > 2


# topk → mdm by threshold; a fixed k is refused, because it counts.


def fused(seed, precision):
    """A random planner and predictor in one model: unlike a random topk model, it declines slots."""
    source = random_model(seed, "mdm", seed % 4, precision=precision)
    return fusion.PLANNER_AND_PREDICTOR_TO_TOPK.convert(source).model


@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 140), marks=pytest.mark.long)])
@pytest.mark.parametrize("precision", [2, 3])
def test_topk_to_mdm_correct(precision, seeds):
    for seed in seeds:
        source = fused(seed, precision)
        conversion = TOPK_TO_MDM.convert(source)
        assert Price.of(conversion.model).within(TOPK_TO_MDM.bound(source))
        assert first_disagreement(source, conversion, seed=seed) is None


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_random_topk_models_by_threshold(precision):
    models = (random_model(seed, "topk", seed % 4, precision=precision) for seed in range(60))
    sources = [model for model in models if model.k is None or model.k >= model.padding]
    assert len(sources) > 20
    for seed, source in enumerate(sources):
        assert first_disagreement(source, TOPK_TO_MDM.convert(source), seed=seed) is None


def test_a_compiled_model_survives():
    source = compile_problem("(ab)*", "topk", length=6)
    assert first_disagreement(source, TOPK_TO_MDM.convert(source), seed=1, words=20) is None


def test_a_fixed_k_is_refused():
    source = next(m for m in (random_model(s, "topk", 2) for s in range(50)) if m.k is not None and m.k < m.padding)
    with pytest.raises(UnmaskError, match="ranks its slots, and in general no mdm"):
        TOPK_TO_MDM.convert(source)


def test_a_planner_that_never_declines_is_caught(monkeypatch):
    monkeypatch.setattr(module, "ONE", ULP)
    sources = [fused(seed, 2) for seed in range(20)]
    assert any(first_disagreement(m, TOPK_TO_MDM.convert(m), seed=i) for i, m in enumerate(sources))


# Majority in two steps by a topk model that ranks, and its two caveats.


def every_word(length):
    return np.array(list(product((A, LETTER_B), repeat=length)))


def wrong_words(model, accepted):
    words = every_word(model.length)
    return int((accepted != (words.sum(axis=1) > model.length // 2)).sum())


@pytest.mark.parametrize("precision", [2, 3])
@pytest.mark.parametrize("length", range(1, 10))
def test_majority_in_two_steps(length, precision):
    model = majority_by_topk(length, Precision(precision))
    accepted = answers(model, every_word(length), engine=FastEngine()).accepted
    assert model.steps == 2
    assert set(accepted.tolist()) == {0, 1}
    assert wrong_words(model, accepted) == 0


def test_the_price():
    prices = [Price.of(majority_by_topk(length, Precision(2))) for length in (4, 8, 16, 32)]
    assert len({(price.steps, price.layers, price.symbols) for price in prices}) == 1
    assert [price.padding for price in prices] == [5, 9, 17, 33]
    assert [price.width for price in prices] == [2 * (2 * length).bit_length() + 13 for length in (4, 8, 16, 32)]


def by_hand(model, *, lowest):
    """Return the last slot after T steps; ties go to the lowest slots or to the highest."""
    words = every_word(model.length)
    canvas = np.full((len(words), model.padding), MASK)
    for _ in range(model.steps):
        frame = RunSetup(model, words, ReferenceEngine())
        session = frame.session("model")
        stream = forward(session, model.transformers["model"], frame.before(canvas))
        logits = session.logits(stream[:, frame.first_row :])
        confidences = confidence(logits, model.precision, without=MASK)
        symbols = decode(logits, model.precision, without=MASK)
        order = np.arange(model.padding) if lowest else -np.arange(model.padding)
        for i in range(len(words)):
            chosen = np.lexsort((order, -confidences[i]))[: model.k]
            canvas[i, chosen] = symbols[i, chosen]
    return canvas[:, -1]


def test_it_leans_on_the_lowest_slot_winning_a_tie():
    model = majority_by_topk(4, Precision(2))
    assert wrong_words(model, by_hand(model, lowest=True) == ACCEPT) == 0
    differ = by_hand(model, lowest=False) != by_hand(model, lowest=True)
    assert every_word(4)[differ].tolist() == [[A] * 4]


@pytest.mark.parametrize("length", [5, 6])
def test_k_must_grow(length):
    """With any other k the model does not decide majority."""
    model = majority_by_topk(length, Precision(2))
    for k in range(1, length + 1):
        accepted = answers(replace(model, k=k), every_word(length), engine=FastEngine()).accepted
        assert (wrong_words(model, accepted) == 0) == (k == model.k)


def test_it_has_no_planner():
    with pytest.raises(UnmaskError, match="ranks its slots"):
        topk_to_mdm(majority_by_topk(3, Precision(2)))
