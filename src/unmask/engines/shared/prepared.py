"""Prepared: the weights of a transformer in the form in which the fast engine multiplies them, made once.

All that is computed for a row stands in one store of columns: what H⁰ may hold, one column that stays 0 for all that it
cannot, and for each layer only the columns that it writes, once after its heads and once after its MLP. `place` says
where in the store a column of the residual stream stands at some point of the pass; a column that a layer does not
write stays where it was.
"""

from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines.shared.grid import Span
from unmask.engines.shared.sparse_product import SparseProduct
from unmask.numerics.compact import Compact
from unmask.weights.matrix import Matrix
from unmask.weights.positions import PositionTable
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

AT_ONCE = 1 << 14  # rows that are turned at a time


class Projection:
    """The columns of Wq or Wk: equal columns are computed once. Column j of the product is row place[j]."""

    def __init__(self, matrix: Matrix, compact: Compact, place: np.ndarray) -> None:
        columns = matrix.transposed()
        starts = columns.starts.tolist()
        numbers: dict[bytes, int] = {}
        number, first = [], []
        for start, end in pairwise(starts):
            key = columns.column[start:end].tobytes() + columns.value[start:end].tobytes()
            first.append(key not in numbers)
            number.append(numbers.setdefault(key, len(numbers)))
        distinct = _columns(matrix, np.array(first, dtype=bool))
        self._product = SparseProduct(distinct, compact, every=True, place=place)
        self.used = self._product.used
        moved = np.empty(len(numbers), dtype=np.int64)
        moved[self._product.columns] = np.arange(len(numbers))
        self.place = moved[np.array(number, dtype=np.int64)]

    @property
    def size(self) -> int:
        return self._product.size

    def __call__(self, x: np.ndarray, where: Span) -> np.ndarray:
        return self._product(x, where)


class PreparedHead:
    """Queries, keys, values; `value.columns` are the columns of the residual stream that the head writes.

    A column that is 0 in Wq or in Wk adds 0 to every score, and is left out.
    """

    def __init__(self, head: Head, compact: Compact, place: np.ndarray) -> None:
        head = telling(head)
        self.query, self.key = Projection(head.wq, compact, place), Projection(head.wk, compact, place)
        self.value = SparseProduct(head.wv, compact, place=place)


def telling(head: Head) -> Head:
    """The head without the columns of a score that are always 0: those that Wq or Wk does not write."""
    kept = _written(head.wq) & _written(head.wk)
    if kept.all():
        return head
    return Head(_columns(head.wq, kept), _columns(head.wk, kept), head.wv)


def _written(matrix: Matrix) -> np.ndarray:
    """Which columns are not 0, as a mask."""
    written = np.zeros(matrix.shape[1], dtype=bool)
    written[matrix.column] = True
    return written


def _columns(matrix: Matrix, kept: np.ndarray) -> Matrix:
    """Only the columns of a mask, numbered anew."""
    there = kept[matrix.column]
    column = (np.cumsum(kept) - 1)[matrix.column[there]]
    shape = matrix.shape[0], int(np.count_nonzero(kept))
    return Matrix(shape, matrix.row[there], column.astype(np.int32), matrix.value[there])  # sorted as they were


class PreparedMlp:
    """ReLU(ReLU(G·W1 + b1)·W2 + b2) in the columns where it may not be 0."""

    def __init__(self, mlp: Mlp, compact: Compact, place: np.ndarray) -> None:
        self._compact = compact
        self._first = SparseProduct(mlp.w1, compact, every=True, place=place)
        moved = np.empty(self._first.size, dtype=np.int64)
        moved[self._first.columns] = np.arange(self._first.size)
        self._second = SparseProduct(mlp.w2, compact, place=moved)
        constant = mlp.b2 > 0
        constant[self._second.columns] = False
        self.columns = np.concatenate([self._second.columns, np.flatnonzero(constant)])
        self._bias = mlp.b1.astype(compact.narrow)[self._first.columns][:, None]
        self._offset = mlp.b2.astype(compact.narrow)[self.columns][:, None]
        self.size = max(self._first.size, self.columns.size)

    def __call__(self, x: np.ndarray, where: Span) -> np.ndarray:
        """[columns, rows]"""
        compact = self._compact
        hidden = self._first(x, where)
        hidden += self._bias
        compact.positive(hidden)
        change = np.zeros((self.columns.size, hidden.shape[1]), dtype=compact.narrow)
        change[: self._second.size] = self._second(hidden, slice(0, hidden.shape[1]))
        change += self._offset
        return compact.positive(change)


class PreparedLayer:
    """Heads and MLP, and where in the store they read and write.

    heads_columns   the columns that some head writes; `targets[i]` are those of head i among them
    before, after   where these columns stand before the heads and after them
    mlp_before, …   the same for the columns that the MLP writes
    """

    def __init__(self, layer: Layer, compact: Compact, place: np.ndarray, free: int) -> None:
        self.heads = [PreparedHead(head, compact, place) for head in layer.heads]
        written = [head.value.columns for head in self.heads]
        columns = np.unique(np.concatenate(written)) if written else np.zeros(0, dtype=np.int64)
        self.targets = [np.searchsorted(columns, some) for some in written]
        self.before, self.after, place, free = _moved(place, columns, free)
        self.mlp = PreparedMlp(layer.mlp, compact, place)
        self.mlp_before, self.mlp_after, self.place, self.free = _moved(place, self.mlp.columns, free)


def _moved(place: np.ndarray, columns: np.ndarray, free: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(where the columns stand, where they will stand, all places then, the next free place)."""
    after = np.arange(free, free + columns.size)
    moved = place.copy()
    moved[columns] = after
    return place[columns], after, moved, free + columns.size


class Prepared:
    """A transformer's weights. It keeps no reference to the transformer, which may then be forgotten."""

    def __init__(self, transformer: Transformer, *, every: bool = False) -> None:
        """With `every`, each column of H⁰ has a place of its own: a residual stream from outside may hold anything."""
        self.compact = Compact(transformer.precision)
        self.width = transformer.width
        self.causal = transformer.attention == "causal"
        self.outputs = transformer.out.shape[0]
        self.capacity = len(transformer.positions)
        self._positions, self._embed, self._out = transformer.positions, transformer.embed, transformer.out
        self.layers: list[PreparedLayer] = []
        embedded, placed = np.unique(transformer.embed.column), PositionTable.of(transformer.positions).columns
        # the columns that H⁰ may hold; store column i is `given[i]`, and the one after them is 0
        self.given = np.arange(self.width) if every else np.union1d(embedded, placed).astype(np.int64)
        self.embedded = np.searchsorted(self.given, embedded)
        first = np.full(self.width, self.given.size)
        first[self.given] = np.arange(self.given.size)
        self.places = [first]  # before layer 0, before layer 1, …, after the last
        self.columns = self.given.size + 1
        for layer in transformer.layers:
            self.layers.append(PreparedLayer(layer, self.compact, self.places[-1], self.columns))
            self.places.append(self.layers[-1].place)
            self.columns = self.layers[-1].free
        # after the attention of the last layer that has a head, no row reads another; -1 if there is none
        self.last_head = max((i for i, layer in enumerate(self.layers) if layer.heads), default=-1)

    @cached_property
    def positions(self) -> np.ndarray:
        """[given columns, rows]"""
        placed = PositionTable.of(self._positions)
        table = np.zeros((self.given.size, self.capacity), dtype=self.compact.narrow)
        columns = np.searchsorted(self.given, placed.columns)
        for first in range(0, self.capacity, AT_ONCE):
            part = slice(first, first + AT_ONCE)
            table[columns, part] = placed.table[part].T
        return table

    @cached_property
    def symbols(self) -> np.ndarray:
        """[columns that the embedding writes, symbols]"""
        table = np.zeros((self.embedded.size, self._embed.shape[0]), dtype=self.compact.narrow)
        table[np.searchsorted(self.given[self.embedded], self._embed.column), self._embed.row] = self._embed.value
        return table

    @cached_property
    def out(self) -> SparseProduct:
        """Of rows of the residual stream in the order of the store after the last layer."""
        return SparseProduct(self._out.transposed(), self.compact, place=self.places[-1])


_PREPARED: WeakKeyDictionary[Transformer, dict[bool, Prepared]] = WeakKeyDictionary()


def prepared(transformer: Transformer, *, every: bool = False) -> Prepared:
    """The prepared weights, shared by all sessions of a transformer."""
    forms = _PREPARED.setdefault(transformer, {})
    if every not in forms:
        forms[every] = Prepared(transformer, every=every)
    return forms[every]
