"""Word problems against composition of permutations point by point."""

import itertools
import random

import numpy as np
import pytest

from unmask.problems.automata.group import PermutationGroup, group_automaton, permutation_group


def apply(group: PermutationGroup, symbols: list[int]) -> list[int]:
    """Where each point ends when the elements act from first to last."""
    ends = []
    for point in range(group.points):
        for symbol in symbols:
            point = int(group.elements[symbol][point])
        ends.append(point)
    return ends


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
