"""The addressed noise tape: which random bits a run of seed s uses, for every step, row and symbol.

    raw   = Philox(key = [s, 2·step + w]).random_raw(…),  w = 0 for a planner, 1 for any other transformer
    entry = row·V + symbol                                 V = 2 for a planner, else the size of the vocabulary

Two frameworks that read the same addresses take the same path.
"""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.noise import gumbel_noise
from unmask.numerics.precision import Precision

PLANNER, OTHER = 0, 1
_PER_BLOCK = 4  # 64-bit words that Philox makes per count of its counter


@dataclass(frozen=True)
class Tape:
    """The tape of one seed."""

    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"a seed is an integer from 0 to 2^64 - 1, not {self.seed}")

    def raw(self, step: int, stream: int, first: int, count: int) -> np.ndarray:
        """The 64-bit words number first … first + count - 1 of a stream."""
        generator = np.random.Philox(key=np.array([self.seed, 2 * step + stream], dtype=np.uint64))
        generator.advance(first // _PER_BLOCK)
        skipped = first % _PER_BLOCK
        return generator.random_raw(skipped + count)[skipped:]

    def noise(self, step: int, stream: int, rows: tuple[int, int], symbols: int, precision: Precision) -> np.ndarray:
        """Gumbel noise for the rows [first, last), [rows, symbols]."""
        first, last = rows
        raw = self.raw(step, stream, first * symbols, (last - first) * symbols)
        return gumbel_noise(raw, precision).reshape(last - first, symbols)
