"""Logits → symbols.

    decode = argmax over the logits, the lowest index wins a tie
    sample = argmax over clip(logits + noise): Gumbel-max, with the noise of a tape

The paper adds the noise to a symbol for probabilities. In F_p the softmax is not a distribution and has ties
that the logits do not have, so both functions work on logits (def:gumbel-max-sampling, def:decoding-step).
"""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.arithmetic import Precision, add
from unmask.numerics.array_types import Int
from unmask.numerics.noise import gumbel_noise


def decode(
    logits: Int[np.ndarray, "*rows outputs"],
    precision: Precision,
    *,
    noise: np.ndarray | None = None,
    without: int | None = None,
) -> np.ndarray:
    """Return the symbol of every row. The argmax excludes `without` (the mask of a masked diffusion model)."""
    scores = logits if noise is None else add(logits, noise, precision)
    if without is not None:
        scores = scores.copy()
        scores[..., without] = -precision.bound - 1
    return np.argmax(scores, axis=-1)


def confidence(logits: Int[np.ndarray, "*rows outputs"], precision: Precision, *, without: int | None) -> np.ndarray:
    """Return the largest logit of every row, excluding `without`."""
    logits = logits if without is None else np.delete(logits, without, axis=-1)
    return logits.max(axis=-1, initial=-precision.bound).astype(np.int64)


# The addressed noise tape: the random bits that a run of seed s uses for every step, row and symbol.
#
#     raw   = Philox(key = [s, 2·step + w]).random_raw(…),  w = 0 for a planner, 1 for any other transformer
#     entry = row·V + symbol                                 V = 2 for a planner, else the size of the vocabulary
#
# Two frameworks that read the same addresses make the same choices.


PLANNER, OTHER = 0, 1
_PER_BLOCK = 4  # 64-bit words per value of Philox's counter


@dataclass(frozen=True)
class Tape:
    """The tape of one seed."""

    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"a seed is an integer from 0 to 2^64 - 1, not {self.seed}")

    def raw(self, step: int, stream: int, first: int, count: int) -> np.ndarray:
        """Return the 64-bit words first … first + count - 1 of a stream."""
        generator = np.random.Philox(key=np.array([self.seed, 2 * step + stream], dtype=np.uint64))
        generator.advance(first // _PER_BLOCK)
        skipped = first % _PER_BLOCK
        return generator.random_raw(skipped + count)[skipped:]

    def noise(self, step: int, stream: int, rows: tuple[int, int], symbols: int, precision: Precision) -> np.ndarray:
        """Return Gumbel noise for the rows [first, last), [rows, symbols]."""
        first, last = rows
        raw = self.raw(step, stream, first * symbols, (last - first) * symbols)
        return gumbel_noise(raw, precision).reshape(last - first, symbols)
