"""Circuits that metered machines print: they are correct on all words, and so are the properties of single items."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from unmask.expressions import constant
from unmask.paper.checks.uniform_circuit_checks import check_printed_circuit, family_lengths
from unmask.problems.circuits.circuit_families import FAMILIES
from unmask.problems.circuits.metered import RegisterBound, RegisterOverflow, metered
from unmask.problems.circuits.printed_circuits import (
    AND,
    OR,
    PRINTED,
    deciding_bit,
    gate_of,
    item,
    items,
    parity,
    printed_circuit,
    source_row,
)


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_circuit_is_right_on_all_words(name):
    assert sum(check_printed_circuit(name, PRINTED[name], length) for length in family_lengths(name, 6)) >= 16


@metered
def parity_without_a_sign(N):
    for x in parity(N):
        yield x - 1 if x % 2 == 1 and x > 0 else x


def test_a_wrong_machine_is_refuted():
    wrong = replace(PRINTED["parity"], machine=parity_without_a_sign)
    with pytest.raises(AssertionError, match="the printed circuit of parity is wrong"):
        check_printed_circuit("parity", wrong, 4)


def test_a_formula_below_the_depth_is_refuted():
    with pytest.raises(AssertionError, match="too deep"):
        check_printed_circuit("parity", replace(PRINTED["parity"], depth=constant(3)), 4)


@pytest.mark.parametrize("name", PRINTED)
def test_an_item_is_found_by_counting(name):
    """Compared with the list of all items, in plain Python."""
    family, length = PRINTED[name], 4
    printed, limit = list(family.items(length)), family.bound.at(length)
    gates = [k for k, number in enumerate(printed) if number < 0]
    rows = [*range(length), *(length + k for k in gates)]  # by node - 1
    assert items(limit, family.machine, length) == len(printed)
    for k, number in enumerate(printed):
        gate = min(g for g in gates if g >= k)
        assert item(limit, family.machine, length, k) == number
        assert gate_of(limit, family.machine, length, k) == gate
        if number > 0:
            assert source_row(limit, family.machine, length, k) == rows[number // 2 - 1]
            # the wire is false for an AND, or true for an OR, if its source has the bit
            bit = deciding_bit(limit, family.machine, length, k)
            assert (bit != number % 2) == (printed[gate] == OR)
        else:
            assert deciding_bit(limit, family.machine, length, k) == 2


def test_numbers_beyond_the_register_bound_end_the_machine():
    with pytest.raises(RegisterOverflow):
        list(replace(PRINTED["reachability"], bound=RegisterBound(1)).items(9))


def test_the_circuit_of_a_few_items():
    circuit = printed_circuit(2, [2, 5, AND, 2, 6, OR])
    words = np.array(list(product((0, 1), repeat=2)))
    assert circuit.evaluate(words)[:, 0].tolist() == [bool(x or (x and not y)) for x, y in words]


def test_every_printed_family_is_a_family_of_circuits():
    assert set(PRINTED) <= set(FAMILIES)
