"""PositionTable: a large table of positions [S, D] without the columns that are 0 in every row.

A code or a counter takes a few columns of many; in a wide model most of the table is nothing. Where the table is small,
a Transformer holds a plain array; a PositionTable answers the same questions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

SMALL = 1 << 24  # cells, up to which a plain array is held


@dataclass(frozen=True, eq=False)
class PositionTable:
    """table[i, j] is the entry of row i in column columns[j]; all other columns, of `width`, are 0."""

    width: int
    columns: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, array: "Positions") -> "PositionTable":
        """The columns of an array that are not 0 everywhere."""
        if isinstance(array, PositionTable):
            return array
        columns = np.flatnonzero(array.any(axis=0))
        return cls(array.shape[1], columns, np.ascontiguousarray(array[:, columns]))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.table), self.width

    @property
    def dtype(self) -> np.dtype:
        return self.table.dtype

    @property
    def size(self) -> int:
        return len(self.table) * self.width

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Some rows, whole."""
        some = self.table[rows]
        result = np.zeros((*some.shape[:-1], self.width), dtype=self.table.dtype)
        result[..., self.columns] = some
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)

    def astype(self, dtype: Any) -> np.ndarray:
        return self[:].astype(dtype)

    def copy(self) -> np.ndarray:
        return self[:]

    def tolist(self) -> list[list[int]]:
        return self[:].tolist()

    def any(self, axis: int) -> np.ndarray:
        """Per column, or per row, is it not 0 somewhere?"""
        return np.asarray(self.table.any(axis=1)) if axis else np.isin(np.arange(self.width), self.columns)

    def min(self) -> int:
        return min(int(self.table.min()), 0 if self.columns.size < self.width else int(self.table.max()))

    def max(self) -> int:
        return max(int(self.table.max()), 0 if self.columns.size < self.width else int(self.table.min()))

    def setflags(self, *, write: bool) -> None:
        self.table.setflags(write=write)


Positions = np.ndarray | PositionTable


def held(width: int, columns: np.ndarray, table: np.ndarray) -> Positions:
    """The table in the form that suits its size; `columns` are those that may not be 0."""
    sparse = PositionTable(width, columns, table)
    return sparse[:] if sparse.size <= SMALL else sparse
