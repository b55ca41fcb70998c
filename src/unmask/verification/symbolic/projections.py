"""Projections: queries and keys of all heads of a layer by one product, in which equal columns are computed once."""

from collections.abc import Sequence

import numpy as np

from unmask.engines.prepared_weights import Projection, telling
from unmask.engines.visible_keys import Places
from unmask.numerics.compact import Compact
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head


class Projections:
    """[Wq | Wk | Wq' | Wk' | …] of some heads; `places[h]` says where Q and K of head h hold each column of a score."""

    def __init__(self, heads: Sequence[Head], compact: Compact, width: int) -> None:
        parts = [matrix for head in map(telling, heads) for matrix in (head.wq, head.wk)]
        self._product = Projection(_beside(parts, width), compact, np.arange(width))
        self._rows: list[np.ndarray] = []
        local, first = [], 0
        for matrix in parts:
            place = self._product.place[first : first + matrix.shape[1]]
            rows, where = np.unique(place, return_inverse=True)
            self._rows.append(rows)
            local.append(where)
            first += matrix.shape[1]
        self.places: list[Places] = list(zip(local[::2], local[1::2], strict=True))

    def __call__(self, vectors: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(Q, K) of every head, [columns, cases]."""
        product = self._product(vectors, slice(0, vectors.shape[1]))
        parts = [product[rows] for rows in self._rows]
        return list(zip(parts[::2], parts[1::2], strict=True))


def _beside(parts: Sequence[Matrix], height: int) -> Matrix:
    """Matrices of one height, one beside the other."""
    if not parts:
        return Matrix.zeros((height, 0))
    ends = np.cumsum([matrix.shape[1] for matrix in parts]).tolist()
    columns = [matrix.column + end - matrix.shape[1] for matrix, end in zip(parts, ends, strict=True)]
    row, column, value = (
        np.concatenate(entries) for entries in ([m.row for m in parts], columns, [m.value for m in parts])
    )
    return Matrix.from_entries((height, ends[-1]), row, column, value)
