"""Matrix: an immutable integer matrix that stores only its nonzero entries."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unmask.errors import WeightsError
from unmask.limits import check

SCANNED_AT_ONCE = 1 << 22  # cells of a dense array that are scanned at a time


@dataclass(frozen=True, eq=False)
class Matrix:
    """Entries (row, column, value), sorted by row, then column, without zeros or duplicates."""

    shape: tuple[int, int]
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.row, self.column, self.value):
            array.setflags(write=False)

    @classmethod
    def of(cls, array: np.ndarray) -> "Matrix":
        """Return the matrix of a dense two-dimensional array."""
        array = np.asarray(array)
        if array.ndim != 2:
            raise WeightsError(f"a matrix must have two axes, but this array has the shape {list(array.shape)}")
        height, width = array.shape
        if array.size <= SCANNED_AT_ONCE:
            row, column = np.nonzero(array)
            return cls._sorted((height, width), row, column, array[row, column])
        rows = max(1, SCANNED_AT_ONCE // width)
        chunks = [_entries(array[i : i + rows], i) for i in range(0, height, rows)]
        return cls((height, width), *(np.concatenate(list(of_all)) for of_all in zip(*chunks, strict=True)))

    @classmethod
    def from_entries(cls, shape: tuple[int, int], row, column, value) -> "Matrix":
        """Return the matrix with these entries, in any order; duplicates and indices out of range are errors."""
        row, column, value = (np.asarray(a, dtype=np.int64) for a in (row, column, value))
        if not row.shape == column.shape == value.shape or row.ndim != 1:
            raise WeightsError("the rows, columns and values of a sparse tensor must be lists of one length")
        for name, index, size in (("row", row, shape[0]), ("column", column, shape[1])):
            outside = np.flatnonzero((index < 0) | (index >= size))
            if outside.size:
                k = int(outside[0])
                raise WeightsError(f"entry {k} of a sparse tensor has {name} {index[k]}, outside 0 … {size - 1}")
        order = np.lexsort((column, row))
        row, column, value = row[order], column[order], value[order]
        twice = np.flatnonzero((np.diff(row) == 0) & (np.diff(column) == 0))
        if twice.size:
            k = int(twice[0])
            raise WeightsError(f"a sparse tensor names row {row[k]}, column {column[k]} twice")
        nonzero = value != 0
        return cls._sorted(shape, row[nonzero], column[nonzero], value[nonzero])

    @classmethod
    def zeros(cls, shape: tuple[int, int]) -> "Matrix":
        nothing = np.zeros(0, dtype=np.int64)
        return cls._sorted(shape, nothing, nothing, nothing)

    @classmethod
    def _sorted(cls, shape, row, column, value) -> "Matrix":
        return cls(shape, row.astype(np.int32), column.astype(np.int32), value.astype(np.int32))

    @property
    def nonzeros(self) -> int:
        return self.value.size

    @cached_property
    def starts(self) -> np.ndarray:
        """The start of each row's entries: row k has the entries starts[k] … starts[k+1] - 1."""
        return np.searchsorted(self.row, np.arange(self.shape[0] + 1))

    def rows(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (k, columns, values) for every row that is not zero, in order of k."""
        for k in np.unique(self.row):
            entries = slice(self.starts[k], self.starts[k + 1])
            yield int(k), self.column[entries], self.value[entries].astype(np.int64)

    def transposed(self) -> "Matrix":
        order = np.lexsort((self.row, self.column))
        return Matrix((self.shape[1], self.shape[0]), self.column[order], self.row[order], self.value[order])

    def dense(self) -> np.ndarray:
        array = np.zeros(self.shape, dtype=np.int64)
        array[self.row, self.column] = self.value
        return array

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows as a dense array: an embedding lookup."""
        distinct, inverse = np.unique(rows, return_inverse=True)
        table = np.zeros((distinct.size, self.shape[1]), dtype=np.int64)
        for i, k in enumerate(distinct):
            entries = slice(self.starts[k], self.starts[k + 1])
            table[i, self.column[entries]] = self.value[entries]
        return table[inverse.reshape(np.shape(rows))]

    def largest(self) -> int:
        """Return the largest magnitude."""
        return int(np.abs(self.value).max(initial=0))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Matrix)
            and self.shape == other.shape
            and np.array_equal(self.row, other.row)
            and np.array_equal(self.column, other.column)
            and np.array_equal(self.value, other.value)
        )

    __hash__ = None  # type: ignore[assignment]


def _entries(rows: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (row, column, value) of the nonzero entries of some rows of an array, numbered from `first` on."""
    check()
    row, column = np.nonzero(rows)
    return (row + first).astype(np.int32), column.astype(np.int32), rows[row, column].astype(np.int32)


# PositionTable: a large table of positions [S, D] without the columns that are 0 in every row.
#
# A code or a counter takes a few columns; in a wide model most of the table is 0. A small table is a plain array; a
# PositionTable has the same methods.


MOST_DENSE_CELLS = 1 << 24  # the largest number of cells for a plain array


@dataclass(frozen=True, eq=False)
class PositionTable:
    """table[i, j] is the entry of row i in column columns[j]; all other columns, of `width`, are 0."""

    width: int
    columns: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, array: "Positions") -> "PositionTable":
        """Return the table with the columns of an array that are not 0 everywhere."""
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
        """Return some rows, with all columns."""
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
        """Return for each column, or each row, whether it has an entry other than 0."""
        return np.asarray(self.table.any(axis=1)) if axis else np.isin(np.arange(self.width), self.columns)

    def min(self) -> int:
        return min(int(self.table.min()), 0 if self.columns.size < self.width else int(self.table.max()))

    def max(self) -> int:
        return max(int(self.table.max()), 0 if self.columns.size < self.width else int(self.table.min()))

    def setflags(self, *, write: bool) -> None:
        self.table.setflags(write=write)


Positions = np.ndarray | PositionTable


def as_positions(width: int, columns: np.ndarray, table: np.ndarray) -> Positions:
    """Return the table in the form that suits its size; `columns` are those that may not be 0."""
    sparse = PositionTable(width, columns, table)
    return sparse[:] if sparse.size <= MOST_DENSE_CELLS else sparse
