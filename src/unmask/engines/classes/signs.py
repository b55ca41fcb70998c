"""A join by signs, where 0 goes with anything: each query with the keys that are opposite to it in no sign."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmask.engines.shared.code_index import CodeIndex

MOST_BITS = 62
MOST_MASKS = 128


def spread(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """start[0], start[0] + 1, …, count[0] numbers; then those of start[1]; and so on."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum())) + np.repeat(start - before, count)


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows by their signs: a bit of `code` is [sign is +], the same of `mask` [sign is not 0]; the word is above."""

    code: np.ndarray
    mask: np.ndarray
    word: np.ndarray
    bits: int

    @classmethod
    def of(cls, signs: np.ndarray, word: np.ndarray) -> "Coded":
        """From the rows that hold the signs, [signs, rows]."""
        code, mask = (_number(x) for x in (signs > 0, signs != 0))
        return cls(code, mask, word.astype(np.int64) << len(signs), len(signs))

    def within(self, mask: int, which: np.ndarray) -> np.ndarray:
        return (self.code[which] & mask) + self.word[which]


@dataclass(frozen=True, eq=False)
class Candidates:
    """For every query some runs of `keys`: query which[i] has keys[start[i] : start[i] + count[i]]."""

    which: np.ndarray
    start: np.ndarray
    count: np.ndarray
    keys: np.ndarray

    @property
    def size(self) -> int:
        return int(self.count.sum())

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(query, key) of every candidate."""
        return np.repeat(self.which, self.count), self.keys[spread(self.start, self.count)]


class SignIndex:
    """Keys by their signs, ready to be asked; what was asked for is kept."""

    def __init__(self, keys: Coded, batch: int) -> None:
        self._keys, self._space = keys, batch << keys.bits
        self._masks = np.unique(keys.mask)
        self._indices: dict[int, list[tuple[int, CodeIndex]]] = {}

    def candidates(self, queries: Coded) -> Candidates | None:
        """All pairs of one word that are opposite in no sign; None if the zeros stand in too many ways."""
        asked = np.unique(queries.mask)
        if asked.size * self._masks.size > MOST_MASKS:
            return None
        found = []
        for own in asked.tolist():
            which = np.flatnonzero(queries.mask == own)
            for mask, index in self._asked(own):
                found.append((which, *index.find(queries.within(mask, which)), index.rows))
        offset = np.cumsum([0, *(rows.size for *_, rows in found)])
        return Candidates(
            _all(which for which, *_ in found),
            _all(start + shift for (_, start, _, _), shift in zip(found, offset, strict=False)),
            _all(count for _, _, count, _ in found),
            _all(rows for *_, rows in found),
        )

    def _asked(self, own: int) -> list[tuple[int, CodeIndex]]:
        """For queries with these signs: the keys, by the signs that both have."""
        if own not in self._indices:
            common = self._keys.mask & own
            self._indices[own] = parts = []
            for mask in np.unique(self._masks & own).tolist():
                keys = np.flatnonzero(common == mask)
                parts.append((mask, CodeIndex(self._keys.within(mask, keys), keys, self._space)))
        return self._indices[own]


def _number(bits: np.ndarray) -> np.ndarray:
    """[bits, rows] of booleans → a number for each row; at most 62 bits."""
    number = np.zeros(bits.shape[1], dtype=np.uint64)
    for byte in np.packbits(bits, axis=0):
        number <<= np.uint64(8)
        number |= byte
    return (number >> np.uint64(-len(bits) % 8)).astype(np.int64)


def _all(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
