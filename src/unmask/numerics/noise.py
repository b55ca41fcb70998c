"""Gumbel noise in F_p, from 53 random bits, without floats.

    u = (r + 1/2) / 2^53  for r = 0 … 2^53 - 1,        noise(r) = [ -ln(-ln u) ]

The noise grows with r, so a table of thresholds decides it: value v is drawn when r lies between the number
of r below (v - 1/2) ulp and the number below (v + 1/2) ulp. Both are e^(-e^(-x)), which is never a tie.
"""

from decimal import Context, Decimal
from functools import cache
from itertools import pairwise

import numpy as np

from unmask.numerics.exponential import DIGITS, decided
from unmask.numerics.precision import Precision

DRAWS = 1 << 53


@cache
def noise_thresholds(precision: Precision) -> tuple[int, np.ndarray]:
    """(v0, thresholds): r draws v0 + #{ i : thresholds[i] <= r }."""
    context = Context(prec=DIGITS)
    below: list[int] = []
    first = -precision.bound
    for v in range(-precision.bound, precision.bound):
        # how many r have u < F(v + 1/2 ulp), with F(x) = e^(-e^(-x)) the Gumbel distribution function
        x = context.divide(Decimal(2 * v + 1), 2 * precision.one)
        if x < -5:  # F(-5) = e^(-148) < 2^-54, the smallest u
            first = v + 1
            continue
        u = context.exp(-context.exp(-x))
        # r + 1/2 < u·2^53 holds for exactly nearest(u·2^53) values of r
        count = decided(context.multiply(u, DRAWS))
        if count == DRAWS:
            break
        below.append(count)
    thresholds = np.array(below, dtype=np.int64)
    thresholds.setflags(write=False)
    return first, thresholds


def gumbel_noise(raw: np.ndarray, precision: Precision) -> np.ndarray:
    """The noise of 64-bit random words."""
    first, thresholds = noise_thresholds(precision)
    r = (raw >> np.uint64(11)).astype(np.int64)
    return first + np.searchsorted(thresholds, r, side="right")


def noise_counts(precision: Precision) -> dict[int, int]:
    """How many of the 2^53 draws give each value: the exact law of the noise."""
    first, thresholds = noise_thresholds(precision)
    edges = [0, *thresholds.tolist(), DRAWS]
    counts = {first + i: high - low for i, (low, high) in enumerate(pairwise(edges))}
    return {value: count for value, count in counts.items() if count}
