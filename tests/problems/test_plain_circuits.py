"""Textbook circuits of the families against their oracles in Python."""

from itertools import product

import numpy as np
import pytest

from unmask.problems.families import FAMILIES, FamilyProblem
from unmask.problems.plain_circuits import PLAIN, plain_circuit


def fitting(family, lengths):
    return [length for length in lengths if FAMILIES[family].fits(length)]


def right(family, bits):
    return [[bool(bit) for bit in FAMILIES[family].right(row)] for row in bits.tolist()]


def test_every_family_has_one():
    assert PLAIN.keys() == FAMILIES.keys()


@pytest.mark.parametrize("family", FAMILIES)
def test_small_lengths_on_all_words(family):
    lengths = fitting(family, range(10))
    assert len(lengths) >= 3
    for length in lengths:
        bits = np.array(list(product([0, 1], repeat=length)))
        assert plain_circuit(family, length).evaluate(bits).tolist() == right(family, bits), length


@pytest.mark.parametrize("family", FAMILIES)
def test_larger_lengths_on_random_words(family):
    rng = np.random.default_rng(0)
    for length in fitting(family, (15, 16, 25, 30, 64, 101)):
        even = rng.integers(0, 2, (50, length))
        rare = (rng.random((50, length)) < 0.2).astype(int)  # for paths that are missing
        equal = np.hstack([even[:, : length // 2]] * 2 + [even[:, : length % 2]])
        for bits in (even, rare, equal):
            assert plain_circuit(family, length).evaluate(bits).tolist() == right(family, bits), length


def test_they_are_not_the_circuits_that_are_compiled():
    """Otherwise a proof would compare a circuit with itself."""
    for family in ("addition", "parity", "majority", "multiplication", "reachability"):
        length = fitting(family, range(12, 40))[0]
        compiled, plain = FamilyProblem(family).circuit(length), plain_circuit(family, length)
        assert compiled.gates != plain.gates
        assert compiled.depth < plain.depth
