"""Misread characters: words that show them, and no such words if nothing is misread."""

from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from unmask.api import compile_problem, verify_model
from unmask.engines.fast import FastEngine
from unmask.problems.catalogue import parse_problem
from unmask.verification.model_outcomes import outcomes
from unmask.verification.verify import distinguishing_word, misread_words
from unmask.verification.words.references import Comparison, reference_of


def words(model, against):
    run_words = partial(outcomes, engine=FastEngine())
    return list(misread_words(Comparison(model, reference_of(model, parse_problem(against), run_words), run_words)))


@pytest.mark.parametrize("pattern", ["(a|b)*abb", "(ab)*", "a?b{2}|c+", "[^a]*"])
@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_a_distinguishing_word_is_one_and_is_found_if_there_is_one(pattern, length):
    automaton = parse_problem(pattern).automaton
    tokens = range(len(automaton.tokens))
    for first, second in product(tokens, repeat=2):
        tells = [
            (*before, None, *after)
            for index in range(length)
            for before in product(tokens, repeat=index)
            for after in product(tokens, repeat=length - 1 - index)
            if _answer(automaton, before, first, after) != _answer(automaton, before, second, after)
        ]
        word = distinguishing_word(automaton, first, second, length)
        assert word is None if not tells else tuple(word) in tells


def _answer(automaton, before, token, after):
    state = automaton.start
    for letter in (*before, token, *after):
        state = automaton.delta[state, letter]
    return bool(automaton.accepting[state])


def test_nothing_is_misread_where_each_class_has_its_symbol():
    model = compile_problem("(a|b)*abb", "mdm", length=4)
    assert words(model, "(a|b)*abb") == []


@pytest.mark.parametrize(("pattern", "other"), [("(a|b)*abb|c{9}", "(a|b)*abb"), ("a*", "a*|b{9}")])
@pytest.mark.parametrize("method", ["sample", "exhaustive"])
def test_finer_and_coarser_readings_that_do_no_harm_hold(pattern, other, method):
    """One class as two symbols; two classes as one symbol, which no word of this length distinguishes."""
    model = compile_problem(pattern, "mdm", length=3)
    assert len(words(model, other)) > 0
    assert verify_model(model, against=other, method=method).status == "held"


@pytest.mark.parametrize("length", [3, 40])
def test_a_misread_character_is_found_among_any_number_of_words(length):
    """Where all words are too many to be run, too."""
    model = compile_problem("(a|b)*abb", "cot", length=length)
    low, high, symbol = next(entry for entry in model.characters if entry[0] <= 0x4E00 <= entry[1])
    cut = [(low, 0x4DFF, symbol), (0x4E00, 0x4E00, "b"), (0x4E01, high, symbol)]
    bent = replace(model, characters=tuple(sorted({*model.characters, *cut} - {(low, high, symbol)})))
    for method in ("sample", "exhaustive"):
        verdict = verify_model(bent, method=method, cases=1)
        assert (verdict.status, verdict.expected) == ("refuted", "rejected")
        assert "\u4e00" in verdict.counterexample
