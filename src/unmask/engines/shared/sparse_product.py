"""SparseProduct: x × W for a sparse W, many rows at once, with every product rounded and every sum clipped.

Columns are sorted by how many entries they have, so that the r-th entries of all columns that have one fill a
prefix: one gather, one rounding (none for weights ±1) and one clipped addition per r. Columns with many entries
would take many such rounds; they are summed at once instead, in blocks padded with zero terms.
"""

import numpy as np

from unmask.engines.shared.grid import Span, count, gather
from unmask.numerics.compact import Compact
from unmask.weights.matrix import Matrix

HEAVY = 12
AT_ONCE = 1 << 21


class SparseProduct:
    """W, prepared. Row i of a result is column `columns[i]` of W; columns without entries are left out."""

    def __init__(
        self, matrix: Matrix, compact: Compact, *, every: bool = False, place: np.ndarray | None = None
    ) -> None:
        """`every` keeps columns without entries, as 0; `place[k]` is the row of x that stands for row k of W."""
        self._compact = compact
        fan_in = np.bincount(matrix.column, minlength=matrix.shape[1])
        by_fan_in = np.argsort(-fan_in, kind="stable")
        self.columns = by_fan_in if every else by_fan_in[: np.count_nonzero(fan_in)]
        order = np.lexsort((matrix.row, matrix.column))
        source = matrix.row[order].astype(np.int64)
        source = source if place is None else place[source]
        self.used = np.flatnonzero(np.bincount(source))
        self._source = source
        self._value = matrix.value[order].astype(compact.wide)
        self._start = np.concatenate([[0], np.cumsum(fan_in)])[by_fan_in]
        self._fan_in = fan_in[by_fan_in]
        self._heavy = int(np.count_nonzero(fan_in > HEAVY))
        self._blocks = [self._block(first, last) for first, last in _equal_runs(self._fan_in[: self._heavy])]
        light = self._fan_in[self._heavy :]
        self._rounds = [
            self._round(self._heavy, self._heavy + int(np.count_nonzero(light > r)), r)
            for r in range(int(light.max(initial=0)))
        ]

    @property
    def size(self) -> int:
        return self.columns.size

    def __call__(self, x: np.ndarray, where: Span) -> np.ndarray:
        """[columns, rows] in the narrow type, for some rows of x."""
        compact, rows = self._compact, count(where)
        local = not isinstance(where, slice)
        x = gather(x, self.used, where) if local else x[:, where]
        result = np.zeros((self.size, rows), dtype=compact.narrow)
        for first, last, entries in self._blocks:
            step = max(1, AT_ONCE // entries.size)
            for start in range(0, rows, step):
                part = slice(start, min(start + step, rows))
                terms = entries.terms(x[:, part], local).reshape(last - first, -1, part.stop - part.start)
                result[first:last, part] = compact.total(terms, 1)
        for r, (last, entries) in enumerate(self._rounds):
            sums, terms = result[self._heavy : last], entries.terms(x, local)
            if r:
                np.add(sums, terms, out=sums)
                compact.clip(sums)
            else:
                sums[:] = terms
        return result

    def _round(self, first: int, last: int, r: int) -> tuple[int, "_Entries"]:
        entry = self._start[first:last] + r
        return last, self._entries(entry, self._value[entry])

    def _block(self, first: int, last: int) -> tuple[int, int, "_Entries"]:
        """Columns with nearly as many entries each, padded with weight 0."""
        offset = np.arange(int(self._fan_in[first]))
        real = offset < self._fan_in[first:last, None]
        entry = np.where(real, self._start[first:last, None] + offset, 0).ravel()
        values = np.where(real.ravel(), self._value[entry], 0)
        return first, last, self._entries(entry, values)

    def _entries(self, entry: np.ndarray, values: np.ndarray) -> "_Entries":
        source = self._source[entry]
        return _Entries(source, np.searchsorted(self.used, source), values, self._compact)


class _Entries:
    """Entries (row of x, weight), one term each; `local` counts the rows of x that the product uses."""

    def __init__(self, source: np.ndarray, local: np.ndarray, value: np.ndarray, compact: Compact) -> None:
        self.size, self._compact, self._source, self._local = source.size, compact, source, local
        unit = np.abs(value) == compact.one
        self._sign = None if (value == compact.one).all() else (np.sign(value) * unit).astype(compact.narrow)[:, None]
        self._rounded = np.flatnonzero(~unit & (value != 0))
        self._value = value[self._rounded][:, None]
        self._all_rounded = self._rounded.size == self.size

    def terms(self, x: np.ndarray, local: bool) -> np.ndarray:
        """[entries, rows]: ±x where the weight is ±1, else the rounded product."""
        terms = x[self._local if local else self._source]
        if self._all_rounded:
            return self._compact.multiply(terms, self._value)
        if self._sign is None:
            return terms
        signed = terms * self._sign
        if self._rounded.size:
            signed[self._rounded] = self._compact.multiply(terms[self._rounded], self._value)
        return signed


def _equal_runs(descending: np.ndarray) -> list[tuple[int, int]]:
    """Runs [first, last) in which no number is under half of the first."""
    runs, first = [], 0
    while first < descending.size:
        last = first + int(np.count_nonzero(2 * descending[first:] >= descending[first]))
        runs.append((first, last))
        first = last
    return runs
