"""The table is correctly rounded: every entry is proved with brackets of rationals, no library of functions."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from numerics import exact
from unmask.numerics.exponential import decided, exp, exp_table
from unmask.numerics.precision import Precision

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
    """Both ends of a bracket round to the entry; beyond the brackets e^|x| > 2^(p+1), so that all is clear."""
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
    """The same by another road: intervals of mpmath around the entries that are not clear by their size."""
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
    assert decided(Decimal("2.4999")) == 2
    with pytest.raises(ArithmeticError, match="tie"):
        decided(Decimal("2.5"))
