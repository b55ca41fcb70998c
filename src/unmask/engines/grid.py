"""Grid: the rows of all words of a batch in one line, with room for words that grow."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Grid:
    """Row `position` of word `w` is number w·capacity + position; only positions below `length` exist yet."""

    batch: int
    capacity: int
    length: int

    @property
    def size(self) -> int:
        return self.batch * self.capacity

    @property
    def rows(self) -> np.ndarray:
        """All rows there are, in order."""
        return self.part(0, self.length)

    def part(self, first: int, last: int) -> np.ndarray:
        """The rows at positions [first, last) of every word."""
        return (np.arange(self.batch)[:, None] * self.capacity + np.arange(first, last)).ravel()

    def exists(self, x: np.ndarray) -> np.ndarray:
        """x at the rows there are, [..., rows]."""
        if self.length == self.capacity:
            return x
        if self.batch == 1:
            return x[..., : self.length]
        return x.reshape(*x.shape[:-1], self.batch, self.capacity)[..., : self.length].reshape(*x.shape[:-1], -1)

    def word(self, rows: np.ndarray) -> np.ndarray:
        return rows // self.capacity

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """[columns, rows] → [word, position, column], a view."""
        return np.moveaxis(x.reshape(-1, self.batch, self.capacity)[..., : self.length], 0, -1)


def columns_at(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """x[:, rows] for sorted rows, without a copy where they are one run."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size:
        return x[:, rows[0] : rows[-1] + 1]
    return np.take(x, rows, axis=1)


def put_columns(x: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """x[:, rows] = values for sorted rows."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size:
        x[:, rows[0] : rows[-1] + 1] = values
    else:
        x[:, rows] = values
