"""Prepared: the weights of a transformer in the form in which the fast engine multiplies them, made once."""

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines.sparse_product import SparseProduct
from unmask.numerics.compact import Compact
from unmask.weights.matrix import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

AT_ONCE = 1 << 20


class Projection:
    """The columns of Wq or Wk: equal columns are computed once. Column j of the product is row place[j]."""

    def __init__(self, matrix: Matrix, compact: Compact) -> None:
        order = np.lexsort((matrix.row, matrix.column))
        row, column, value = matrix.row[order], matrix.column[order], matrix.value[order]
        starts = np.searchsorted(column, np.arange(matrix.shape[1] + 1))
        numbers: dict[bytes, int] = {}
        first = []
        self.place = np.zeros(matrix.shape[1], dtype=np.int64)
        for j in range(matrix.shape[1]):
            part = slice(starts[j], starts[j + 1])
            key = row[part].tobytes() + value[part].tobytes()
            if key not in numbers:
                numbers[key] = len(first)
                first.append(j)
            self.place[j] = numbers[key]
        distinct = np.isin(column, first)
        product = SparseProduct(
            Matrix.from_entries(
                (matrix.shape[0], len(first)), row[distinct], self.place[column[distinct]], value[distinct]
            ),
            compact,
            every=True,
        )
        self._product = product
        moved = np.empty(len(first), dtype=np.int64)
        moved[product.columns] = np.arange(len(first))
        self.place = moved[self.place]

    @property
    def size(self) -> int:
        return self._product.size

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self._product(x)


class PreparedHead:
    """Queries, keys, and the columns of the residual stream that the head writes."""

    def __init__(self, head: Head, compact: Compact) -> None:
        self.query, self.key = Projection(head.wq, compact), Projection(head.wk, compact)
        self.value = SparseProduct(head.wv, compact)
        self.width = head.wq.shape[1]


class PreparedMlp:
    """G ↦ G + ReLU(ReLU(G·W1 + b1)·W2 + b2), in place."""

    def __init__(self, mlp: Mlp, compact: Compact, at_once: int) -> None:
        self._compact, self._at_once = compact, at_once
        self._first = SparseProduct(mlp.w1, compact, every=True)
        place = np.empty(self._first.size, dtype=np.int64)
        place[self._first.columns] = np.arange(self._first.size)
        self._second = SparseProduct(mlp.w2, compact, place=place)
        self._bias = mlp.b1.astype(compact.narrow)[self._first.columns][:, None]
        self._offset = mlp.b2.astype(compact.narrow)[self._second.columns][:, None]
        rest = np.flatnonzero(mlp.b2 > 0)
        self._constant = np.setdiff1d(rest, self._second.columns)
        self._constants = mlp.b2.astype(compact.narrow)[self._constant][:, None]

    @property
    def nothing(self) -> bool:
        return not self._second.size and not self._constant.size

    def __call__(self, G: np.ndarray) -> None:
        step = max(32, self._at_once // max(1, len(G), self._first.size))
        for start in range(0, G.shape[1], step):
            self._apply(G[:, start : start + step])

    def _apply(self, G: np.ndarray) -> None:
        compact = self._compact
        if self._second.size:
            hidden = self._first(G)
            hidden += self._bias
            compact.clip(hidden)
            np.maximum(hidden, 0, out=hidden)
            change = self._second(hidden)
            change += self._offset
            compact.clip(change)
            np.maximum(change, 0, out=change)
            G[self._second.columns] = compact.add(G[self._second.columns], change)
        if self._constant.size:
            G[self._constant] = compact.add(G[self._constant], self._constants)


class PreparedLayer:
    """Heads and MLP; `columns` are those that some head writes, in order, and `targets` where each head's are."""

    def __init__(self, layer: Layer, compact: Compact, at_once: int) -> None:
        self.heads = [PreparedHead(head, compact) for head in layer.heads]
        written = [head.value.columns for head in self.heads]
        self.columns = np.unique(np.concatenate(written)) if written else np.zeros(0, dtype=np.int64)
        self.targets = [np.searchsorted(self.columns, columns) for columns in written]
        self.mlp = PreparedMlp(layer.mlp, compact, at_once)


class Prepared:
    """A transformer's weights. It keeps no reference to the transformer, which may then be forgotten."""

    def __init__(self, transformer: Transformer) -> None:
        self.compact = Compact(transformer.precision)
        self.width = transformer.width
        self.causal = transformer.attention == "causal"
        self._positions, self._embed, self._out = transformer.positions, transformer.embed, transformer.out
        self.embedded = np.unique(transformer.embed.column)  # the columns that the embedding writes
        self.layers = [PreparedLayer(layer, self.compact, AT_ONCE) for layer in transformer.layers]
        # after the attention of the last layer that has a head, no row reads another; -1 if there is none
        self.last_head = max((i for i, layer in enumerate(self.layers) if layer.heads), default=-1)

    @cached_property
    def positions(self) -> np.ndarray:
        """[width, rows]"""
        return np.ascontiguousarray(self._positions.T.astype(self.compact.narrow))

    @cached_property
    def symbols(self) -> np.ndarray:
        """[columns that the embedding writes, symbols]"""
        embed = self._embed
        table = np.zeros((self.embedded.size, embed.shape[0]), dtype=self.compact.narrow)
        table[np.searchsorted(self.embedded, embed.column), embed.row] = embed.value
        return table

    @cached_property
    def out(self) -> SparseProduct:
        return SparseProduct(self._out.transposed(), self.compact)

    @property
    def outputs(self) -> int:
        return self._out.shape[0]

    @property
    def capacity(self) -> int:
        """The most rows of one word."""
        return len(self._positions)


_PREPARED: WeakKeyDictionary[Transformer, Prepared] = WeakKeyDictionary()


def prepared(transformer: Transformer) -> Prepared:
    """The prepared weights, shared by all sessions of a transformer."""
    if transformer not in _PREPARED:
        _PREPARED[transformer] = Prepared(transformer)
    return _PREPARED[transformer]
