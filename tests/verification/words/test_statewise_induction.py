"""Induction state by state: proves correct models, refutes with a word that differs, or does not apply."""

from itertools import product

import numpy as np
import pytest

from unmask.api import compile_problem, compiler_of, verify_model
from unmask.problems.catalogue import parse_problem
from unmask.programs.regular import monoid_codes
from unmask.verification.answer_tables import AnswerTables
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words import statewise_induction
from unmask.verification.words import symbolic_heads as head
from unmask.verification.words.deciders import ModelDecider, circuit_of
from unmask.verification.words.extraction import extract
from unmask.verification.words.induction import NoInduction, prove_by_induction
from unmask.verification.words.statewise_induction import prove_statewise

from .test_induction import automaton_over_ab, letters_of, network_of, table
from .wrong_automata import refuted_where_wrong


@pytest.fixture
def slot_per_state(monkeypatch):
    """Compile with a slot per state, and let rows choose however few cases there are."""
    monkeypatch.setattr(monoid_codes, "MOST_ELEMENTS", 1)
    monkeypatch.setattr(head, "JOINED_AT_ONCE", 8)
    compiler_of.cache_clear()
    yield
    compiler_of.cache_clear()


def slots_per_state(problem, length):
    automaton = parse_problem(problem).automaton
    extraction = extract(compile_problem(problem, "mdm", length=length))
    assert any(variable.branches for variable in extraction.network.variables)
    return extraction, automaton, letters_of(extraction.model, automaton)


@pytest.mark.usefixtures("slot_per_state")
@pytest.mark.parametrize("problem", ["regex:(a|b)*abb", "regex:a?b+c{2,3}", "regex:(aab|bba)*a?"])
def test_proves_a_model_whose_rows_choose(problem):
    extraction, automaton, letters = slots_per_state(problem, 9)
    with pytest.raises(NoInduction, match="chooses"):
        prove_by_induction(extraction, automaton, letters)
    result = prove_statewise(extraction, automaton, letters)
    assert result.counterexample is None
    assert result.cases > 9
    verdict = verify_model(extraction.model, method="prove")
    assert (verdict.status, verdict.proof["by"].split(", ")[-1]) == ("proved", "state by state")


@pytest.mark.usefixtures("slot_per_state")
def test_every_single_wrong_transition_is_found():
    extraction, automaton, letters = slots_per_state("regex:(a|b)*abb", 5)
    words = np.array(list(product(range(len(automaton.tokens)), repeat=5)))
    slots, fails = extraction.outcomes(words)
    assert not fails.any()
    accepted = slots[:, -1] == extraction.model.token[extraction.model.accept]
    outcomes = refuted_where_wrong(
        lambda bent: prove_statewise(extraction, bent, letters), automaton, letters, words, accepted
    )
    assert outcomes == {False, True}


@pytest.mark.usefixtures("slot_per_state")
def test_lookups_and_gates_know_switches():
    extraction, automaton, letters = slots_per_state("regex:(a|b)*abb", 5)
    words = np.array(list(product(range(len(automaton.tokens)), repeat=5)))
    slots, fails = extraction.outcomes(words)
    looked_up = AnswerTables(extraction)(words)
    assert np.array_equal(looked_up[0], slots)
    assert np.array_equal(looked_up[1], fails)
    encoding = WordEncoding(len(automaton.tokens), 5)
    circuit = circuit_of(ModelDecider(extraction, letters.symbols.tolist()), encoding)
    bits = np.array([[code >> bit & 1 for code in word for bit in range(encoding.width)] for word in words], dtype=bool)
    accepted = slots[:, -1] == extraction.model.token[extraction.model.accept]
    assert np.array_equal(np.asarray(circuit.evaluate(bits))[:, 0], accepted)


def test_gaps_are_gone_through_state_by_state():
    """The answer reads the letters 1 and 4 of 6."""
    extraction = network_of(6, lambda n, x: table(n, [x[4], x[1]], lambda a, b: (a == 0) & (b == 1)))
    assert prove_statewise(extraction, *automaton_over_ab(".b..a.")).counterexample is None
    for other in (".b..ab", ".b..a.|b.....", "ab..a."):
        automaton, letters = automaton_over_ab(other)
        word = "".join("ab"[k] for k in prove_statewise(extraction, automaton, letters).counterexample)
        assert automaton.accepts(word) != automaton_over_ab(".b..a.")[0].accepts(word)


def test_long_chains_do_not_recurse():
    def parity(network, letters):
        state = letters[0]
        for letter in letters[1:]:
            state = network.cut(table(network, [state, letter], lambda a, b: a ^ b)[0])
        return state, np.arange(2)

    extraction = network_of(600, parity)
    assert prove_statewise(extraction, *automaton_over_ab("(a*ba*b)*a*ba*")).counterexample is None
    wrong = prove_statewise(extraction, *automaton_over_ab("(a*ba*b)*a*"))
    assert len(wrong.counterexample) == 600


def test_a_switch_reads_what_its_selector_says():
    """Letter 0 says whether letter 1 or letter 2 is the answer; a specification that takes the other one is refuted."""

    def chosen(network, x):
        return network.switch(x[0], [x[1], x[2]], 2), np.arange(2)

    extraction = network_of(3, chosen)
    assert prove_statewise(extraction, *automaton_over_ab("ab.|b.b")).counterexample is None
    assert prove_statewise(extraction, *automaton_over_ab("a.b|bb.")).counterexample is not None


def test_where_intervals_overlap_or_cases_are_many_nothing_is_said(monkeypatch):
    def twice(network, x):
        both = [network.cut(table(network, [x[0], x[1]], f)[0]) for f in (np.bitwise_and, np.bitwise_or)]
        monkeypatch.setattr(type(network), "_find_basis", lambda _, variables: variables)
        return table(network, both, np.bitwise_xor)

    with pytest.raises(NoInduction, match="same letter"):
        prove_statewise(network_of(2, twice), *automaton_over_ab("ab|ba"))
    monkeypatch.setattr(statewise_induction, "MOST_STEPS", 1)
    with pytest.raises(NoInduction, match="more than"):
        prove_statewise(network_of(2, lambda n, x: table(n, x, np.bitwise_and)), *automaton_over_ab("bb"))
