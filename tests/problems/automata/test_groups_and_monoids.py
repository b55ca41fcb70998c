"""Transition monoids against maps computed word by word."""

import itertools
import math

import numpy as np
import pytest

import work
from unmask.errors import ProblemError, TooLarge
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.groups_and_monoids import cycles, permutation_group, transition_monoid
from unmask.problems.regexes.determinisation import regex_automaton
from unmask.problems.regular_problems import GroupProblem

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
    maps = set()
    for length in range(6):
        for ids in itertools.product(range(len(automaton.tokens)), repeat=length):
            element = monoid.element(ids)
            maps.add(element)
            assert monoid.elements[element].tolist() == map_of(automaton, ids)
            assert monoid.accepting[element] == automaton.accepts(automaton.spelled(ids))
    assert len(maps) <= monoid.size
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
    assert transition_monoid(GroupProblem("Z3").automaton).identity_is_a_word
    assert not transition_monoid(regex_automaton("(a|b)*abb")).identity_is_a_word
    assert transition_monoid(regex_automaton("(aaa)*")).size == 4  # three turns and the dead map


@pytest.mark.parametrize(("spec", "order"), [("S3", 6), ("A5", 60), ("S5", 120)])
def test_the_monoid_of_a_word_problem_is_the_group(spec: str, order: int):
    monoid = transition_monoid(GroupProblem(spec).automaton)
    assert monoid.size == order
    assert all(np.array_equal(np.sort(row), np.arange(order)) for row in monoid.product_table)


def test_size_is_limited_early_and_a_thousand_elements_take_no_time():
    error, calls = work.refused(TooLarge, lambda: transition_monoid(regex_automaton("(a|b)*a(a|b){11}")))
    assert "more than 1,000 elements" in str(error)
    assert calls < 2_000_000  # most of them are the automaton's
    monoids = []
    calls = work.calls(lambda: monoids.append(transition_monoid(regex_automaton("(a|b)*a(a|b){8}"), most=2_000)))
    assert monoids[0].size == 1024
    assert monoids[0].product_table.shape == (1024, 1024)
    assert calls < 300_000
    with pytest.raises(TooLarge, match="more than 1,023"):
        transition_monoid(regex_automaton("(a|b)*a(a|b){8}"), most=1_023)


# Which groups there are, and what their elements are called.


@pytest.mark.parametrize(
    ("spec", "order", "points", "symbols"),
    [
        ("S1", 1, 1, 1),
        ("S3", 6, 3, 6),
        ("S4", 24, 4, 24),
        ("S5", 120, 5, 120),
        ("S6", 720, 6, 2),
        ("A3", 3, 3, 3),
        ("A4", 12, 4, 12),
        ("A5", 60, 5, 60),
        ("A6", 360, 6, 4),
        ("Z1", 1, 1, 1),
        ("Z2", 2, 2, 2),
        ("Z12", 12, 12, 12),
        ("Z201", 201, 201, 1),
        ("D1", 2, 2, 2),
        ("D2", 4, 4, 4),
        ("D3", 6, 3, 6),
        ("D4", 8, 4, 8),
        ("gens:(1 2 3)(4 5),(1 2)", 12, 5, 2),
        ("gens:(1 2 3 4 5),(1 2)", 120, 5, 2),
        ("gens:()", 1, 1, 1),
        ("gens:(1,2), (3 4)(5 6) ", 4, 6, 2),
    ],
)
def test_order_points_and_symbols(spec: str, order: int, points: int, symbols: int):
    group = permutation_group(spec)
    assert (group.order, group.points, len(group.symbols)) == (order, points, symbols)
    assert len({tuple(row) for row in group.elements.tolist()}) == order
    assert group.elements[0].tolist() == list(range(points))
    assert len(set(group.names)) == order
    assert all(name.split() == [name] for name in group.names)


def test_names():
    assert cycles([0, 1]) == "e"
    assert cycles([1, 2, 0, 4, 3]) == "(123)(45)"
    assert cycles([9, *range(1, 9), 0]) == "(1,10)"
    assert GroupProblem("Z3").automaton.tokens == ("+0", "+1", "+2")
    assert GroupProblem("D3").automaton.tokens == ("r0", "r1", "r2", "s0", "s1", "s2")
    assert GroupProblem("gens:(1 2 3)(4 5),(1 2)").automaton.tokens == ("(123)(45)", "(12)")
    assert math.factorial(5) == len(GroupProblem("S5").automaton.tokens)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "not the name of a group"),
        ("X5", "not the name"),
        ("A0", "not the name"),
        ("S-1", "not the name"),
        ("S５", "not the name"),
        ("gens:", "cannot read the generators"),
        ("gens:(1 2", "cannot read"),
        ("gens:1 2", "cannot read"),
        ("gens:(1 2)x", "cannot read"),
        ("gens:(1 1)", "disjoint cycles"),
        ("gens:(1 2)(2 3)", "disjoint"),
        ("gens:(0 1)", "disjoint"),
        ("gens:(1 2),(2 1)", "given twice"),
    ],
)
def test_what_is_not_a_group_is_refused(spec: str, message: str):
    with pytest.raises(ProblemError, match=message):
        permutation_group(spec)


@pytest.mark.parametrize(
    "spec", ["S8", "S999999", "A9", "Z10001", "D999999", "gens:(1 99999999)", "gens:(1 2 3 4 5 6 7 8),(1 2)"]
)
def test_large_groups_are_refused(spec: str):
    with pytest.raises(TooLarge):
        permutation_group(spec)
