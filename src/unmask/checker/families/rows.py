"""One row: what it computes from itself and from what its heads fetched, by the sums of F_p as they are defined.

Rows are vectors over the columns of the family; those of codes are 0, and nothing reads or writes them here.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.checker.families import form
from unmask.checker.families.instance import is_code
from unmask.checker.tables import numbered
from unmask.errors import WeightsError
from unmask.numerics.arithmetic import add, relu, weighted
from unmask.numerics.precision import Precision
from unmask.weights.matrix import Matrix

CELLS = 1 << 22
MOST_CELLS = 1 << 35

Brought = tuple[np.ndarray, np.ndarray]
"""(columns that a head writes, values [case, column])."""


class Rows:
    """The weights of a program, but for queries and keys."""

    def __init__(self, program: form.Program, symbols: int, precision: Precision) -> None:
        self._p, self.program, self.width = precision, program, len(program.columns)
        width = self.width
        self._embed = _matrix((symbols, width), program.embed, precision).dense().astype(np.int64)
        self.out = _matrix((program.outputs, width), program.out, precision).transposed()
        self.values = [
            [_matrix((width, width), head.value, precision) for head in layer.heads] for layer in program.layers
        ]
        self.mlps = [_Mlp(layer.mlp, width, precision) for layer in program.layers]
        self.flags = [c for c, column in enumerate(program.columns) if column is not None and not is_code(column)]
        codes = [c for c, column in enumerate(program.columns) if is_code(column)]
        self.written = np.unique(np.concatenate([np.flatnonzero(self._embed.any(axis=0)), *self._written()]))
        for head in (head for layer in program.layers for head in layer.heads):
            for entries in (head.query, head.key):
                _matrix((width, head.size), entries, precision)
        touched = np.concatenate(
            [self.written, self.out.row, *(v.row for vs in self.values for v in vs), *self._read()]
        )
        need(not np.isin(codes, touched).any(), "a code is read or written outside a comparison")

    def _written(self) -> Iterable[np.ndarray]:
        yield from (value.column for values in self.values for value in values)
        yield from (mlp.written for mlp in self.mlps)

    def _read(self) -> Iterable[np.ndarray]:
        return (mlp.w1.row for mlp in self.mlps)

    def live(self) -> np.ndarray:
        """The columns that a row itself can make a difference by, after the heads of the first layer."""
        return np.unique(np.concatenate([self.out.row, *self._read()]))

    def single_pass(self, heads: int) -> None:
        counts = [len(values) for values in self.values]
        need(counts[:1] == [heads] and not any(counts[1:]), f"there are not {heads} heads, all in the first layer")

    def start(self, tokens: Sequence[int], flags: Sequence[Sequence[int]]) -> np.ndarray:
        """[tokens, flags, columns]: what rows with these tokens and flags hold at first."""
        given = np.zeros((len(flags), self.width), dtype=np.int64)
        given[:, self.flags] = self._p.one * np.array(flags, dtype=np.int64).reshape(len(flags), len(self.flags))
        return add(self._embed[np.asarray(tokens)][:, None], given, self._p)

    def brought(self, layer: int, head: int, rows: np.ndarray) -> Brought:
        """What a head brings from the one row that it reads."""
        matrix = self.values[layer][head]
        columns = np.unique(matrix.column).astype(np.int64)
        return columns, weighted(rows, matrix.rows(), self.width, self._p)[..., columns]

    def heads(self, own: np.ndarray, brought: Sequence[Brought]) -> np.ndarray:
        """Heads summed in order, then the row itself."""
        total = np.zeros_like(own)
        for columns, values in brought:
            total[:, columns] = add(total[:, columns], values, self._p)
        return add(total, own, self._p)

    def mlp(self, layer: int, rows: np.ndarray) -> np.ndarray:
        return add(rows, self.mlps[layer](rows), self._p)

    def logits(self, own: np.ndarray, brought: Sequence[Brought]) -> np.ndarray:
        """[cases, outputs] of rows whose heads all stand in the first layer; rows that look the same are one."""
        state, which = self.heads(own, brought), np.arange(len(own))
        for layer in range(len(self.mlps)):
            read = np.unique(np.concatenate([self.out.row, *(mlp.w1.row for mlp in self.mlps[layer:])]))
            first, inverse = numbered(state[:, read])
            state, which = self.mlp(layer, state[first]), inverse[which]
        return self.read_out(state)[which]

    def read_out(self, state: np.ndarray) -> np.ndarray:
        return weighted(state, self.out.rows(), self.out.shape[1], self._p)

    def parts(self, cases: int) -> Iterable[slice]:
        """Slices of the cases that fit into memory."""
        cells = max([self.width, self.out.shape[1], *(mlp.size for mlp in self.mlps)])
        if cells * cases > MOST_CELLS:
            raise Refused(f"{cases:,} cases of {cells:,} numbers exceed the limit of the checker")
        step = max(16, CELLS // cells)
        return (slice(first, min(first + step, cases)) for first in range(0, cases, step))


class _Mlp:
    """ReLU(ReLU(x·W1 + b1)·W2 + b2)."""

    def __init__(self, claimed: form.Mlp, width: int, precision: Precision) -> None:
        self._p, self.size, self._width = precision, claimed.size, width
        self.w1 = _matrix((width, claimed.size), claimed.w1, precision)
        self.w2 = _matrix((claimed.size, width), claimed.w2, precision)
        self.b1 = _vector(claimed.size, claimed.b1, precision)
        self.b2 = _vector(width, claimed.b2, precision)

    @property
    def written(self) -> np.ndarray:
        return np.concatenate([self.w2.column, np.flatnonzero(self.b2)])

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        hidden = relu(add(weighted(rows, _used(self.w1, rows), self.size, self._p), self.b1, self._p))
        return relu(add(weighted(hidden, _used(self.w2, hidden), self._width, self._p), self.b2, self._p))


def _used(matrix: Matrix, factors: np.ndarray) -> Iterable[tuple[int, np.ndarray, np.ndarray]]:
    """The rows of a matrix that meet a factor other than 0: the others add nothing."""
    used = {*np.flatnonzero(factors.any(axis=0)).tolist()}
    return (row for row in matrix.rows() if row[0] in used)


def _matrix(shape: tuple[int, int], entries: Sequence[form.Entry], precision: Precision) -> Matrix:
    need(entries == sorted(entries), "the entries of a tensor are not in order")
    need(all(0 < abs(value) <= precision.bound for *_, value in entries), "an entry is 0, or no number of F_p")
    try:
        return Matrix.from_entries(shape, *(zip(*entries, strict=True) if entries else ((), (), ())))
    except WeightsError as error:
        raise Refused(f"a tensor is not valid: {error}") from None


def _vector(size: int, entries: Sequence[tuple[int, int]], precision: Precision) -> np.ndarray:
    column = _matrix((size, 1), [(k, 0, value) for k, value in entries], precision)
    return column.dense().reshape(-1).astype(np.int64)
