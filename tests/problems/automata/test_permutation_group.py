"""Which groups there are, and what their elements are called."""

import math

import pytest

from unmask.errors import ProblemError, TooLarge
from unmask.problems.automata.group import group_automaton
from unmask.problems.automata.permutation_group import cycles, permutation_group


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
