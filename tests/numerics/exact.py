"""F_p by its definition, on rationals, for comparison with the library's integers."""

from fractions import Fraction
from functools import reduce
from math import floor


def bound(p):
    return Fraction(4**p - 1, 2**p)


def numbers(p):
    """Return every number of F_p."""
    return [Fraction(a, 2**p) for a in range(-(4**p) + 1, 4**p)]


def rounded(x, p):
    """Return [x]: the nearest number of F_p, ties toward zero, clipped to ±B."""
    x = max(-bound(p), min(bound(p), x))
    low = Fraction(floor(x * 2**p), 2**p)
    return min((low, low + Fraction(1, 2**p)), key=lambda y: (abs(y - x), abs(y)))


def plus(x, y, p):
    return max(-bound(p), min(bound(p), x + y))


def total(terms, p):
    """Return SUM: left to right, clipped after every addition."""
    return reduce(lambda x, y: plus(x, y, p), terms, Fraction(0))


def inner(xs, ys, p):
    """Return ⟨x, y⟩: every product is rounded separately."""
    return total([rounded(x * y, p) for x, y in zip(xs, ys, strict=True)], p)


def matmul(x, y, p):
    columns = list(zip(*y, strict=True)) if y else []
    return [[inner(row, column, p) for column in columns] for row in x]


def meanings(array, p):
    """Return nested integers as the rationals that they mean."""
    if isinstance(array, list):
        return [meanings(a, p) for a in array]
    return Fraction(int(array), 2**p)
