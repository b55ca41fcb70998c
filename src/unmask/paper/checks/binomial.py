"""How far out a count lies under a binomial law."""

from fractions import Fraction
from math import comb

UNLIKELY = Fraction(1, 10**6)


def tail(runs: int, hits: int, chance: Fraction) -> Fraction:
    """The smaller of the two chances to be as far out, or farther."""
    scale = chance.limit_denominator(10**4)  # close enough for a bound of 1e-6, and its powers stay small
    low = sum(comb(runs, k) * scale**k * (1 - scale) ** (runs - k) for k in range(hits + 1))
    exactly = comb(runs, hits) * scale**hits * (1 - scale) ** (runs - hits)
    return Fraction(min(low, 1 - low + exactly))
