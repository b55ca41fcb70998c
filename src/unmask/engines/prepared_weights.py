"""Weights in the form in which the fast engine multiplies them: `RowGrid`, `SparseProduct`, `Prepared`.

A `RowGrid` numbers the rows of all words of a batch consecutively and reserves rows for words that grow.

Values of rows are stored column by column, [columns, rows]: one operation then runs over all rows.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from unmask.numerics.compact import Compact
from unmask.weights.matrices import Matrix, PositionTable
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

Span = np.ndarray | slice
"""A set of rows: sorted numbers, or a slice if they are consecutive."""

FEW_ROWS = 256
"""Up to this number of rows, `gather` and `scatter` index all columns at once: this is faster."""


@dataclass(frozen=True)
class RowGrid:
    """Row `position` of word `w` is number w·capacity + position; only positions below `length` exist yet."""

    batch: int
    capacity: int
    length: int

    @property
    def size(self) -> int:
        return self.batch * self.capacity

    @property
    def rows(self) -> np.ndarray:
        """All existing rows, in order."""
        return self.rows_between(0, self.length)

    def rows_between(self, first: int, last: int) -> np.ndarray:
        """The rows at positions [first, last) of every word."""
        if self.batch == 1:
            return np.arange(first, last)
        return (np.arange(self.batch)[:, None] * self.capacity + np.arange(first, last)).ravel()

    def existing(self, x: np.ndarray) -> np.ndarray:
        """Return x at the existing rows, [..., rows]."""
        if self.length == self.capacity:
            return x
        if self.batch == 1:
            return x[..., : self.length]
        present = x.reshape(*x.shape[:-1], self.batch, self.capacity)[..., : self.length]
        return present.reshape(*x.shape[:-1], self.batch * self.length)

    def word(self, rows: np.ndarray) -> np.ndarray:
        return rows // self.capacity

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """[columns, rows] → [word, position, column], a view."""
        return np.moveaxis(x.reshape(len(x), self.batch, self.capacity)[..., : self.length], 0, -1)


def as_slice(rows: np.ndarray) -> Span:
    """Return sorted rows as a slice if they are consecutive, else as they are."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def count_rows(where: Span) -> int:
    """Return the number of rows of a span."""
    return where.stop - where.start if isinstance(where, slice) else where.size


def gather(x: np.ndarray, columns: np.ndarray, where: Span) -> np.ndarray:
    """Return a copy of x at some columns and rows."""
    if isinstance(where, slice):
        return x[:, where][columns]
    if where.size <= FEW_ROWS:
        return x[columns[:, None], where]
    result = np.empty((columns.size, where.size), dtype=x.dtype)
    for i, column in enumerate(columns.tolist()):
        result[i] = x[column].take(where)
    return result


def scatter(x: np.ndarray, columns: np.ndarray, where: Span, values: np.ndarray) -> None:
    """Set x at some columns and rows to the values."""
    if isinstance(where, slice):
        x[columns, where] = values
    elif where.size <= FEW_ROWS:
        x[columns[:, None], where] = values
    else:
        for i, column in enumerate(columns.tolist()):
            x[column][where] = values[i]


# SparseProduct: x × W for a sparse W, many rows at once, with every product rounded and every sum clipped.
#
# Columns are sorted by their number of entries, so that the columns with an r-th entry form a prefix. Each r takes one
# gather, one rounding (none for weights ±1) and one clipped addition. Columns with many entries would take many such
# rounds; they are summed together instead, in blocks padded with zero terms.


HEAVY_FAN_IN = 12  # columns with more entries are summed in blocks
TERMS_AT_ONCE = 1 << 21


class SparseProduct:
    """W, prepared. Row i of a result is column `columns[i]` of W; columns without entries are left out."""

    def __init__(
        self,
        matrix: Matrix,
        compact: Compact,
        *,
        every: bool | np.ndarray = False,
        input_rows: np.ndarray | None = None,
    ) -> None:
        """Row k of W is multiplied with row input_rows[k] of x, or with row k.

        `every` keeps columns without entries, as 0: all of them, or those of a mask.
        """
        self._compact = compact
        fan_in = np.bincount(matrix.column, minlength=matrix.shape[1])
        by_fan_in = np.argsort(-fan_in, kind="stable")
        self.columns = by_fan_in[((fan_in > 0) | every)[by_fan_in]]
        order = np.lexsort((matrix.row, matrix.column))
        source = matrix.row[order].astype(np.int64)
        source = source if input_rows is None else input_rows[source]
        self.used = np.flatnonzero(np.bincount(source))
        self._source = source
        self._value = matrix.value[order].astype(compact.wide)
        self._start = np.concatenate([[0], np.cumsum(fan_in)])[by_fan_in]
        self._fan_in = fan_in[by_fan_in]
        self._heavy = int(np.count_nonzero(fan_in > HEAVY_FAN_IN))
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
        compact, rows = self._compact, count_rows(where)
        local = not isinstance(where, slice)
        x = gather(x, self.used, where) if local else x[:, where]
        result = np.zeros((self.size, rows), dtype=compact.narrow)
        for first, last, entries in self._blocks:
            step = max(1, TERMS_AT_ONCE // entries.size)
            for start in range(0, rows, step):
                chunk = slice(start, min(start + step, rows))
                terms = entries.terms(x[:, chunk], local).reshape(last - first, -1, chunk.stop - chunk.start)
                result[first:last, chunk] = compact.total(terms, 1)
        for r, (last, entries) in enumerate(self._rounds):
            sums, terms = result[self._heavy : last], entries.terms(x, local)
            if r:
                np.add(sums, terms, out=sums)
                compact.clip(sums)
            else:
                sums[:] = terms
        return result

    def _round(self, first: int, last: int, r: int) -> tuple[int, "_ProductEntries"]:
        entry = self._start[first:last] + r
        return last, self._entries(entry, self._value[entry])

    def _block(self, first: int, last: int) -> tuple[int, int, "_ProductEntries"]:
        """A block of columns with similar numbers of entries, padded with weight 0."""
        offset = np.arange(int(self._fan_in[first]))
        real = offset < self._fan_in[first:last, None]
        entry = np.where(real, self._start[first:last, None] + offset, 0).ravel()
        values = np.where(real.ravel(), self._value[entry], 0)
        return first, last, self._entries(entry, values)

    def _entries(self, entry: np.ndarray, values: np.ndarray) -> "_ProductEntries":
        source = self._source[entry]
        return _ProductEntries(source, np.searchsorted(self.used, source), values, self._compact)


class _ProductEntries:
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
    """Runs [first, last) in which no number is less than half of the first."""
    runs, first = [], 0
    while first < descending.size:
        last = first + int(np.count_nonzero(2 * descending[first:] >= descending[first]))
        runs.append((first, last))
        first = last
    return runs


# Prepared: the weights of a transformer in the form in which the fast engine multiplies them, computed once.
#
# All values of a row are in one store of columns: the columns of H⁰ that may not be 0, one column of 0 for all other
# columns of H⁰, and for each layer only the columns that it writes, once after its heads and once after its MLP.
# `store_columns` has, at some point of the pass, the column of the store for each column of the residual stream. It is
# the same before and after a layer for a column that the layer does not write.


POSITIONS_AT_ONCE = 1 << 14  # rows that are transposed at a time


class Projection:
    """The columns of Wq or Wk: equal columns are computed once. Column j of the product is row score_rows[j]."""

    def __init__(self, matrix: Matrix, compact: Compact, input_rows: np.ndarray) -> None:
        columns = matrix.transposed()
        starts = columns.starts.tolist()
        numbers: dict[bytes, int] = {}
        number, first = [], []
        for start, end in pairwise(starts):
            key = columns.column[start:end].tobytes() + columns.value[start:end].tobytes()
            first.append(key not in numbers)
            number.append(numbers.setdefault(key, len(numbers)))
        distinct = _select_columns(matrix, np.array(first, dtype=bool))
        self._product = SparseProduct(distinct, compact, every=True, input_rows=input_rows)
        self.used = self._product.used
        row_of_column = np.empty(len(numbers), dtype=np.int64)
        row_of_column[self._product.columns] = np.arange(len(numbers))
        self.score_rows = row_of_column[np.array(number, dtype=np.int64)]

    @property
    def size(self) -> int:
        return self._product.size

    def __call__(self, x: np.ndarray, where: Span) -> np.ndarray:
        return self._product(x, where)


class PreparedHead:
    """Queries, keys, values; `value.columns` are the columns of the residual stream that the head writes.

    A column that is 0 in Wq or in Wk adds 0 to every score, and is left out.
    """

    def __init__(self, head: Head, compact: Compact, input_rows: np.ndarray) -> None:
        head = without_zero_scores(head)
        self.query, self.key = Projection(head.wq, compact, input_rows), Projection(head.wk, compact, input_rows)
        self.value = SparseProduct(head.wv, compact, input_rows=input_rows)


def without_zero_scores(head: Head) -> Head:
    """Return the head without the columns of a score that are always 0, because Wq or Wk does not write them."""
    nonzero = _written(head.wq) & _written(head.wk)
    if nonzero.all():
        return head
    return Head(_select_columns(head.wq, nonzero), _select_columns(head.wk, nonzero), head.wv)


def _written(matrix: Matrix) -> np.ndarray:
    """Return a mask of the columns that are not 0."""
    written = np.zeros(matrix.shape[1], dtype=bool)
    written[matrix.column] = True
    return written


def _select_columns(matrix: Matrix, mask: np.ndarray) -> Matrix:
    """Return the matrix with only the columns of a mask, renumbered."""
    selected = mask[matrix.column]
    column = (np.cumsum(mask) - 1)[matrix.column[selected]]
    shape = matrix.shape[0], int(np.count_nonzero(mask))
    return Matrix(
        shape, matrix.row[selected], column.astype(np.int32), matrix.value[selected]
    )  # the order does not change


class PreparedMlp:
    """ReLU(ReLU(G·W1 + b1)·W2 + b2) in the columns where it may not be 0."""

    def __init__(self, mlp: Mlp, compact: Compact, input_rows: np.ndarray) -> None:
        self._compact = compact
        self.w1 = SparseProduct(mlp.w1, compact, every=True, input_rows=input_rows)
        unit_rows = np.empty(self.w1.size, dtype=np.int64)
        unit_rows[self.w1.columns] = np.arange(self.w1.size)
        self.w2 = SparseProduct(mlp.w2, compact, every=mlp.b2 > 0, input_rows=unit_rows)
        self.columns = self.w2.columns
        self.b1 = mlp.b1.astype(compact.narrow)[self.w1.columns][:, None]
        self.b2 = mlp.b2.astype(compact.narrow)[self.columns][:, None]
        self.size = max(self.w1.size, self.w2.size)

    def __call__(self, x: np.ndarray, where: Span) -> np.ndarray:
        """Return the change of the residual stream in `columns`, [columns, rows]."""
        compact = self._compact
        hidden = self.w1(x, where)
        hidden += self.b1
        compact.positive(hidden)
        change = self.w2(hidden, slice(0, hidden.shape[1]))
        change += self.b2
        return compact.positive(change)


class PreparedLayer:
    """Heads and MLP, and where in the store they read and write.

    heads_columns   the columns that some head writes; `targets[i]` are those of head i among them
    before, after   the store columns of these columns before the heads and after them
    mlp_before, …   the same for the columns that the MLP writes
    """

    def __init__(self, layer: Layer, compact: Compact, store_columns: np.ndarray, free: int) -> None:
        self.heads = [PreparedHead(head, compact, store_columns) for head in layer.heads]
        written = [head.value.columns for head in self.heads]
        columns = np.unique(np.concatenate(written)) if written else np.zeros(0, dtype=np.int64)
        self.targets = [np.searchsorted(columns, targets) for targets in written]
        self.before, self.after, store_columns, free = _move_columns(store_columns, columns, free)
        self.mlp = PreparedMlp(layer.mlp, compact, store_columns)
        self.mlp_before, self.mlp_after, self.store_columns, self.free = _move_columns(
            store_columns, self.mlp.columns, free
        )


def _move_columns(
    store_columns: np.ndarray, columns: np.ndarray, free: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return (old store columns of `columns`, their new ones, all store columns afterwards, the next free one)."""
    after = np.arange(free, free + columns.size)
    moved = store_columns.copy()
    moved[columns] = after
    return store_columns[columns], after, moved, free + columns.size


class Prepared:
    """A transformer's weights. It keeps no reference to the transformer, so that the transformer can be freed."""

    def __init__(self, transformer: Transformer, *, every: bool = False) -> None:
        """With `every`, each column of H⁰ is stored, because an outside residual stream may have any values."""
        self.compact = Compact(transformer.precision)
        self.width = transformer.width
        self.causal = transformer.attention == "causal"
        self.outputs = transformer.out.shape[0]
        self.capacity = len(transformer.positions)
        self._positions, self._embed, self._out = transformer.positions, transformer.embed, transformer.out
        self.layers: list[PreparedLayer] = []
        embedded, positioned = np.unique(transformer.embed.column), PositionTable.of(transformer.positions).columns
        # the columns of H⁰ that may not be 0; store column i is `initial_columns[i]`, and the column after them is 0
        self.initial_columns = np.arange(self.width) if every else np.union1d(embedded, positioned).astype(np.int64)
        self.embedded = np.searchsorted(self.initial_columns, embedded)
        first = np.full(self.width, self.initial_columns.size)
        first[self.initial_columns] = np.arange(self.initial_columns.size)
        self.store_columns = [first]  # before layer 0, before layer 1, …, after the last
        self.columns = self.initial_columns.size + 1
        for layer in transformer.layers:
            self.layers.append(PreparedLayer(layer, self.compact, self.store_columns[-1], self.columns))
            self.store_columns.append(self.layers[-1].store_columns)
            self.columns = self.layers[-1].free
        # after the attention of the last layer that has a head, no row reads another; -1 without heads
        self.last_head = max((i for i, layer in enumerate(self.layers) if layer.heads), default=-1)

    @cached_property
    def positions(self) -> np.ndarray:
        """The table of positions at the initial columns, [initial columns, rows]."""
        positions = PositionTable.of(self._positions)
        table = np.zeros((self.initial_columns.size, self.capacity), dtype=self.compact.narrow)
        columns = np.searchsorted(self.initial_columns, positions.columns)
        for first in range(0, self.capacity, POSITIONS_AT_ONCE):
            chunk = slice(first, first + POSITIONS_AT_ONCE)
            table[columns, chunk] = positions.table[chunk].T
        return table

    @cached_property
    def symbols(self) -> np.ndarray:
        """The embedding of every symbol, [columns that the embedding writes, symbols]."""
        table = np.zeros((self.embedded.size, self._embed.shape[0]), dtype=self.compact.narrow)
        table[np.searchsorted(self.initial_columns[self.embedded], self._embed.column), self._embed.row] = (
            self._embed.value
        )
        return table

    @cached_property
    def out(self) -> SparseProduct:
        """The product that computes logits from the store after the last layer."""
        return SparseProduct(self._out.transposed(), self.compact, input_rows=self.store_columns[-1])


_PREPARED: WeakKeyDictionary[Transformer, dict[bool, Prepared]] = WeakKeyDictionary()


def prepared(transformer: Transformer, *, every: bool = False) -> Prepared:
    """Return the prepared weights, which all sessions of a transformer share."""
    forms = _PREPARED.setdefault(transformer, {})
    if every not in forms:
        forms[every] = Prepared(transformer, every=every)
    return forms[every]
