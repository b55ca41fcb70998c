"""Arithmetic on bits by MLPs, and the positional codes it can derive from four basic ones."""

from itertools import product

import numpy as np
import pytest

from unmask.expressions import N, constant, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.declarations import SignedBits
from unmask.programs.gadgets.attention import match
from unmask.programs.gadgets.integers import (
    Rails,
    add,
    at_least,
    is_zero,
    positive_part,
    rails,
    shift,
    signed,
    subtract,
)
from unmask.testing.gadget_runs import PRECISIONS, blank, run_gadget, run_gadget_words

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def contents(number, values, precision):
    """Both rails of the given values, as the inputs of `run_gadget`."""
    digits = np.asarray(values)[:, None] >> np.arange(len(number) - 1, -1, -1) & 1
    return (number.ones, precision.one * digits), (number.zeros, precision.one * (1 - digits))


def value(number, residual, precision):
    """What the rails hold; an error if they do not agree."""
    ones, zeros = residual[..., number.ones], residual[..., number.zeros]
    assert np.array_equal(ones + zeros, np.full_like(ones, precision.one)), "the rails are not complements"
    assert set(np.unique(ones)) <= {0, precision.one}
    return ones // precision.one @ (1 << np.arange(len(number) - 1, -1, -1))


def computed(precision, build, a, b, *, size):
    """Return the residual stream after three layers on the numbers a and b, and the result of `build`."""
    program = blank()
    x, y = rails(program, "a", size), rails(program, "b", size)
    result = build(program, [program.layer().mlp for _ in range(3)], x, y)
    return run_gadget(program, precision, *contents(x, a, precision), *contents(y, b, precision))[:, 0], result


def pairs(size, *, most=1000):
    if 4**size <= most:
        return np.array(list(product(range(2**size), repeat=2))).T
    rng = np.random.default_rng(size)
    carries = rng.integers(0, 2**size, most // 2)
    long_chains = np.stack([carries, (1 << size) - 1 - carries + rng.integers(-1, 2, most // 2)]) % (1 << size)
    return np.concatenate([long_chains, rng.integers(0, 2**size, (2, most // 2))], axis=1)


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_sum(precision, size):
    a, b = pairs(size)
    residual, total = computed(precision, lambda p, m, x, y: add(p, m, "sum", x, y), a, b, size=size)
    assert np.array_equal(value(total.bits, residual, precision), (a + b) % 2**size)
    assert np.array_equal(value(total.carry, residual, precision), (a + b) >> size)


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_difference_and_comparison(precision, size):
    a, b = pairs(size)

    def build(program, mlps, x, y):
        return subtract(program, mlps, "difference", x, y), at_least(program, mlps[:2], "order", x, y)

    residual, (difference, order) = computed(precision, build, a, b, size=size)
    assert np.array_equal(value(difference.bits, residual, precision), (a - b) % 2**size)
    assert np.array_equal(value(difference.carry, residual, precision), a >= b)
    assert np.array_equal(value(order, residual, precision), a >= b)


def test_a_long_carry_at_the_least_precision():
    precision, size = Precision(1), 40
    a, b = np.array([2**size - 1, 2**size - 1, 0]), np.array([1, 2**size - 1, 0])
    residual, total = computed(precision, lambda p, m, x, y: add(p, m, "sum", x, y), a, b, size=size)
    assert value(total.bits, residual, precision).tolist() == [0, 2**size - 2, 0]
    assert value(total.carry, residual, precision).tolist() == [1, 1, 0]


@pytest.mark.parametrize("size", [1, 4, 7])
def test_the_stated_size(size):
    program = blank()
    a, b = rails(program, "a", size), rails(program, "b", size)
    before = program.width
    mlps = [program.layer().mlp for _ in range(3)]
    add(program, mlps, "sum", a, b)
    assert [mlp.size for mlp in mlps] == [2 * size, (size + 1) * (size + 2) // 2, 2 * size]
    assert program.width - before == 7 * size + 2


def test_a_difference_without_its_carry_in_is_wrong():
    a, b = pairs(3)
    precision = Precision(2)
    residual, total = computed(precision, lambda p, m, x, y: add(p, m, "difference", x, y.complement), a, b, size=3)
    assert not np.any(value(total.bits, residual, precision) == (a - b) % 8)


@each_precision
def test_shift_and_zero_and_positive_part(precision):
    a, b = pairs(3)
    program = blank()
    x, y = rails(program, "a", 3), rails(program, "b", 3)
    shifted = [rails(program, f"shift{places}", 6) for places in range(4)]
    zero, positive = rails(program, "zero", 1), rails(program, "part", 3)
    layers = [program.layer() for _ in range(4)]
    for places, target in enumerate(shifted):
        shift(layers[0].mlp, x, places, target)
    is_zero(layers[1].mlp, x, zero)
    positive_part(layers[3].mlp, subtract(program, [layer.mlp for layer in layers[:3]], "difference", x, y), positive)
    residual = run_gadget(program, precision, *contents(x, a, precision), *contents(y, b, precision))[:, 0]
    for places, target in enumerate(shifted):
        assert np.array_equal(value(target, residual, precision), a << places)
    assert np.array_equal(value(zero, residual, precision), a == 0)
    assert np.array_equal(value(positive, residual, precision), np.maximum(a - b, 0))


def test_a_shift_must_fit():
    program = blank()
    with pytest.raises(AssertionError, match="does not fit 4 bits"):
        shift(program.layer().mlp, rails(program, "a", 3), 2, rails(program, "b", 4))


@pytest.mark.parametrize("precision", PRECISIONS[:3], ids=str)
@pytest.mark.parametrize(("length", "block"), [(1, 1), (4, 2), (5, 3), (9, 4), (16, 16), (6, 11)])
def test_positional_codes_declared_and_derived_are_equal(precision, length, block):
    """Codes of slot j = n - N, of block b = n div P and place r = n mod P, from the bits of n, N, r, b, constants."""
    size, rows = 8, 3 * length
    slot = (n - N).positive_part()
    declared = {
        "n - P": (n - block).positive_part(),
        "2j": 2 * slot,
        "2j - 1": (2 * slot - 1).positive_part(),
        "2j + 1": 2 * slot + 1,
        "16b + r": n // block * 16 + n % block,
    }
    program = blank(rows, length=length)
    codes = {name: program.register(f"declared {name}", size, SignedBits(e)) for name, e in declared.items()}
    is_slot = program.flag("declared n >= N", n >= N)

    position, total = rails(program, "n", size, n), rails(program, "N", size, N)
    one, padding = rails(program, "1", size, constant(1)), rails(program, "P", size, constant(block))
    r, b = rails(program, "r", size, n % block), rails(program, "b", size - 4, n // block)
    mlps = [program.layer().mlp for _ in range(9)]
    derived = {name: rails(program, name, size) for name in ("n - P", "2j", "2j - 1")}
    positive_part(mlps[3], subtract(program, mlps[:3], "n - P mod 2^k", position, padding), derived["n - P"])
    difference = subtract(program, mlps[:3], "n - N mod 2^k", position, total)
    j = rails(program, "j", size)
    positive_part(mlps[3], difference, j)
    shift(mlps[4], Rails(j.ones[1:], j.zeros[1:]), 1, derived["2j"])
    less = subtract(program, mlps[5:8], "2j - 1 mod 2^k", derived["2j"], one)
    positive_part(mlps[8], less, derived["2j - 1"])
    derived["2j + 1"] = add(program, mlps[5:8], "2j + 1", derived["2j"], one).bits
    first_of_block = rails(program, "16b", size)
    shift(mlps[0], b, 4, first_of_block)
    derived["16b + r"] = add(program, mlps[1:4], "16b + r", first_of_block, r).bits

    residual = run_gadget_words(program, precision, np.zeros((1, rows), dtype=int))[0]
    for name, code in codes.items():
        number = derived[name]
        expected = declared[name].at_positions(length, range(rows))
        assert np.array_equal(value(number, residual, precision), expected), name
        assert np.array_equal(residual[:, number.ones] - residual[:, number.zeros], residual[:, code]), name
    assert np.array_equal(residual[:, difference.carry.ones], residual[:, is_slot])


@each_precision
def test_an_address_that_was_computed_can_be_looked_up(precision):
    """Row n fetches the number of row 7 - n, the address of which three MLPs subtract."""
    program = blank(8)
    row_code = program.code("own", n, 3)
    numbers, fetched = program.register("numbers", 2), program.register("fetched", 2)
    seven, position = rails(program, "7", 3, constant(7)), rails(program, "n", 3, n)
    address = subtract(program, [program.layer().mlp for _ in range(3)], "7 - n", seven, position).bits
    head = program.layer().head()
    match(head, signed(address), row_code)
    head.copy(numbers, fetched)
    stored = np.random.default_rng(0).integers(-precision.bound, precision.bound + 1, (20, 8, 2))
    assert np.array_equal(run_gadget(program, precision, (numbers, stored))[..., fetched], stored[:, ::-1])
