"""Columns that compare two numbers, because sums clip: 0 if r <= b, else -B (docs/paper/errata.md, "Open")."""

import numpy as np
import pytest

from unmask.expressions import n
from unmask.numerics.arithmetic import Precision, exp
from unmask.programs.declarations import Flag
from unmask.programs.gadgets.attention import eq
from unmask.programs.program import ONE, B
from unmask.testing.gadget_runs import blank, run_gadget

each_precision = pytest.mark.parametrize("precision", [Precision(p) for p in (1, 2, 3, 4)], ids=str)


def compare(head, size, ones, zeros, one):
    """Score 0 where the key's number is at most the query's, else -B; codes lowest bit first."""
    head.column([(one, B)], [(one, ONE)])
    for i in range(size):
        for _ in range(2):
            head.column([(ones[i], B)], [(zeros[i], ONE)])
        for _ in range(2):
            head.column([(zeros[i], -B)], [(ones[i], ONE)])
    head.column([(one, -B)], [(one, ONE)])


def causal_head(rows, *, lookup=False):
    size = max(1, (rows - 1).bit_length())
    program = blank(rows)
    one = program.one
    ones = [program.register(f"1 in bit {i}", declaration=Flag(n // (1 << i) % 2)) for i in range(size)]
    zeros = [program.register(f"0 in bit {i}", declaration=Flag(1 - n // (1 << i) % 2)) for i in range(size)]
    row_code = program.code("own", n, size)
    address, x, y = program.register("address", size), program.register("x"), program.register("y")
    head = program.layer().head()
    compare(head, size, ones, zeros, one)
    if lookup:
        eq(head, address, row_code)
    head.copy(x, y)
    return program, address, x, y, size


@each_precision
@pytest.mark.parametrize("rows", [1, 2, 5, 8, 13])
def test_unmasked_uniform_attention_becomes_causal(precision, rows):
    program, _, x, y, _ = causal_head(rows)
    values = np.random.default_rng(rows).integers(0, 2, (20, rows, 1)) * precision.one
    ours = run_gadget(program, precision, (x, values))[..., y]
    plain = blank(rows)
    source, result = plain.register("x"), plain.register("y")
    head = plain.layer().head()
    head.column([], [])
    head.copy(source, result)
    causal = run_gadget(plain, precision, (source, values), attention="causal")[..., result]
    assert np.array_equal(ours, causal)


@each_precision
def test_a_look_up_of_an_earlier_row_is_kept(precision):
    rows = 8
    program, address, x, y, size = causal_head(rows, lookup=True)
    rng = np.random.default_rng(0)
    targets = np.stack([rng.integers(0, i + 1, 30) for i in range(rows)], axis=1)
    codes = precision.one * (2 * (targets[..., None] >> np.arange(size - 1, -1, -1) & 1) - 1)
    values = rng.integers(-precision.bound, precision.bound + 1, (30, rows, 1))
    result = run_gadget(program, precision, (address, codes), (x, values))[..., y]
    assert np.array_equal(result, np.take_along_axis(values, targets[..., None], axis=1))


@each_precision
def test_the_exponential_of_zero_has_no_neighbour_that_is_far(precision):
    """The argument of the bound: exp is 1 near 0 only, and neither B nor -B has the exponential of 0."""
    numbers = np.array(precision.numbers())
    at_one = numbers[exp(numbers, precision) == precision.one]
    assert 0 in at_one
    assert precision.bound not in at_one
    assert -precision.bound not in at_one
