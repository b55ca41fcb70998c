"""Draws: random integers that are the same on every machine and in every version of NumPy."""

import numpy as np


class Draws:
    """A stream of random integers, addressed by a tuple of small integers."""

    def __init__(self, *address: int) -> None:
        key = 0
        for number in address:
            key = key * 1_000_003 + number + 1
        self._generator = np.random.Philox(key=np.array([key % (1 << 64), len(address)], dtype=np.uint64))

    def integer(self, low: int, high: int) -> int:
        """A random integer from low … high."""
        return low + int(self._generator.random_raw()) % (high - low + 1)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
        """An array of random integers from low … high."""
        raw = self._generator.random_raw(int(np.prod(shape))).reshape(shape)
        return low + (raw % np.uint64(high - low + 1)).astype(np.int64)

    def choice(self, options):
        return options[self.integer(0, len(options) - 1)]
