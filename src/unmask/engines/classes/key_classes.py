"""Keys that are alike: in all columns of a score from some column on, for queries that have forgotten those before."""

from functools import cached_property

import numpy as np

from unmask.engines.classes.opposites import Held
from unmask.engines.classes.signs import MOST_BITS, Candidates, Coded, SignIndex
from unmask.engines.shared.distinct import distinct
from unmask.engines.shared.grid import Grid

KEPT = 2


class KeyClasses:
    """All keys there are, by class, in order within each: class c is order[start[c]] … order[start[c + 1] - 1]."""

    def __init__(self, K: np.ndarray, remembered: np.ndarray, keys: np.ndarray, grid: Grid) -> None:
        """K is [columns, keys]; those of one word that agree in the `remembered` rows of K are of one class."""
        word = grid.word(keys)
        first, kind = distinct(word[None], K[remembered])
        order, self.start = by_kind(kind, first.size)
        self.order, self._word, self._grid = keys[order], word[first], grid
        self.K = K if first.size == keys.size else K[:, first]
        self._indices: dict[bytes, SignIndex] = {}

    @property
    def size(self) -> int:
        return self.K.shape[1]

    @cached_property
    def counts(self) -> np.ndarray:
        return np.diff(self.start)

    @cached_property
    def offset(self) -> np.ndarray:
        """How many of its class come before each key of `order`."""
        return np.arange(self.order.size) - np.repeat(self.start[:-1], self.counts)

    @cached_property
    def _rank(self) -> np.ndarray:
        """class·size + key of `order`, which rises."""
        return np.repeat(np.arange(self.size), self.counts) * self._grid.size + self.order

    def up_to(self, kind: np.ndarray, row: np.ndarray) -> np.ndarray:
        """How many keys of a class are not after a row."""
        return np.searchsorted(self._rank, kind * self._grid.size + row, side="right") - self.start[kind]

    def candidates(self, Q: np.ndarray, word: np.ndarray, signs: tuple[np.ndarray, np.ndarray]) -> Candidates:
        """Classes that are not opposite to a query in any sign: rows of Q and of K that hold them."""
        most = MOST_BITS - self._grid.batch.bit_length()
        query, key = (side[:most] for side in signs)
        candidates = self._index(key).candidates(Coded.of(Q[query], word))
        if candidates is None:  # only the signs that are 0 nowhere
            always = (Q[query] != 0).all(axis=1) & (self.K[key] != 0).all(axis=1)
            candidates = self._index(key[always]).candidates(Coded.of(Q[query[always]], word))
            assert candidates is not None
        return candidates

    def _index(self, signs: np.ndarray) -> SignIndex:
        name = signs.tobytes()
        if name not in self._indices:
            self._indices[name] = SignIndex(Coded.of(self.K[signs], self._word), self._grid.batch)
        return self._indices[name]


class Keys:
    """The keys of a head while none of them changes, [columns, keys], and the classes that were last asked for.

    K may be the head's own, so that it has to be forgotten when that is written to.
    """

    def __init__(self, K: np.ndarray, place: np.ndarray, grid: Grid) -> None:
        """`place` says which row of K a column of the score reads."""
        self.grid, self._place, self._rows = grid, place, grid.rows
        self._K = grid.exists(K)
        self._classes: dict[int, KeyClasses] = {}

    @cached_property
    def held(self) -> Held:
        return Held.of(self._K, self._place)

    def classes(self, column: int) -> KeyClasses:
        """Alike from this column on."""
        if column not in self._classes:
            if len(self._classes) == KEPT:
                del self._classes[next(iter(self._classes))]
            remembered = np.unique(self._place[column:])
            self._classes[column] = KeyClasses(self._K, remembered, self._rows, self.grid)
        return self._classes[column]


def by_kind(kind: np.ndarray, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """(order, start): kind k is that of order[start[k]] … order[start[k + 1] - 1], which rise."""
    return np.argsort(kind, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(kind, minlength=kinds))])
