"""exp on F_p: the correctly rounded table.

    exp(a) = [ e^(a/2^p) ],  as an integer scaled by 2^p

e^x is irrational for every rational x other than 0, so that no value is a tie and enough digits decide every
entry. `decimal` gives e^x correctly rounded to the asked number of digits, hence within one unit of the last.
"""

from decimal import Context, Decimal
from functools import cache

import numpy as np

from unmask.numerics.precision import Precision

DIGITS = 50
MARGIN = Decimal(10) ** -20
CERTAIN = 104  # a logit lower than the largest by this much has the probability exp(-104) < 2^-150: 0 in float32


@cache
def exp_table(precision: Precision) -> np.ndarray:
    """exp_table[a + bound] = exp(a), for every a of F_p."""
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
    """exp entry by entry."""
    return exp_table(precision)[a + precision.bound]


def _rounded_exp(a: int, precision: Precision) -> int:
    # e^(a/2^p)·2^p < 1/2 once a/2^p < -(p+1)·ln 2; 45/64 > ln 2
    if 64 * a < -45 * (precision.p + 1) * precision.one:
        return 0
    context = Context(prec=DIGITS)
    scaled = context.multiply(context.exp(context.divide(Decimal(a), precision.one)), precision.one)
    return min(decided(scaled), precision.bound)


def decided(x: Decimal) -> int:
    """The nearest integer of a number that is known to DIGITS digits and is not a tie."""
    low, high = round(x - MARGIN), round(x + MARGIN)
    if low != high:
        raise ArithmeticError(f"{x} is too close to a tie for {DIGITS} digits")
    return low
