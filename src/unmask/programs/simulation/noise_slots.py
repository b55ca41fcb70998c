"""Slots that draw noise: logits whose Gumbel-max is close to the quantised Gumbel law.

    logit(0) = 0,   logit(v) = min([ln P(noise = v) - ln P(noise = 0)], 0) - 2^-p,   so that without a tape 0 is drawn

What holds: a slot with these logits draws anew in every step, independently of the input and of all other slots. Its
law, which `gumbel_law` computes exactly, is not that of the noise: logits of F_p are rounded, scores tie and clip. The
distance in total variation, which `noise_distance` computes, is below 0.296, 0.0991, 0.0234, 0.0117 for p = 1, 2, 3, 4.
Changing the logits one by one lowers it to
no less than 0.05 for p = 2 and 0.015 for p = 3; logits that give the noise exactly are not known.
"""

from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np

from unmask.numerics.arithmetic import clip
from unmask.numerics.exponential import DIGITS
from unmask.numerics.gumbel_law import gumbel_law
from unmask.numerics.noise import DRAWS, noise_counts
from unmask.numerics.precision import Precision


def noise_logits(precision: Precision) -> np.ndarray:
    """A logit for every number of F_p, in increasing order."""
    context = Context(prec=DIGITS)
    counts = noise_counts(precision)
    at_zero = context.ln(Decimal(counts[0]))
    logits = []
    for v in precision.numbers():
        if v not in counts:
            logits.append(-precision.bound)
            continue
        difference = context.subtract(context.ln(Decimal(counts[v])), at_zero)
        nearest = int(context.multiply(difference, precision.one).to_integral_value())
        logits.append(int(clip(min(nearest, 0) - 1, precision)))
    logits[precision.bound] = 0
    return np.array(logits)


@cache
def noise_distance(precision: Precision) -> Fraction:
    """The distance in total variation between what a noise slot draws and the noise, exactly.

    It takes a second for p = 3 and a minute for p = 4.
    """
    law, counts = gumbel_law(noise_logits(precision).tolist(), precision), noise_counts(precision)
    true = (Fraction(counts.get(v, 0), DRAWS) for v in precision.numbers())
    return sum((abs(drawn - right) for drawn, right in zip(law, true, strict=True)), Fraction(0)) / 2
