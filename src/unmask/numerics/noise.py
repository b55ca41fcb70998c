"""Gumbel noise in F_p, from 53 random bits, without floats.

    u = (r + 1/2) / 2^53  for r = 0 … 2^53 - 1,        noise(r) = [ -ln(-ln u) ]

The noise grows with r, so a table of thresholds determines it. F(x) = e^(-e^(-x)) is the distribution function: value v
is drawn if u lies between F((v - 1/2) ulp) and F((v + 1/2) ulp). Neither bound is ever a tie.
"""

from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from operator import mul

import numpy as np

from unmask.numerics.arithmetic import DIGITS, Precision, certain_nearest, clip

DRAWS = 1 << 53


@cache
def noise_thresholds(precision: Precision) -> tuple[int, np.ndarray]:
    """Return (v0, thresholds): the noise of r is v0 + #{ i : thresholds[i] <= r }."""
    context = Context(prec=DIGITS)
    below: list[int] = []
    first = -precision.bound
    for v in range(-precision.bound, precision.bound):
        # the number of r with u < F(v + 1/2 ulp), where F(x) = e^(-e^(-x)) is the Gumbel distribution function
        x = context.divide(Decimal(2 * v + 1), 2 * precision.one)
        if x < -5:  # F(-5) = e^(-148) < 2^-54, the smallest u
            first = v + 1
            continue
        u = context.exp(-context.exp(-x))
        # r + 1/2 < u·2^53 holds for exactly nearest(u·2^53) values of r
        count = certain_nearest(context.multiply(u, DRAWS))
        if count == DRAWS:
            break
        below.append(count)
    thresholds = np.array(below, dtype=np.int64)
    thresholds.setflags(write=False)
    return first, thresholds


def gumbel_noise(raw: np.ndarray, precision: Precision) -> np.ndarray:
    """Return the noise for random words of 64 bits."""
    first, thresholds = noise_thresholds(precision)
    r = (raw >> np.uint64(11)).astype(np.int64)
    return first + np.searchsorted(thresholds, r, side="right")


def noise_counts(precision: Precision) -> dict[int, int]:
    """Return the exact law of the noise: for each value, the number of the 2^53 draws that give it."""
    first, thresholds = noise_thresholds(precision)
    edges = [0, *thresholds.tolist(), DRAWS]
    counts = {first + i: high - low for i, (low, high) in enumerate(pairwise(edges))}
    return {value: count for value, count in counts.items() if count}


def gumbel_law(logits: list[int], precision: Precision) -> list[Fraction]:
    """Return the exact probability that Gumbel-max draws each symbol, with noise in F_p on the logits.

    P(c) = Σ_v P(clip(l_c + noise) = v) · Π_{j<c} P(clip(l_j + noise) < v) · Π_{j>c} P(clip(l_j + noise) <= v)
    """
    values = list(precision.numbers())
    masses = []
    for logit in logits:
        mass = dict.fromkeys(values, 0)
        for noise, count in noise_counts(precision).items():
            mass[int(clip(logit + noise, precision))] += count
        masses.append([mass[v] for v in values])
    below = [[0, *accumulate(mass)] for mass in masses]  # below[c][i]: number of draws with a score below values[i]
    chances = [0] * len(logits)
    for i in range(len(values)):
        if not any(mass[i] for mass in masses):
            continue
        lower = [*accumulate((draws[i] for draws in below), mul, initial=1)]  # of all symbols before c
        upper = [*accumulate((draws[i + 1] for draws in reversed(below)), mul, initial=1)]  # of all after it
        for c, mass in enumerate(masses):
            chances[c] += mass[i] * lower[c] * upper[len(logits) - 1 - c]
    return [Fraction(chance, DRAWS ** len(logits)) for chance in chances]
