"""Bits and codes of queries and keys.

A column j of a head is a *bit* if |Q_j| = c in (nearly) every row and |K_j| = k in (nearly) every row. It then adds
+t or -t to the score, t = [ck], as the signs agree or differ; columns with the same query and key columns are one
bit. `visible_keys` finds out which bits decide; those are the *code* of a row. Rows in which a bit of the code is not
±c are *irregular*.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SAMPLED = 256
AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Range:
    """The least and the largest value of every row of an array."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> "Range":
        return cls(x.min(axis=1).astype(np.int64), x.max(axis=1).astype(np.int64))

    def holds(self, x: np.ndarray) -> bool:
        return self.covers(Range.of(x))

    def covers(self, other: "Range") -> bool:
        return bool((other.low >= self.low).all() and (other.high <= self.high).all())

    def union(self, other: "Range") -> "Range":
        return Range(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True, eq=False)
class BitColumns:
    """The bits of a head: per bit its query and key column, with their magnitudes; per column its bit, or -1."""

    query: np.ndarray
    key: np.ndarray
    query_size: np.ndarray
    key_size: np.ndarray
    of_column: np.ndarray


def find_bits(Q: np.ndarray, K: np.ndarray, places: tuple[np.ndarray, np.ndarray]) -> BitColumns:
    """The columns whose values are ±c in nearly every row; `places` are the rows of Q and K of each column."""
    sizes = [np.array([_usual_magnitude(x) for x in side], dtype=np.int64) for side in (Q, K)]
    numbers: dict[tuple[int, int], int] = {}
    of_column = np.full(places[0].size, -1)
    for j, pair in enumerate(zip(places[0].tolist(), places[1].tolist(), strict=True)):
        if sizes[0][pair[0]] and sizes[1][pair[1]]:
            of_column[j] = numbers.setdefault(pair, len(numbers))
    pairs = np.array(list(numbers), dtype=np.int64).reshape(-1, 2)
    return BitColumns(pairs[:, 0], pairs[:, 1], sizes[0][pairs[:, 0]], sizes[1][pairs[:, 1]], of_column)


def _usual_magnitude(x: np.ndarray) -> int:
    """c > 0 if nearly all values are ±c, else 0."""
    magnitude = np.abs(x)
    some = magnitude[:: max(1, x.size // SAMPLED)]
    usual = int(np.bincount(some.astype(np.int64)).argmax()) if x.size else 0
    return usual if np.count_nonzero(magnitude == usual) >= x.size - x.size // 8 else 0


@dataclass(frozen=True)
class Shift:
    """A run of columns whose products are the same for all pairs: s ↦ clip(s + by, low, high)."""

    by: int
    low: int
    high: int


Steps = list[Shift | int]
"""The columns of a score in order: a run of constants, or the number of a column to multiply out."""


@dataclass(frozen=True, eq=False)
class Code:
    """The bits that decide; the score of pairs of equal code, and of any pair."""

    bits: BitColumns
    deciding: np.ndarray
    equal: Steps
    any: Steps
    holds: Callable[[np.ndarray], np.ndarray] | None = None
    """For which queries the proof holds; None for all."""

    @property
    def constant(self) -> bool:
        """All pairs of equal code have one score."""
        return all(isinstance(step, Shift) for step in self.equal)

    def of_queries(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(code, regular) of every query: rows for which the proof does not hold are irregular as well."""
        code, regular = _codes(Q, self.bits.query[self.deciding], self.bits.query_size[self.deciding])
        return code, regular if self.holds is None else regular & self.holds(Q)

    def of_keys(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _codes(K, self.bits.key[self.deciding], self.bits.key_size[self.deciding])


def _codes(x: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(code, regular) of every column of x; a part of the columns at a time, which stays in the cache."""
    # without a sign: on the way a code of 57 bits or more fills all 64
    code, regular = np.zeros(x.shape[1], dtype=np.uint64), np.ones(x.shape[1], dtype=bool)
    for first in range(0, x.shape[1], AT_ONCE):
        part = slice(first, first + AT_ONCE)
        values = x[:, part][rows]
        regular[part] = (np.abs(values) == sizes[:, None]).all(axis=0)
        some = code[part]
        for byte in np.packbits(values > 0, axis=0):
            some <<= np.uint64(8)
            some |= byte
        some >>= np.uint64(-len(rows) % 8)
    return code.view(np.int64), regular
