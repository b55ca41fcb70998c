"""Induction over intervals: proves correct models, refutes with a word that differs, or does not apply."""

import re
from itertools import product

import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.engines.fast import FastEngine
from unmask.problems.catalogue import parse_problem
from unmask.reasoners.run_words import answers
from unmask.reasoners.typed_words import spell
from unmask.verification.words import induction
from unmask.verification.words.extraction import Extraction, extract
from unmask.verification.words.induction import LetterNumbers, NoInduction, prove_by_induction
from unmask.verification.words.network import Network
from unmask.verification.words.symbolic_layers import Token

from .wrong_automata import refuted_where_wrong


def letters_of(model, automaton):
    """Every input symbol of a model that reads the automaton's tokens."""
    numbers = [list(automaton.tokens).index(symbol) for symbol in model.input_symbols]
    return LetterNumbers(np.arange(len(numbers)), np.array(numbers))


PROBLEMS = ["regex:(a|b)*abb", "regex:(aa)*", "regex:a?b+c{2,3}", "group:S3", "group:Z5", "regex:[^x]*"]


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot", "pcot"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_proves_what_is_right(problem, kind):
    automaton = parse_problem(problem).automaton
    model = compile_problem(problem, kind, length=6)
    result = prove_by_induction(extract(model), automaton, letters_of(model, automaton))
    assert result.counterexample is None
    assert result.cases > 6


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize(
    ("problem", "other", "length"),
    [
        ("regex:(a|b)*abb", "regex:(a|b)*ab", 5),
        ("regex:(a|b)*", "regex:(a|b)*(aaaaaaa|b)(a|b)*|a{0,6}", 7),  # equal at this length
        ("regex:(aa)*", "regex:(aaa)*", 6),
        ("regex:(a|b){6}", "regex:[ab]{5}a", 6),
    ],
)
def test_refutes_with_a_word_that_differs(problem, other, length, kind):
    model = compile_problem(problem, kind, length=length)
    automaton = parse_problem(other).automaton
    symbols = [model.input_symbols.index(spell(model, c)[0]) for c in "ab"]
    letters = LetterNumbers(np.array(symbols), np.array([int(automaton.token_ids([c])[0]) for c in "ab"]))
    result = prove_by_induction(extract(model), automaton, letters)
    differ = [
        word
        for word in map("".join, product("ab", repeat=length))
        if bool(re.fullmatch(problem[6:], word)) != bool(re.fullmatch(other[6:], word))
    ]
    if differ:
        assert "".join("ab"[k] for k in result.counterexample) in differ
    else:
        assert result.counterexample is None


def test_every_single_wrong_transition_is_found():
    """Of the automaton of (a|b)*abb, one arrow bent: refuted exactly where some word of the length differs."""
    model = compile_problem("regex:(a|b)*abb", "mdm", length=5)
    correct = parse_problem("regex:(a|b)*abb").automaton
    extraction, letters = extract(model), letters_of(model, correct)
    words = np.array(list(product(range(len(correct.tokens)), repeat=5)))
    accepted = answers(
        model, np.array([model.token[s] for s in model.input_symbols])[words], engine=FastEngine()
    ).accepted
    outcomes = refuted_where_wrong(
        lambda bent: prove_by_induction(extraction, bent, letters), correct, letters, words, accepted == 1
    )
    assert True in outcomes


# networks by hand


def network_of(length, build):
    """An extraction whose answer is a table that `build` makes of the letters a, b."""
    model = compile_problem("regex:[ab]*", "mdm", length=length)
    network = Network()
    letters = [network.letter(2) for _ in range(length)]
    cases, bits = build(network, letters)
    symbols = np.array([model.token[model.reject], model.token[model.accept]])
    return Extraction(model, network, [Token(network.cut(cases), symbols[bits])], [])


def table(network, parts, function):
    basis, chosen = network.join(parts)
    cases, labels = network.cases(basis, function(*chosen))
    return cases, labels.astype(np.int64)


def automaton_over_ab(pattern):
    automaton = parse_problem(f"regex:{pattern}").automaton
    return automaton, LetterNumbers(np.arange(2), np.array([int(automaton.token_ids([c])[0]) for c in "ab"]))


def test_letters_that_are_left_out_may_be_anything():
    """The answer depends on the letters 1 and 4 of 6."""
    extraction = network_of(6, lambda n, x: table(n, [x[4], x[1]], lambda a, b: (a == 0) & (b == 1)))
    assert prove_by_induction(extraction, *automaton_over_ab(".b..a.")).counterexample is None
    result = prove_by_induction(extraction, *automaton_over_ab(".b..a.|b....."))
    assert re.fullmatch("b.....", "".join("ab"[k] for k in result.counterexample))
    assert not re.fullmatch(".b..a.", "".join("ab"[k] for k in result.counterexample))
    result = prove_by_induction(extraction, *automaton_over_ab(".b..ab"))
    assert "".join("ab"[k] for k in result.counterexample[1:2] + result.counterexample[4:]) == "baa"


def test_long_gaps_and_long_chains():
    """A word of 1,500 letters of which the answer reads the last, and one that reads all, letter by letter."""
    alone = network_of(1500, lambda n, x: table(n, [x[-1]], lambda a: a))
    assert prove_by_induction(alone, *automaton_over_ab("[ab]*b")).counterexample is None
    assert prove_by_induction(alone, *automaton_over_ab("[ab]*a")).counterexample is not None

    def parity(network, letters):
        state = letters[0]
        for letter in letters[1:]:
            state = network.cut(table(network, [state, letter], lambda a, b: a ^ b)[0])
        return state, np.arange(2)

    chain = network_of(1500, parity)
    assert prove_by_induction(chain, *automaton_over_ab("(a*ba*b)*a*ba*")).counterexample is None
    wrong = prove_by_induction(chain, *automaton_over_ab("(a*ba*b)*a*")).counterexample
    assert len(wrong) == 1500


def test_overlapping_intervals_are_left_to_others():
    def twice(network, letters):
        left = network.cut(table(network, letters[:2], lambda a, b: a & b)[0])
        second_half = network.cut(table(network, letters[1:], lambda a, b: a | b)[0])
        return table(network, [left, second_half], lambda a, b: a ^ b)

    with pytest.raises(NoInduction, match="depend on the same letter"):
        prove_by_induction(network_of(3, twice), *automaton_over_ab("[ab]*"))


def test_intervals_that_interleave_are_left_to_others():
    """x0 ∧ x2 and x1 ∧ x3 have no letter in common, but no order either."""

    def crossed(network, letters):
        even = network.cut(table(network, letters[::2], lambda a, b: a & b)[0])
        odd = network.cut(table(network, letters[1::2], lambda a, b: a & b)[0])
        return table(network, [even, odd], lambda a, b: a ^ b)

    with pytest.raises(NoInduction, match="depend on the same letter"):
        prove_by_induction(network_of(4, crossed), *automaton_over_ab("[ab]*"))


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(induction, "MOST_PAIRS", 8)
    automaton = parse_problem("group:S3").automaton
    model = compile_problem("group:S3", "mdm", length=4)
    with pytest.raises(NoInduction, match="more than 8 combinations"):
        prove_by_induction(extract(model), automaton, letters_of(model, automaton))


def test_letters_that_share_a_symbol_but_not_a_token():
    """The model reads c and d as it reads b; the automaton tells d apart."""
    extraction = network_of(2, lambda n, x: table(n, x, lambda a, b: (a == 1) & (b == 1)))
    automaton = parse_problem("regex:[bc][bc]").automaton
    tokens = np.array([int(automaton.token_ids([c])[0]) for c in "abcd"])
    symbols = np.array([0, 1, 1, 1])
    assert prove_by_induction(extraction, automaton, LetterNumbers(symbols[:3], tokens[:3])).counterexample is None
    wrong = prove_by_induction(extraction, automaton, LetterNumbers(symbols, tokens)).counterexample
    assert 3 in wrong
    assert 0 not in wrong


def test_letters_that_share_a_token_but_not_a_symbol():
    extraction = network_of(2, lambda n, x: table(n, x, lambda a, b: a | b))
    automaton = parse_problem("regex:.*").automaton
    tokens = np.array([int(automaton.token_ids([c])[0]) for c in "ab"])
    assert prove_by_induction(extraction, automaton, LetterNumbers(np.arange(2), tokens)).counterexample == [0, 0]


def test_the_empty_word():
    for pattern, is_correct in (("a*", True), ("a+", False)):
        model = compile_problem("regex:a*", "mdm", length=0)
        automaton = parse_problem(f"regex:{pattern}").automaton
        result = prove_by_induction(extract(model), automaton, letters_of(model, parse_problem("regex:a*").automaton))
        assert result.counterexample == (None if is_correct else [])
