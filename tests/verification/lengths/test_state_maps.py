"""The maps of an automaton that proofs for every length use: a wrong monoid, which the compiler shares, is refused."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.groups_and_monoids import transition_monoid
from unmask.verification.lengths import row_tables
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.verification.lengths.row_tables import state_maps

AUTOMATON = Automaton(("a", "b"), np.array([[1, 0], [1, 2], [1, 3], [0, 3]]), 0, np.array([False, False, True, False]))


def test_products_are_those_of_words():
    maps, rng = state_maps(AUTOMATON), np.random.default_rng(0)
    for _ in range(50):
        first, second = (rng.integers(0, 2, rng.integers(0, 6)).tolist() for _ in range(2))
        product = maps.product_table[maps.element(first), maps.element(second)]
        assert product == maps.element([*first, *second])


def _wrong_product(monoid):
    table = monoid.product_table.copy()
    table[2, 3] = (table[2, 3] + 1) % monoid.size
    wrong = replace(monoid)
    wrong.__dict__["product_table"] = table
    return wrong


WRONG = {
    "a product": _wrong_product,
    "a letter": lambda monoid: replace(monoid, generators=monoid.generators[::-1]),
    "an answer": lambda monoid: replace(monoid, accepting=~monoid.accepting),
    "the identity": lambda monoid: replace(monoid, elements=np.roll(monoid.elements, 1, axis=0)),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_monoid_is_refused(fault, monkeypatch):
    monkeypatch.setattr(row_tables, "transition_monoid", lambda *a, **k: WRONG[fault](transition_monoid(*a, **k)))
    with pytest.raises(ObligationFailed, match="not that of the automaton"):
        state_maps(AUTOMATON)


def test_too_many_maps_are_not_shown(monkeypatch):
    monkeypatch.setattr(row_tables, "MOST_PAIRS", 3)
    with pytest.raises(ObligationFailed, match="more than 3 maps"):
        state_maps(AUTOMATON)
