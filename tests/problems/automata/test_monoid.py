"""Transition monoids against maps computed word by word."""

import itertools

import numpy as np
import pytest

import work
from unmask.errors import TooLarge
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.group import group_automaton
from unmask.problems.automata.monoid import transition_monoid
from unmask.problems.regexes.regex import regex_automaton

PATTERNS = ["(a|b)*abb", "", "(?s).*", "(ab|ba)*", r"\d{2}:\d{2}", "[ab]*a[ab]{2}", "(aaa)*"]


def map_of(automaton: Automaton, ids: tuple[int, ...]) -> list[int]:
    states = np.arange(automaton.states)
    for token in ids:
        states = automaton.delta[states, token]
    return states.tolist()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_elements_are_the_maps_of_words(pattern: str):
    automaton = regex_automaton(pattern)
    monoid = transition_monoid(automaton)
    found = set()
    for length in range(6):
        for ids in itertools.product(range(len(automaton.tokens)), repeat=length):
            element = monoid.element(ids)
            found.add(element)
            assert monoid.elements[element].tolist() == map_of(automaton, ids)
            assert monoid.accepting[element] == automaton.accepts(automaton.spelled(ids))
    assert len(found) <= monoid.size
    for i in range(monoid.size):
        assert monoid.elements[i].tolist() == map_of(automaton, tuple(monoid.word(i)))
    assert len({row.tobytes() for row in monoid.elements}) == monoid.size
    assert monoid.elements[monoid.identity].tolist() == list(range(automaton.states))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_products(pattern: str):
    monoid = transition_monoid(regex_automaton(pattern))
    table = monoid.product_table
    for i, j in itertools.product(range(monoid.size), repeat=2):
        assert table[i, j] == monoid.compose(i, j)
        assert np.array_equal(monoid.elements[table[i, j]], monoid.elements[j][monoid.elements[i]])
    assert np.array_equal(table[monoid.identity], np.arange(monoid.size))
    assert np.array_equal(table[:, monoid.generators], monoid.successors)


def test_the_identity_is_flagged_as_a_word_only_if_it_is_one():
    assert transition_monoid(regex_automaton("(?s).*")).identity_is_a_word
    assert transition_monoid(group_automaton("Z3")).identity_is_a_word
    assert not transition_monoid(regex_automaton("(a|b)*abb")).identity_is_a_word
    assert transition_monoid(regex_automaton("(aaa)*")).size == 4  # three turns and the dead map


@pytest.mark.parametrize(("spec", "order"), [("S3", 6), ("A5", 60), ("S5", 120)])
def test_the_monoid_of_a_word_problem_is_the_group(spec: str, order: int):
    monoid = transition_monoid(group_automaton(spec))
    assert monoid.size == order
    assert all(np.array_equal(np.sort(row), np.arange(order)) for row in monoid.product_table)


def test_size_is_limited_early_and_a_thousand_elements_take_no_time():
    error, taken = work.refused(TooLarge, lambda: transition_monoid(regex_automaton("(a|b)*a(a|b){11}")))
    assert "more than 1,000 elements" in str(error)
    assert taken < 2_000_000  # most of them are the automaton's
    monoids = []
    taken = work.calls(lambda: monoids.append(transition_monoid(regex_automaton("(a|b)*a(a|b){8}"), most=2_000)))
    assert monoids[0].size == 1024
    assert monoids[0].product_table.shape == (1024, 1024)
    assert taken < 300_000
    with pytest.raises(TooLarge, match="more than 1,023"):
        transition_monoid(regex_automaton("(a|b)*a(a|b){8}"), most=1_023)
