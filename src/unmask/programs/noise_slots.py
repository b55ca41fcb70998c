"""Slots that draw noise: logits whose Gumbel-max is close to the quantised Gumbel law.

    logit(0) = 0,   logit(v) = min([ln P(noise = v) - ln P(noise = 0)], 0) - 2^-p,   so that without a tape 0 is drawn

What holds: a slot with these logits draws anew in every step, independently of the input and of all other slots. Its
law, which `gumbel_law` computes exactly, is not that of the noise: logits of F_p are rounded, scores tie and clip. The
distance in total variation is 0.30, 0.10, 0.024, 0.012 for p = 1, 2, 3, 4. Changing the logits one by one lowers it to
no less than 0.05 for p = 2 and 0.015 for p = 3; logits that give the noise exactly are not known.
"""

from decimal import Context, Decimal

import numpy as np

from unmask.numerics.arithmetic import clip
from unmask.numerics.exponential import DIGITS
from unmask.numerics.noise import noise_counts
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
