"""Logits → symbols.

    decode = argmax over the logits, the lowest index wins a tie
    sample = argmax over clip(logits + noise): Gumbel-max, with the noise of a tape

The paper adds the noise to a symbol that stands for probabilities; in F_p the softmax is no distribution and
has ties that the logits do not have, so both work on logits (def:gumbel-max-sampling, def:decoding-step).
"""

import numpy as np

from unmask.numerics.arithmetic import add
from unmask.numerics.array_types import Int
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
