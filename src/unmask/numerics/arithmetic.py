"""Arithmetic of F_p: the numbers, sums and products, and exp. The only definition of rounding in the library.

    [x]     = nearest number of F_p, ties toward zero, clipped to ±B
    a · b   = [ab],   a / b = [a/b],   a + b = clip(a + b),   exp(a) = [e^(a/2^p)]
    SUM     = left to right in index order, clipped after every addition
    ⟨x, y⟩  = SUM_k [x_k y_k]: every product is rounded separately

All functions take Python integers or integer arrays and broadcast like NumPy. A number of F_p is always represented by
the integer a that means a / 2^p. Terms that are 0 never change a sum, so a product with a sparse matrix visits only the
stored entries, in the order of k.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import SupportsInt

import numpy as np

LARGEST_PRECISION = 8
"""The largest p of F_p."""


@dataclass(frozen=True)
class Precision:
    """F_p = { a / 2^p : a an integer, |a| <= 4^p - 1 } with the largest number B = (4^p - 1) / 2^p, for p = 1 … 8."""

    p: int

    def __post_init__(self) -> None:
        if type(self.p) is not int or not 1 <= self.p <= LARGEST_PRECISION:
            raise ValueError(f"the precision must be an integer from 1 to {LARGEST_PRECISION}, not {self.p!r}")

    @property
    def one(self) -> int:
        """The integer that means 1, 2^p."""
        return 1 << self.p

    @property
    def bound(self) -> int:
        """The integer that means B, the largest number: 4^p - 1."""
        return (1 << 2 * self.p) - 1

    @property
    def size(self) -> int:
        """The number of elements of F_p: 2^(2p+1) - 1."""
        return 2 * self.bound + 1

    @property
    def half_bound(self) -> int:
        """The integer of [B/2]: a tie, rounded toward zero."""
        return self.bound // 2

    def numbers(self) -> range:
        """All numbers, in increasing order."""
        return range(-self.bound, self.bound + 1)

    def meaning(self, a: SupportsInt) -> Fraction:
        """Return the rational number a / 2^p."""
        return Fraction(int(a), self.one)


def clip(a, precision: Precision):
    """Return min(max(a, -B), B). On small arrays, the two ufuncs take a third of the time of `np.clip`."""
    return np.minimum(np.maximum(a, -precision.bound), precision.bound)


def nearest(numerator, denominator):
    """Return numerator / denominator rounded to the nearest integer, ties toward zero; denominator > 0."""
    magnitude = (2 * np.abs(numerator) + denominator - 1) // (2 * denominator)
    return np.sign(numerator) * magnitude


def multiply(a, b, precision: Precision):
    """Return [ab]. The integers a and b mean a/2^p and b/2^p, so their product is the integer ab/2^p, rounded."""
    return clip(nearest(a * b, precision.one), precision)


def divide(a, b, precision: Precision):
    """Return [a/b] for b > 0."""
    return clip(nearest(a * precision.one, b), precision)


def add(a, b, precision: Precision):
    """Return a + b, clipped."""
    return clip(a + b, precision)


def total(terms, precision: Precision):
    """Return SUM along the last axis, clipped after every addition."""
    terms = np.asarray(terms)
    result = np.zeros(terms.shape[:-1], dtype=np.int64)
    for k in range(terms.shape[-1]):
        result = add(result, terms[..., k], precision)
    return result


def product(x: np.ndarray, y: np.ndarray, precision: Precision) -> np.ndarray:
    """Return x × y for arrays [..., n, k] and [..., k, m]: SUM_k [x_nk y_km]."""
    result = np.zeros((*x.shape[:-1], y.shape[-1]), dtype=np.int64)
    for k in range(x.shape[-1]):
        result = add(result, multiply(x[..., :, k, None], y[..., None, k, :], precision), precision)
    return result


def weighted(
    x: np.ndarray, rows: Iterable[tuple[int, np.ndarray, np.ndarray]], width: int, precision: Precision
) -> np.ndarray:
    """Return `product`(x, W), where `rows` has the nonzero rows of W as (k, columns, values), in the order of k."""
    result = np.zeros((*x.shape[:-1], width), dtype=np.int64)
    for k, columns, values in rows:
        terms = multiply(x[..., k, None], values, precision)
        result[..., columns] = add(result[..., columns], terms, precision)
    return result


def relu(a):
    """Return max(a, 0)."""
    return np.maximum(a, 0)


# exp on F_p: the correctly rounded table.
#
#     exp(a) = [ e^(a/2^p) ],  as an integer scaled by 2^p
#
# e^x is irrational for every rational x other than 0. Hence there are no ties, and enough digits determine every entry.
# `decimal` rounds e^x correctly to the requested number of digits, so the error is at most one unit of the last digit.


DIGITS = 50
MARGIN = Decimal(10) ** -20
CERTAIN = 104  # a logit lower than the largest by this much has the probability exp(-104) < 2^-150: 0 in float32


@cache
def exp_table(precision: Precision) -> np.ndarray:
    """Return the table with exp_table[a + bound] = exp(a), for every a of F_p."""
    table = np.zeros(precision.size, dtype=np.int64)
    for a in precision.numbers():
        value = _rounded_exp(a, precision)
        if value == precision.bound:
            table[a + precision.bound :] = value
            break
        table[a + precision.bound] = value
    table.setflags(write=False)
    return table


def exp(a: np.ndarray, precision: Precision) -> np.ndarray:
    """Return exp of every entry."""
    return exp_table(precision)[a + precision.bound]


def _rounded_exp(a: int, precision: Precision) -> int:
    # e^(a/2^p)·2^p < 1/2 once a/2^p < -(p+1)·ln 2; 45/64 > ln 2
    if 64 * a < -45 * (precision.p + 1) * precision.one:
        return 0
    context = Context(prec=DIGITS)
    scaled = context.multiply(context.exp(context.divide(Decimal(a), precision.one)), precision.one)
    return min(certain_nearest(scaled), precision.bound)


def certain_nearest(x: Decimal) -> int:
    """Return the nearest integer of a number that is known to DIGITS digits; raise if it is too close to a tie."""
    low, high = round(x - MARGIN), round(x + MARGIN)
    if low != high:
        raise ArithmeticError(f"{x} is too close to a tie for {DIGITS} digits")
    return low
