"""Family × N → the entries of every tensor, and their comparison with a model.

    entry(tensor, row, column, N)  =  the weight of the family's edge between two columns, whose numbers depend on N

This module shares no code with `instance` and `assemble`, which `compile` uses. It computes positions from the syntax
trees of their expressions, which are also the solver's input, and not with `Expression.evaluate`.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from unmask.compilers.model_families import ModelFamily
from unmask.expressions import Expression, fold
from unmask.limits import check
from unmask.numerics.arithmetic import Precision
from unmask.programs.declarations import Flag, OneHot, SignedBits, TableRows
from unmask.programs.program import Coefficient, Edges, HeadBuilder, Program, Weight
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows, columns and values of the entries that are not 0, ordered by row and column."""
ROWS_AT_ONCE = 1 << 12


def compare_with_family(family: ModelFamily, model: Model) -> int:
    """Compare a model with the family; return the number of entries, or raise ObligationFailed if one differs."""
    length, design = model.length, family.design
    settings = {
        "reasoner": (model.kind, family.kind),
        "steps": (model.steps, value_at(design.steps, 0, length)),
        "padding": (model.padding, value_at(design.padding, 0, length)),
        "block": (model.block, None if design.block is None else value_at(design.block, 0, length)),
        "vocabulary": (model.vocabulary, design.vocabulary.symbols),
        "input_symbols": (model.input_symbols, design.vocabulary.input_symbols),
        "transformers": (tuple(model.transformers), tuple(design.programs)),
        "characters": (model.characters, family.characters),
        "aliases": (dict(model.aliases), {}),
        "k": (model.k, None),
        **{
            role: (getattr(model, role), design.vocabulary.name(role))
            for role in ("mask", "pad", "begin", "accept", "reject")
        },
    }
    for name, (actual, expected) in settings.items():
        if actual != expected:
            raise ObligationFailed(f"{name} of the folder is {actual}, that of the family {expected}", (length,))
    return sum(
        compare_transformer(name, program, length, model.transformers[name])
        for name, program in design.programs.items()
    )


def compare_transformer(name: str, program: Program, length: int, actual: Transformer) -> int:
    """Compare a transformer with its program for every N; return the number of entries, or raise ObligationFailed."""
    return _compare_transformer(name, _ProgramAt(program, length, actual.precision), actual)


def _compare_transformer(name: str, expected: "_ProgramAt", actual: Transformer) -> int:
    program = expected.program
    if (actual.attention, actual.loop, actual.noise) != (program.attention, program.loop, program.noise):
        raise ObligationFailed(f"the {name} has another attention, loop or noise than the family", (expected.length,))
    shapes = [(len(layer.heads), layer.mlp.w1.shape[1]) for layer in actual.layers]
    if shapes != [(len(layer.heads), layer.mlp.size) for layer in program.layers]:
        raise ObligationFailed(f"the {name} has other heads or hidden units than the family", (expected.length,))
    tensors: dict[str, tuple[Entries, Entries]] = {
        "embed": (expected.matrix(program.embedding, target=True), _matrix_entries(actual.embed)),
        "out": (expected.matrix(program.readout, target=True), _matrix_entries(actual.out)),
    }
    for i, (layer, weights) in enumerate(zip(program.layers, actual.layers, strict=True)):
        mlp, stored = layer.mlp, weights.mlp
        tensors[f"layers.{i}.mlp.w1"] = expected.matrix(mlp.inputs, source=True), _matrix_entries(stored.w1)
        tensors[f"layers.{i}.mlp.b1"] = expected.vector(mlp.biases, replaced=False), _vector_entries(stored.b1)
        tensors[f"layers.{i}.mlp.w2"] = expected.matrix(mlp.outputs, target=True), _matrix_entries(stored.w2)
        tensors[f"layers.{i}.mlp.b2"] = expected.vector(mlp.offsets, replaced=True), _vector_entries(stored.b2)
        for j, (head, stored_head) in enumerate(zip(layer.heads, weights.heads, strict=True)):
            query, key = expected.scores(head)
            tensors[f"layers.{i}.heads.{j}.wq"] = query, _matrix_entries(stored_head.wq)
            tensors[f"layers.{i}.heads.{j}.wk"] = key, _matrix_entries(stored_head.wk)
            value = expected.matrix(head.value, source=True, target=True)
            tensors[f"layers.{i}.heads.{j}.wv"] = value, _matrix_entries(stored_head.wv)
    for tensor, (entries, stored_entries) in tensors.items():
        check()
        if (index := _first_difference(entries, stored_entries)) is not None:
            raise ObligationFailed(f"entry {index} of {name}, {tensor}, is not the family's", (expected.length,))
    entry_count = sum(entries[0].size for entries, _ in tensors.values())
    return entry_count + _compare_positions(name, expected, actual)


def _compare_positions(name: str, expected: "_ProgramAt", actual: Transformer) -> int:
    if (len(actual.positions), actual.width) != (expected.rows, expected.width):
        raise ObligationFailed(f"the positions of the {name} have another shape than the family's", (expected.length,))
    for first in range(0, expected.rows, ROWS_AT_ONCE):
        check()
        rows = np.arange(first, min(first + ROWS_AT_ONCE, expected.rows))
        wrong = np.flatnonzero((np.asarray(actual.positions[rows]) != expected.positions(rows)).any(axis=1))
        if wrong.size:
            row = first + int(wrong[0])
            raise ObligationFailed(f"row {row} of the positions of the {name} is not the family's", (expected.length,))
    return expected.rows * expected.width


class _ProgramAt:
    """A program for every N at one N: the numbers of its columns, and its entries."""

    def __init__(self, program: Program, length: int, precision: Precision) -> None:
        assert program.rows_in_length is not None
        self.program, self.length, self.precision = program, length, precision
        self.rows = value_at(program.rows_in_length, 0, length)
        self._columns_at: dict[int, list[int]] = {}
        self._codes: set[int] = set()
        self._columns_of: dict[str, list[int]] = {}
        free, symbolic = 0, 0
        for name, labels in program.registers.items():
            count = _bits(value_at(program.codes[name], 0, length)) if name in program.codes else len(labels)
            self._columns_of[name] = list(range(free, free + count))
            if name in program.codes:
                self._columns_at[symbolic] = self._columns_of[name]
                self._codes.add(symbolic)
            else:
                self._columns_at |= {symbolic + i: [free + i] for i in range(count)}
            free, symbolic = free + count, symbolic + len(labels)
        self.width = free
        self._first_column = np.array([self._columns_at[column][0] for column in range(symbolic)])

    def _replaced(self, columns: np.ndarray) -> np.ndarray:
        """Return the columns at this N; refuse codes, which become several columns."""
        if np.isin(columns, list(self._codes)).any():
            raise ObligationFailed("a code is read or written outside a head's comparison")
        return self._first_column[columns]

    def matrix(self, edges: list[Edges], *, source: bool = False, target: bool = False) -> Entries:
        """Return the entries of edges; `source` and `target` say which ends are columns of the residual stream."""
        rows = [self._replaced(group.source) if source else group.source for group in edges]
        columns = [self._replaced(group.target) if target else group.target for group in edges]
        return _ordered(rows, columns, [self._integers(group.weight, group.source) for group in edges])

    def vector(self, groups: list[tuple[np.ndarray, Weight]], *, replaced: bool) -> Entries:
        """Return the entries of a vector, as rows of a single column."""
        rows = [self._replaced(columns) if replaced else columns for columns, _ in groups]
        zeros = [np.zeros_like(columns) for columns, _ in groups]
        return _ordered(rows, zeros, [self._integers(weight, columns) for columns, weight in groups])

    def scores(self, head: HeadBuilder) -> tuple[Entries, Entries]:
        """Return the entries of Wq and Wk, in which a block that reads codes occurs once for every bit."""
        edges_read: list[tuple[int, int, int, Weight]] = [
            (b, side, a, weight)
            for side, edges in enumerate((head.query, head.key))
            for group in edges
            for a, b, weight in _edge_weights(group)
        ]
        block_of = {c: block for block in head.blocks for c in range(*block)}
        bits: dict[tuple[int, int], int] = {}
        for b, _, a, _ in edges_read:
            if a in self._codes:
                bits[block_of[b]] = len(self._columns_at[a])
        entries: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = [], []
        free, column = 0, 0
        start: dict[int, tuple[int, int, int]] = {}  # column → (its number for the first bit, columns per bit, bits)
        while column < head.width:
            first, last = block_of.get(column, (column, column + 1))
            repeats = bits.get((first, last), 1)
            start |= {c: (free + c - first, last - first, repeats) for c in range(first, last)}
            free, column = free + repeats * (last - first), last
        for b, side, a, weight in edges_read:
            column_start, stride, repeats = start[b]
            for bit in range(repeats):
                source = self._columns_at[a][bit if a in self._codes else 0]
                block_index = repeats - 1 - bit if block_of.get(b) in head.rising else bit
                entries[side].append((source, column_start + block_index * stride, self._integer(weight)))
        query, key = (np.array(side, dtype=np.int64).reshape(-1, 3) for side in entries)
        return _ordered(*([part] for part in query.T)), _ordered(*([part] for part in key.T))

    def positions(self, n: np.ndarray) -> np.ndarray:
        """Return [rows, columns]: the position embeddings of these rows."""
        table, one = np.zeros((n.size, self.width), dtype=np.int64), self.precision.one
        for name, declared in self.program.positions.items():
            if not isinstance(declared, SignedBits | Flag | OneHot | TableRows):
                raise ObligationFailed(
                    f"the register {name} is declared by {type(declared).__name__}, which the proof does not support"
                )
            columns = self._columns_of[name]
            values = values_at(declared.row if isinstance(declared, TableRows) else declared.expression, n, self.length)
            only = getattr(declared, "only", None)
            occurs = np.ones(n.size, dtype=bool) if only is None else values_at(only, n, self.length) != 0
            for i, column in enumerate(columns):
                if isinstance(declared, TableRows):
                    column_values = np.asarray(declared.table[values])[:, i]
                elif isinstance(declared, SignedBits):
                    column_values = np.where(values >> (len(columns) - 1 - i) & 1, one, -one)
                else:
                    column_values = one * (values != 0 if isinstance(declared, Flag) else values == i)
                table[:, column] = np.where(occurs, column_values, 0)
        return table

    def _integers(self, weight: Weight, columns: np.ndarray) -> np.ndarray:
        """Return one number for each of these columns."""
        number = self._integer(weight) if isinstance(weight, Coefficient) else weight
        return np.broadcast_to(np.asarray(number, dtype=np.int64), columns.shape)

    def _integer(self, weight: Weight) -> int:
        return weight.integer(self.precision) if isinstance(weight, Coefficient) else int(weight)


def value_at(expression: Expression, n: int, length: int) -> int:
    """Return the value of an expression at one row."""
    return int(values_at(expression, np.array([n]), length)[0])


def values_at(expression: Expression, n: np.ndarray, length: int) -> np.ndarray:
    """Return the values of an expression, computed from its syntax tree."""
    return fold(expression, lambda node, operands: _computed(node, operands, n, length))


def _computed(node: Expression, operands: list[np.ndarray], n: np.ndarray, length: int) -> np.ndarray:
    match node.operator, operands:
        case "variable", [] if node.name == "n":
            return n.astype(np.int64)
        case "variable", [] if node.name == "N":
            return np.full(n.shape, length, dtype=np.int64)
        case "constant", []:
            return np.full(n.shape, node.value, dtype=np.int64)
        case "power of two below", [x]:
            return _each_number(x, lambda v: 1 << (v.bit_length() - 1) if v >= 1 else 1)
        case "log2 above", [x]:
            return _each_number(x, lambda v: (v - 1).bit_length() if v >= 1 else 0)
        case "pos", [x]:
            return np.where(x > 0, x, 0)
        case "if", [condition, yes, no]:
            return np.where(condition != 0, yes, no)
        case "mod", [x, y]:
            return np.where(y == 0, 0, x - y * _quotient(x, y))
        case "div", [x, y]:
            return _quotient(x, y)
        case "machine", _ if node.machine is not None:
            tuples = zip(*(operand.tolist() for operand in operands), strict=True)
            return np.array([node.machine(*numbers) for numbers in tuples], dtype=np.int64)
        case operator, [x, y] if operator in OPERATIONS:
            return OPERATIONS[operator](x, y).astype(np.int64)
    raise ObligationFailed(f"{node} is not a formula of the operators of positions")


OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "·": lambda x, y: x * y,
    "<=": lambda x, y: x <= y,
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    ">": lambda x, y: x > y,
    "=": lambda x, y: x == y,
}


def _quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ⌊x / y⌋, and 0 where y = 0; x mod y is 0 there, too."""
    return np.where(y == 0, 0, x // np.where(y == 0, 1, y))


def _each_number(x: np.ndarray, function: Callable[[int], int]) -> np.ndarray:
    """Return the function's value for every number."""
    distinct, inverse = np.unique(x, return_inverse=True)
    return np.array([function(v) for v in distinct.tolist()], dtype=np.int64)[inverse.reshape(x.shape)]


def _bits(count: int) -> int:
    """Return the least m >= 1 with count <= 2^m."""
    m = 1
    while count > 1 << m:
        m += 1
    return m


def _edge_weights(edges: Edges) -> Iterator[tuple[int, int, Weight]]:
    """Yield (source, target, weight) of every edge."""
    many = isinstance(edges.weight, np.ndarray)
    for k, (a, b) in enumerate(zip(edges.source.tolist(), edges.target.tolist(), strict=True)):
        yield a, b, edges.weight[k] if many else edges.weight


def _ordered(rows: Sequence[np.ndarray], columns: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> Entries:
    """Return entries in order and without zeros; refuse two entries with the same row and column."""
    empty = np.zeros(0, dtype=np.int64)
    row, column, value = (np.concatenate([empty, *pieces]).astype(np.int64) for pieces in (rows, columns, values))
    nonzero = np.flatnonzero(value)
    row, column, value = row[nonzero], column[nonzero], value[nonzero]
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    if ((row[1:] == row[:-1]) & (column[1:] == column[:-1])).any():
        raise ObligationFailed("two entries of a matrix have the same row and column")
    return row, column, value


def _first_difference(left: Entries, right: Entries) -> tuple[int, int] | None:
    if all(np.array_equal(a, b) for a, b in zip(left, right, strict=True)):
        return None
    different = set(zip(*map(np.ndarray.tolist, left), strict=True)) ^ set(
        zip(*map(np.ndarray.tolist, right), strict=True)
    )
    row, column, _ = min(different)
    return row, column


def _matrix_entries(matrix: Matrix) -> Entries:
    return _ordered([matrix.row], [matrix.column], [matrix.value])


def _vector_entries(vector: np.ndarray) -> Entries:
    return _ordered([np.arange(vector.size)], [np.zeros(vector.size)], [vector])
