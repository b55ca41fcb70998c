"""mdm → pcot: the last symbols of step t are the canvas after step t."""

import pytest

from theorems.odd_sources import check_divisions, engine, odd_sources, peaked, wrong
from unmask.api import compile_problem, run_word, verify_model
from unmask.engines.reference import ReferenceEngine
from unmask.programs.gadgets.attention import focus
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems import mdm_to_pcot as module
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.conversion_checks import ConversionDisagreement, theorem_disagreements
from unmask.theorems.mdm_to_pcot import MDM_TO_PCOT, MDM_TO_PCOT_PADDED, mdm_to_pcot
from unmask.weights.model import Price


def check_padded(seeds, precision):
    """Like theorem_disagreements, on words that are followed by padding."""
    disagreements = []
    for seed in seeds:
        source = random_model(seed, "mdm", seed % 4, precision=precision)
        conversion = mdm_to_pcot(source, padded=True)
        assert Price.of(conversion.model).within(MDM_TO_PCOT_PADDED.bound(source))
        for word in sample_words(source, Draws(seed, 1), 2).tolist():
            padding = [len(source.vocabulary)] * source.padding
            ours = run(source, word, engine=ReferenceEngine(), record=True)
            theirs = run(conversion.model, word + padding, engine=ReferenceEngine(), record=True)
            difference = aligned_difference(ours, theirs, conversion.alignment, conversion.model.aliases)
            if difference or ours.output[-1] != theirs.output[-1]:
                disagreements.append(ConversionDisagreement(seed, source.symbols(word), difference or "last symbol"))
    return disagreements


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_mdm_to_pcot_correct(precision):
    assert theorem_disagreements(MDM_TO_PCOT, range(12 if precision > 1 else 8), precision=precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_the_padded_form_is_correct(precision):
    assert check_padded(range(20 if precision > 1 else 10), precision) == []


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_the_padded_form_on_many_models(precision):
    assert check_padded(range(20, 150), precision) == []


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_any_source_is_converted(precision):
    assert wrong(mdm_to_pcot, odd_sources(precision, range(3))) == 0


def test_the_conversion_divides_by_zero_where_the_source_does():
    divided, disagreements = check_divisions(mdm_to_pcot, 2)
    assert (divided > 5, disagreements) == (True, [])


def test_the_price():
    for seed in range(20):
        source = random_model(seed, "mdm", seed % 4)
        depth, rows, T, P = Price.of(source).layers, source.rows, source.steps, source.padding
        for theorem, padding in ((MDM_TO_PCOT, T * (depth * rows + P)), (MDM_TO_PCOT_PADDED, T * depth * rows)):
            price = Price.of(theorem.convert(source).model)
            assert price == theorem.bound(source)
            assert (price.steps, price.padding, price.layers) == (T, padding, depth + 2)
        assert MDM_TO_PCOT.bound(source).padding <= (depth + 1) * T * rows


def test_the_padded_form_reads_words_with_their_padding():
    source = compile_problem("(ab)*", "mdm", length=4)
    model = mdm_to_pcot(source, padded=True).model
    assert model.length == source.length + source.padding
    assert model.input_symbols == (*source.input_symbols, "ĥ")
    assert model.problem == {}
    for word, accepted in (("abab", True), ("abba", False)):
        assert run_word(model, word + "ĥ" * source.padding, engine=engine()).accepted is accepted


@pytest.mark.parametrize("padded", [False, True])
def test_only_slots_of_the_last_block_are_written(padded):
    source = random_model(2, "mdm", 2, steps=3, padding=2, layers=2)
    conversion = mdm_to_pcot(source, padded=padded)
    word = [0, 1] + [len(source.vocabulary)] * (2 if padded else 0)
    trace = run(conversion.model, word, engine=ReferenceEngine())
    fresh = conversion.model.block
    for t in range(3):
        assert set(trace.output[t * fresh : (t + 1) * fresh - 2]) == {"m"}


def test_one_copy_of_focus_is_caught(monkeypatch):
    monkeypatch.setattr(module, "focus", lambda *codes, copies, **flags: focus(*codes, copies=copies - 1, **flags))
    assert wrong(mdm_to_pcot, (random_model(seed, "mdm", 2, steps=2, padding=2) for seed in range(20)), enough=2) > 1


def test_a_missing_boost_is_caught(monkeypatch):
    monkeypatch.setattr(module, "boost", lambda *_: None)
    sources = (peaked(random_model(seed, "mdm", 2, steps=2, layers=2), 3) for seed in range(30))
    assert wrong(mdm_to_pcot, sources, enough=4) > 3


def test_a_tie_with_the_mask_is_caught(monkeypatch):
    monkeypatch.setattr(module, "no_preference", lambda *_: None)
    assert wrong(mdm_to_pcot, odd_sources(2), enough=4) > 3


@pytest.mark.parametrize("length", [1, 4])
def test_a_compiled_language_survives(length):
    source = compile_problem("(ab)*", "mdm", length=length)
    verdict = verify_model(mdm_to_pcot(source).model, method="exhaustive", engine=engine())
    assert verdict.status == "held", verdict
