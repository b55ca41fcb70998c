"""The paper's statements about numbers of F_p, each checked in all cases of one precision.

A check returns its number of cases, or raises `LemmaFails` with the first case that fails.

| function                | label                               | statement                                          |
|-------------------------|-------------------------------------|----------------------------------------------------|
| `exp_saturates`         | lem:our-finite-precision-properties | x > (p+1)·ln 2 in F_p: exp(x) = B and exp(-x) = 0  |
| `exp_of_bound`          | lem:finite-precision-properties     | exp(B) = B and exp(-B) = 0                         |
| `interleaved_codes`     | lem:pos-enc-properties              | ⟨B·interleave(a, 1), interleave(b, -1)⟩ = 0 or -B  |
| `scaled_codes`          | lem:our-pos-enc-properties          | the same with [B/m]: exactly max(-B, -2[B/m]·h)    |

Deviation. For `scaled_codes` the paper bounds the score of a mismatch by -2B/m. That is false whenever [B/m] rounds
down: with m = 2, one differing bit scores -(B - 2^-p), not -B. The exact score is max(-B, -2[B/m]·h), where h is the
number of differing bits. `scaled_codes(..., printed=True)` checks the bound as printed, and fails.
"""

from itertools import product as cartesian

import numpy as np

from unmask.numerics.arithmetic import Precision, divide, exp, exp_table, multiply, total

# LN2_BELOW < ln 2 · LN2_SCALE < LN2_ABOVE; these are enough digits for every p <= 8
LN2_BELOW, LN2_ABOVE, LN2_SCALE = 693147180559, 693147180560, 10**12


class LemmaFails(AssertionError):
    """A case in which a statement about F_p is false."""


def exp_saturates(precision: Precision) -> int:
    """Check x > (p+1)·ln 2  ⟹  exp(x) = B and exp(-x) = 0."""
    cases = 0
    for x in precision.numbers():
        threshold = (precision.p + 1) * precision.one
        if x * LN2_SCALE <= threshold * LN2_ABOVE:
            _require(x * LN2_SCALE < threshold * LN2_BELOW, f"x = {x} is too close to (p+1)·ln 2 to compare")
            continue
        _require(exp_table(precision)[precision.bound + x] == precision.bound, f"exp({x}) is not B")
        _require(exp_table(precision)[precision.bound - x] == 0, f"exp({-x}) is not 0")
        cases += 1
    return cases


def exp_of_bound(precision: Precision) -> int:
    """Check exp(B) = B and exp(-B) = 0."""
    high, low = exp(np.array([precision.bound, -precision.bound]), precision)
    _require(high == precision.bound and low == 0, f"exp(B), exp(-B) = {high}, {low}")
    return 2


def sharp_thresholds(precision: Precision) -> tuple[int, int]:
    """Return (the least x with exp(x) = B, the largest x with exp(x) = 0)."""
    table = exp_table(precision)
    saturated = int(np.flatnonzero(table == precision.bound)[0]) - precision.bound
    vanished = int(np.flatnonzero(table == 0)[-1]) - precision.bound
    return saturated, vanished


def interleaved_codes(precision: Precision, bits: int) -> int:
    """Check that ⟨B·interleave(a, 1), interleave(b, -1)⟩ is exactly 0 if a = b and -B otherwise; its exp is 1 or 0."""
    at_zero, at_lowest = exp(np.array([0, -precision.bound]), precision)
    _require(at_zero == precision.one and at_lowest == 0, f"exp(0), exp(-B) = {at_zero}, {at_lowest}")
    return scaled_codes(precision, bits, 1)


def scaled_codes(precision: Precision, bits: int, m: int, *, printed: bool = False) -> int:
    """Check ⟨[B/m]·interleave(a, 1), interleave(b, -1)⟩ = max(-B, -2[B/m]·h(a, b)) for signed codes a, b.

    With `printed`, check the bound of the paper instead: 0 if a = b, at most -2B/m otherwise (clipped to -B).
    """
    codes = list(cartesian((-precision.one, precision.one), repeat=bits))
    scale = int(divide(precision.bound, m * precision.one, precision))
    for a in codes:
        for b in codes:
            score = interleaved_score(a, b, scale, precision)
            differing = sum(x != y for x, y in zip(a, b, strict=True))
            if printed:
                fits = score == 0 if not differing else score * m <= max(-2 * precision.bound, -precision.bound * m)
            else:
                fits = score == max(-precision.bound, -2 * scale * differing)
            _require(fits, f"codes {a} and {b} score {score} with m = {m}")
    return len(codes) ** 2


def interleaved_score(a, b, scale: int, precision: Precision) -> int:
    """Return SUM over i of [scale·a_i · b_i] and [scale·1 · -1], in this order."""
    terms = []
    for x, y in zip(a, b, strict=True):
        terms += [
            multiply(multiply(scale, x, precision), y, precision),
            multiply(scale, -precision.one, precision),
        ]
    return int(total(np.array(terms), precision))


def _require(holds, case: str) -> None:
    if not holds:
        raise LemmaFails(case)
