"""Arithmetic compared with exact rationals: every pair of numbers for p = 1, 2, random ones for larger p."""

from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics import exact
from unmask.numerics import arithmetic
from unmask.numerics.arithmetic import (
    Precision,
    add,
    certain_nearest,
    clip,
    divide,
    exp,
    exp_table,
    multiply,
    nearest,
    relu,
    total,
    weighted,
)
from unmask.weights.matrices import Matrix


@pytest.mark.parametrize(("p", "size"), [(1, 7), (2, 31), (3, 127), (4, 511)])
def test_sizes_of_the_theory_page(p, size):
    precision = Precision(p)
    assert precision.size == len(precision.numbers()) == size
    assert precision.meaning(precision.bound) == 2**p - Fraction(1, 2**p)
    assert precision.meaning(precision.one) == 1


@pytest.mark.parametrize("p", range(1, 9))
def test_half_of_the_bound_is_rounded_toward_zero(p):
    precision = Precision(p)
    assert precision.meaning(precision.half_bound) == 2 ** (p - 1) - Fraction(1, 2**p)
    assert 2 * precision.half_bound == precision.bound - 1


@pytest.mark.parametrize("p", [0, 9, -1, True, "2", 2.0, None])
def test_only_1_to_8(p):
    with pytest.raises(ValueError, match="from 1 to 8"):
        Precision(p)


SMALL = [1, 2]


def number(p):
    return st.integers(-(4**p) + 1, 4**p - 1)


precisions = st.integers(1, 8)


@pytest.mark.parametrize("p", SMALL)
def test_every_sum_product_and_quotient(p):
    precision = Precision(p)
    for a, b in product(precision.numbers(), repeat=2):
        x, y = precision.meaning(a), precision.meaning(b)
        assert precision.meaning(add(a, b, precision)) == exact.plus(x, y, p)
        assert precision.meaning(multiply(a, b, precision)) == exact.rounded(x * y, p)
        if b > 0:
            assert precision.meaning(divide(a, b, precision)) == exact.rounded(x / y, p)


@pytest.mark.parametrize("p", SMALL)
def test_arrays_give_what_integers_give(p):
    precision = Precision(p)
    a = np.array(precision.numbers())
    for operation in (add, multiply, divide):
        positive = a[a > 0] if operation is divide else a
        table = operation(a[:, None], positive[None, :], precision)
        assert table.tolist() == [[int(operation(x, y, precision)) for y in positive.tolist()] for x in a.tolist()]


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6), precisions)
def test_rounding_of_any_fraction(numerator, denominator, p):
    precision = Precision(p)
    ours = clip(nearest(numerator, denominator), precision)
    assert precision.meaning(ours) == exact.rounded(Fraction(numerator, denominator * 2**p), p)


def test_ties_go_toward_zero():
    assert [int(nearest(a, 2)) for a in (-3, -1, 1, 3)] == [-1, 0, 0, 1]


@given(precisions.flatmap(lambda p: st.tuples(st.just(p), number(p), number(p))))
def test_products_and_quotients_of_every_precision(case):
    p, a, b = case
    precision = Precision(p)
    x, y = precision.meaning(a), precision.meaning(b)
    assert precision.meaning(multiply(a, b, precision)) == exact.rounded(x * y, p)
    if b > 0:
        assert precision.meaning(divide(a, b, precision)) == exact.rounded(x / y, p)


@pytest.mark.parametrize("p", SMALL)
def test_facts_of_the_theory_page(p):
    precision = Precision(p)
    one, bound = precision.one, precision.bound
    assert divide(one, bound, precision) == 1  # [1/B] = 2^-p
    assert multiply(bound, 1, precision) == (one if p >= 2 else one // 2)  # [B·2^-p] = 1, or 1/2 for p = 1
    assert multiply(1, one // 2, precision) == 0  # [2^-p · 1/2] = 0, a tie
    assert multiply(bound, one // 2, precision) == precision.half_bound


def test_signed_sums_depend_on_the_order():
    precision = Precision(2)
    sums = {int(total(np.array(order), precision)) for order in permutations([15, 15, -15])}
    assert sums == {0, 15}


@pytest.mark.parametrize("p", SMALL)
def test_sums_of_one_sign_do_not(p):
    precision = Precision(p)
    for terms in product(range(precision.bound + 1), repeat=3 if p == 1 else 2):
        expected = min(precision.bound, sum(terms))
        assert total(np.array(terms), precision) == expected
        assert total(-np.array(terms), precision) == -expected


@given(precisions.flatmap(lambda p: st.tuples(st.just(p), st.lists(number(p), max_size=12))))
def test_sums_clip_after_every_addition(case):
    p, terms = case
    ours = total(np.array(terms, dtype=np.int64), Precision(p))
    assert exact.meanings(int(ours), p) == exact.total([Fraction(a, 2**p) for a in terms], p)


def matrices(p, rows, columns):
    value = st.one_of(number(p), st.sampled_from([0, 0, 4**p - 1, -(4**p) + 1]))
    return st.lists(st.lists(value, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


@st.composite
def factors(draw):
    p, n, k, m = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 5)), draw(st.integers(1, 3))
    return p, draw(matrices(p, n, k)), draw(matrices(p, k, m)), (n, k, m)


@given(factors())
def test_matrix_products_against_loops_over_rationals(case):
    p, x, y, (n, k, m) = case
    precision = Precision(p)
    left, right = np.array(x, dtype=np.int64).reshape(n, k), np.array(y, dtype=np.int64).reshape(k, m)
    ours = arithmetic.product(left, right, precision)
    expected = exact.matmul(exact.meanings(x, p), exact.meanings(y, p), p) if k else [[0] * m] * n
    assert exact.meanings(ours.tolist(), p) == expected
    assert np.array_equal(weighted(left, Matrix.of(right).rows(), m, precision), ours)


@given(factors())
def test_a_batch_is_one_product_after_the_other(case):
    p, x, y, (n, k, m) = case
    left, right = np.array(x, dtype=np.int64).reshape(n, k), np.array(y, dtype=np.int64).reshape(k, m)
    batch = np.stack([left, -left])
    together = arithmetic.product(batch, np.stack([right, right]), Precision(p))
    separate = [arithmetic.product(entry, right, Precision(p)) for entry in batch]
    assert np.array_equal(together, np.stack(separate))
    assert np.array_equal(weighted(batch, Matrix.of(right).rows(), m, Precision(p)), together)


def test_the_order_of_k_matters_in_a_product():
    """The comparison above would notice a product summed from right to left."""
    precision = Precision(2)
    x, y = np.array([[4, 4, 4]]), np.array([[15], [15], [-15]])
    assert arithmetic.product(x, y, precision) == [[0]]
    assert arithmetic.product(x, y[::-1], precision) == [[15]]


def test_relu():
    assert relu(np.array([-3, 0, 3])).tolist() == [0, 0, 3]


# The table is correctly rounded: every entry is proved with brackets of rationals, no library of functions.


ALL = range(1, 9)
BITS = 160


def outward(low, high):
    """A bracket on a coarser grid around a bracket."""
    return Fraction(int(low * 2**BITS // 1), 2**BITS), Fraction(-int(-high * 2**BITS // 1), 2**BITS)


def exp_bracket(x):
    """Fractions that e^x lies strictly between, for 0 <= x <= 1: the Taylor series and twice its next term."""
    term, low = Fraction(1), Fraction(0)
    for n in range(1, 40):
        low += term
        term = term * x / n
    return outward(low, low + 2 * term)


@cache
def powers(p):
    """Brackets of e^(a/2^p) for a = 0 … (p+1)·2^p, where it is beyond B: products of the bracket of e^(1/2^p)."""
    low, high = exp_bracket(Fraction(1, 2**p))
    brackets = [(Fraction(1), Fraction(1))]
    for _ in range((p + 1) * 2**p):
        brackets.append(outward(brackets[-1][0] * low, brackets[-1][1] * high))
    return brackets


@pytest.mark.parametrize("p", ALL)
def test_every_entry_is_correctly_rounded(p):
    """Both ends of a bracket round to the entry; beyond the brackets e^|x| > 2^(p+1), which determines the entry."""
    precision = Precision(p)
    table = exp_table(precision)
    brackets = powers(p)
    assert brackets[-1][0] > 2 ** (p + 1)
    for a, (low, high) in enumerate(brackets[: precision.bound + 1]):
        for end in (low, high):
            assert precision.meaning(table[precision.bound + a]) == exact.rounded(end, p)
        for end in (1 / high, 1 / low):
            assert precision.meaning(table[precision.bound - a]) == exact.rounded(end, p)
    assert (table[precision.bound + len(brackets) :] == precision.bound).all()
    assert not table[: max(0, precision.bound + 1 - len(brackets))].any()


@pytest.mark.parametrize("p", ALL)
def test_interval_arithmetic_agrees(p):
    """The same by intervals of mpmath, for the entries that their size does not determine."""
    precision = Precision(p)
    table = exp_table(precision)
    mpmath.iv.prec = mpmath.mp.prec = 120
    for a in range(-(p + 1) * precision.one, (p + 1) * precision.one + 1):
        if a == 0 or abs(a) > precision.bound:
            continue
        units = mpmath.iv.exp(mpmath.iv.mpf(a) / precision.one) * precision.one
        ends = {min(precision.bound, int(mpmath.nint(end))) for end in (mpmath.mpf(units.a), mpmath.mpf(units.b))}
        assert ends == {int(table[precision.bound + a])}


@pytest.mark.parametrize(
    ("p", "saturates", "vanishes"),
    [(1, ".5", "-1.5"), (2, "1.5", "-2.25"), (3, "2.125", "-2.875"), (4, "2.8125", "-3.5")],
)
def test_thresholds_of_the_theory_page(p, saturates, vanishes):
    precision = Precision(p)
    values = exp(np.array(precision.numbers()), precision)
    x = [precision.meaning(a) for a in precision.numbers()]
    assert min(v for v, e in zip(x, values, strict=True) if e == precision.bound) == Fraction(saturates)
    assert max(v for v, e in zip(x, values, strict=True) if e == 0) == Fraction(vanishes)


@pytest.mark.parametrize("p", ALL)
def test_exp_grows_and_the_table_cannot_be_changed(p):
    table = exp_table(Precision(p))
    assert (np.diff(table) >= 0).all()
    assert table[Precision(p).bound] == Precision(p).one
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1


def test_a_number_too_close_to_a_tie_is_refused():
    assert certain_nearest(Decimal("2.4999")) == 2
    with pytest.raises(ArithmeticError, match="tie"):
        certain_nearest(Decimal("2.5"))
