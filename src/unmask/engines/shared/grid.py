"""Grid: the rows of all words of a batch in one line, with room for words that grow.

What is computed for rows is stored column by column, [columns, rows]: one operation then runs over all rows.
"""

from dataclasses import dataclass

import numpy as np

Span = np.ndarray | slice
"""Some rows: sorted numbers, or a slice where they are one run."""

FEW = 256


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
        if self.batch == 1:
            return np.arange(first, last)
        return (np.arange(self.batch)[:, None] * self.capacity + np.arange(first, last)).ravel()

    def exists(self, x: np.ndarray) -> np.ndarray:
        """x at the rows there are, [..., rows]."""
        if self.length == self.capacity:
            return x
        if self.batch == 1:
            return x[..., : self.length]
        existing = x.reshape(*x.shape[:-1], self.batch, self.capacity)[..., : self.length]
        return existing.reshape(*x.shape[:-1], self.batch * self.length)

    def word(self, rows: np.ndarray) -> np.ndarray:
        return rows // self.capacity

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """[columns, rows] → [word, position, column], a view."""
        return np.moveaxis(x.reshape(len(x), self.batch, self.capacity)[..., : self.length], 0, -1)


def span(rows: np.ndarray) -> Span:
    """Sorted rows as a slice, if they are one run."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def count(where: Span) -> int:
    return where.stop - where.start if isinstance(where, slice) else where.size


def gather(x: np.ndarray, columns: np.ndarray, where: Span) -> np.ndarray:
    """A copy of x at some columns and rows."""
    if isinstance(where, slice):
        return x[:, where][columns]
    if where.size <= FEW:
        return x[columns[:, None], where]
    result = np.empty((columns.size, where.size), dtype=x.dtype)
    for i, column in enumerate(columns.tolist()):
        result[i] = x[column].take(where)
    return result


def put(x: np.ndarray, columns: np.ndarray, where: Span, values: np.ndarray) -> None:
    """x at some columns and rows = values."""
    if isinstance(where, slice):
        x[columns, where] = values
    elif where.size <= FEW:
        x[columns[:, None], where] = values
    else:
        for i, column in enumerate(columns.tolist()):
            x[column][where] = values[i]
