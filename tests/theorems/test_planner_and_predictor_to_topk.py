"""mdm → topk: the slots above -B are the planner's, their logits the predictor's."""

import numpy as np
import pytest

from theorems.odd_sources import check_divisions, engine, odd_sources, wrong
from unmask.engines.engine import forward
from unmask.engines.reference import ReferenceEngine
from unmask.pipeline import compile_problem, verify_model
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.frame import Frame
from unmask.reasoners.run import run
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.theorems import planner_and_predictor_to_topk as module
from unmask.theorems.checking.conversions import check_theorem
from unmask.theorems.planner_and_predictor_to_topk import THEOREM


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_planner_and_predictor_to_topk_correct(precision):
    assert check_theorem(THEOREM, range(24 if precision > 1 else 20), precision=precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_any_source_is_converted(precision):
    assert wrong(THEOREM.convert, odd_sources(precision, range(6))) == 0


def test_the_conversion_divides_by_zero_where_the_source_does():
    divided, found = check_divisions(THEOREM.convert, 2)
    assert (divided > 5, found) == (True, [])


def slot_logits(model, name, words, canvas):
    frame = Frame(model, words, ReferenceEngine())
    session = frame.session(name)
    return session.logits(forward(session, model.transformers[name], frame.before(canvas))[:, frame.first_row :])


@pytest.mark.parametrize("precision", [2, 3])
def test_logits_are_the_predictors_where_the_planner_chooses(precision):
    some_chosen = 0
    for seed in range(30):
        source = random_model(seed, "mdm", 2, precision=precision)
        model = THEOREM.convert(source).model
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
    model = THEOREM.convert(source).model
    assert (model.k, model.vocabulary, model.padding, model.steps) == (
        None,
        source.vocabulary,
        source.padding,
        source.steps,
    )
    assert model.provenance[-1] == {"converted": "planner_and_predictor_to_topk", "from": "mdm", "to": "topk"}


def test_subtracting_once_is_caught(monkeypatch):
    monkeypatch.setattr(module, "SUBTRACTIONS", 1)
    assert wrong(THEOREM.convert, (random_model(seed, "mdm", 2) for seed in range(20))) > 5


def test_a_slot_without_preference_is_told_apart(monkeypatch):
    monkeypatch.setattr(module, "no_preference", lambda *_: None)
    assert wrong(THEOREM.convert, odd_sources(2)) > 5


def test_a_compiled_language_survives():
    source = compile_problem("(ab)*", "mdm", length=16)
    verdict = verify_model(THEOREM.convert(source).model, method="sample", cases=40, engine=engine())
    assert verdict.status == "held", verdict
