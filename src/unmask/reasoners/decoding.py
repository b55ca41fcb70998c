"""Logits → symbols.

    decode = argmax over the logits, the lowest index wins a tie
    sample = argmax over clip(logits + noise): Gumbel-max, with the noise of a tape

The paper adds the noise to a symbol that stands for probabilities; in F_p the softmax is no distribution and
has ties that the logits do not have, so both work on logits (def:gumbel-max-sampling, def:decoding-step).
"""

from fractions import Fraction
from itertools import accumulate

import numpy as np
from jaxtyping import Int

from unmask.numerics.arithmetic import add, clip
from unmask.numerics.noise import DRAWS, noise_counts
from unmask.numerics.precision import Precision


def decode(
    logits: Int[np.ndarray, "*rows outputs"],
    precision: Precision,
    *,
    noise: np.ndarray | None = None,
    without: int | None = None,
) -> np.ndarray:
    """The symbol of every row; `without` is left out of the argmax (the mask of a masked diffusion model)."""
    scores = logits if noise is None else add(logits, noise, precision)
    if without is not None:
        scores = scores.copy()
        scores[..., without] = -precision.bound - 1
    return np.argmax(scores, axis=-1)


def confidence(logits: Int[np.ndarray, "*rows outputs"], precision: Precision, *, without: int | None) -> np.ndarray:
    """The largest logit of every row, `without` left out."""
    logits = logits if without is None else np.delete(logits, without, axis=-1)
    return logits.max(axis=-1, initial=-precision.bound).astype(np.int64)


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
    law = []
    for c, mass in enumerate(masses):
        chance = 0
        for i, count in enumerate(mass):
            for j in range(len(logits)):
                if j != c:
                    count *= below[j][i] if j < c else below[j][i + 1]
            chance += count
        law.append(Fraction(chance, DRAWS ** len(logits)))
    return law
