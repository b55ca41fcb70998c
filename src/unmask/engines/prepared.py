"""Prepared: the weights of a transformer in the form in which the fast engine multiplies them, made once.

All that is computed for a row stands in one store of columns: H⁰, and for each layer only the columns that it
writes, once after its heads and once after its MLP. `place` says where in the store a column of the residual
stream stands at some point of the pass; a column that a layer does not write stays where it was.
"""

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines.grid import Span
from unmask.engines.sparse_product import SparseProduct
from unmask.numerics.compact import Compact
from unmask.weights.matrix import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer


class Projection:
    """The columns of Wq or Wk: equal columns are computed once. Column j of the product is row place[j]."""

    def __init__(self, matrix: Matrix, compact: Compact, place: np.ndarray) -> None:
        order = np.lexsort((matrix.row, matrix.column))
        row, column, value = matrix.row[order], matrix.column[order], matrix.value[order]
        starts = np.searchsorted(column, np.arange(matrix.shape[1] + 1))
        numbers: dict[bytes, int] = {}
        number = np.zeros(matrix.shape[1], dtype=np.int64)
        first = np.zeros(matrix.shape[1], dtype=bool)
        for j in range(matrix.shape[1]):
            part = slice(starts[j], starts[j + 1])
            key = row[part].tobytes() + value[part].tobytes()
            first[j] = key not in numbers
            number[j] = numbers.setdefault(key, len(numbers))
        kept = first[column]
        distinct = Matrix.from_entries((matrix.shape[0], len(numbers)), row[kept], number[column[kept]], value[kept])
        self._product = SparseProduct(distinct, compact, every=True, place=place)
        self.used = self._product.used
        moved = np.empty(len(numbers), dtype=np.int64)
        moved[self._product.columns] = np.arange(len(numbers))
        self.place = moved[number]

    @property
    def size(self) -> int:
        return self._product.size

    def __call__(self, x: np.ndarray, where: Span) -> np.ndarray:
        return self._product(x, where)


class PreparedHead:
    """Queries, keys, values; `value.columns` are the columns of the residual stream that the head writes."""

    def __init__(self, head: Head, compact: Compact, place: np.ndarray) -> None:
        self.query, self.key = Projection(head.wq, compact, place), Projection(head.wk, compact, place)
        self.value = SparseProduct(head.wv, compact, place=place)


class PreparedMlp:
    """ReLU(ReLU(G·W1 + b1)·W2 + b2) in the columns where it may not be 0."""

    def __init__(self, mlp: Mlp, compact: Compact, place: np.ndarray) -> None:
        self._compact = compact
        self._first = SparseProduct(mlp.w1, compact, every=True, place=place)
        moved = np.empty(self._first.size, dtype=np.int64)
        moved[self._first.columns] = np.arange(self._first.size)
        self._second = SparseProduct(mlp.w2, compact, place=moved)
        constant = np.setdiff1d(np.flatnonzero(mlp.b2 > 0), self._second.columns)
        self.columns = np.concatenate([self._second.columns, constant])
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

    def __init__(self, transformer: Transformer) -> None:
        self.compact = Compact(transformer.precision)
        self.width = transformer.width
        self.causal = transformer.attention == "causal"
        self.outputs = transformer.out.shape[0]
        self.capacity = len(transformer.positions)
        self._positions, self._embed, self._out = transformer.positions, transformer.embed, transformer.out
        self.layers: list[PreparedLayer] = []
        self.places = [np.arange(transformer.width)]  # before layer 0, before layer 1, …, after the last
        self.columns = transformer.width
        for layer in transformer.layers:
            self.layers.append(PreparedLayer(layer, self.compact, self.places[-1], self.columns))
            self.places.append(self.layers[-1].place)
            self.columns = self.layers[-1].free
        # after the attention of the last layer that has a head, no row reads another; -1 if there is none
        self.last_head = max((i for i, layer in enumerate(self.layers) if layer.heads), default=-1)

    @cached_property
    def positions(self) -> np.ndarray:
        """[width, rows]"""
        return np.ascontiguousarray(self._positions.T.astype(self.compact.narrow))

    @cached_property
    def embedded(self) -> np.ndarray:
        """The columns that the embedding writes."""
        return np.unique(self._embed.column).astype(np.int64)

    @cached_property
    def symbols(self) -> np.ndarray:
        """[columns that the embedding writes, symbols]"""
        table = np.zeros((self.embedded.size, self._embed.shape[0]), dtype=self.compact.narrow)
        table[np.searchsorted(self.embedded, self._embed.column), self._embed.row] = self._embed.value
        return table

    @cached_property
    def out(self) -> SparseProduct:
        """Of rows of the residual stream in the order of the store after the last layer."""
        return SparseProduct(self._out.transposed(), self.compact, place=self.places[-1])


_PREPARED: WeakKeyDictionary[Transformer, Prepared] = WeakKeyDictionary()


def prepared(transformer: Transformer) -> Prepared:
    """The prepared weights, shared by all sessions of a transformer."""
    if transformer not in _PREPARED:
        _PREPARED[transformer] = Prepared(transformer)
    return _PREPARED[transformer]
