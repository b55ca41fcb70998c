"""Word problems against composition of permutations point by point."""

import itertools
import math
import random

import numpy as np
import pytest

from unmask.errors import ProblemError, TooLarge
from unmask.problems.group import PermutationGroup, group_automaton, permutation_group
from unmask.problems.permutation_group import cycles


def apply(group: PermutationGroup, symbols: list[int]) -> list[int]:
    """Where each point ends when the elements act from first to last."""
    ends = []
    for point in range(group.points):
        for symbol in symbols:
            point = int(group.elements[symbol][point])
        ends.append(point)
    return ends


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


@pytest.mark.parametrize("spec", ["A5", "S5", "D2", "D5", "Z7", "gens:(1 2 3)(4 5),(1 2)"])
def test_tables_are_composition(spec: str):
    group = permutation_group(spec)
    places = {tuple(row): i for i, row in enumerate(group.elements.tolist())}
    automaton = group_automaton(spec)
    for i, (k, symbol) in itertools.product(range(group.order), enumerate(group.symbols)):
        expected = places[tuple(apply(group, [i, symbol]))]
        assert automaton.delta[i, k] == expected == group.product(i, symbol)
    assert automaton.tokens == tuple(group.names[i] for i in group.symbols)


@pytest.mark.parametrize("spec", ["A5", "S5", "S6", "D3", "Z201"])
def test_words_against_the_action(spec: str):
    group, automaton, rng = permutation_group(spec), group_automaton(spec), random.Random(3)
    answers = []
    for _ in range(300):
        word = rng.choices(group.symbols, k=rng.randint(0, 6))
        identity = apply(group, word) == list(range(group.points))
        assert automaton.accepts([group.names[i] for i in word]) == identity
        assert automaton.accepts(" ".join(group.names[i] for i in word)) == identity
        answers.append(identity)
    assert any(answers)
    assert automaton.minimal().states == group.order


def test_the_first_element_acts_first():
    automaton = group_automaton("S3")
    # 1 → 2 → 1, 2 → 3 → 3, 3 → 1 → 2: (123) then (12) is (23), and not (13)
    assert automaton.accepts("(123) (12) (23)")
    assert not automaton.accepts("(123) (12) (13)")


def test_a_wrong_table_is_caught():
    group = permutation_group("S3")
    swapped = group.table[:, [0, 2, 1, *range(3, 6)]]
    places = {tuple(row): i for i, row in enumerate(group.elements.tolist())}
    correct = [[places[tuple(apply(group, [i, s]))] for s in group.symbols] for i in range(6)]
    assert np.array_equal(group.table, correct)
    assert not np.array_equal(swapped, correct)


def test_names():
    assert cycles([0, 1]) == "e"
    assert cycles([1, 2, 0, 4, 3]) == "(123)(45)"
    assert cycles([9, *range(1, 9), 0]) == "(1,10)"
    assert group_automaton("Z3").tokens == ("+0", "+1", "+2")
    assert group_automaton("D3").tokens == ("r0", "r1", "r2", "s0", "s1", "s2")
    assert group_automaton("gens:(1 2 3)(4 5),(1 2)").tokens == ("(123)(45)", "(12)")
    assert math.factorial(5) == len(group_automaton("S5").tokens)


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
