"""The exact law of Gumbel-max over F_p: which symbol quantised noise on the logits draws, and how often."""

from fractions import Fraction
from itertools import accumulate
from operator import mul

from unmask.numerics.arithmetic import clip
from unmask.numerics.noise import DRAWS, noise_counts
from unmask.numerics.precision import Precision


def gumbel_law(logits: list[int], precision: Precision) -> list[Fraction]:
    """The exact probability that Gumbel-max draws each symbol, over all 2^53 draws of the quantised tape.

    P(c) = Σ_v P(clip(l_c + noise) = v) · Π_{j<c} P(clip(l_j + noise) < v) · Π_{j>c} P(clip(l_j + noise) <= v)
    """
    values = list(precision.numbers())
    masses = []
    for logit in logits:
        mass = dict.fromkeys(values, 0)
        for noise, count in noise_counts(precision).items():
            mass[int(clip(logit + noise, precision))] += count
        masses.append([mass[v] for v in values])
    below = [[0, *accumulate(mass)] for mass in masses]  # below[c][i]: draws with a score under values[i]
    chances = [0] * len(logits)
    for i in range(len(values)):
        if not any(mass[i] for mass in masses):
            continue
        lower = [*accumulate((draws[i] for draws in below), mul, initial=1)]  # of all symbols before c
        upper = [*accumulate((draws[i + 1] for draws in reversed(below)), mul, initial=1)]  # of all after it
        for c, mass in enumerate(masses):
            chances[c] += mass[i] * lower[c] * upper[len(logits) - 1 - c]
    return [Fraction(chance, DRAWS ** len(logits)) for chance in chances]
