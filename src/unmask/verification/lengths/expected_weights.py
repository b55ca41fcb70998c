"""Family × N → every entry of every tensor; and whether a model has exactly these.

    entry(tensor, row, column, N)  =  the family's edge between the named columns, whose numbers depend on N alone

This module shares no code with `instance` and `assemble`, which `compile` uses. It computes positions from the trees of
their expressions, which the solver is given, and not with `Expression.evaluate`.
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
AT_ONCE = 1 << 12  # rows


def compare(family: ModelFamily, model: Model) -> int:
    """Return how many entries were compared; raise `Open` if the model is not the family's of its length."""
    length, design = model.length, family.design
    frame = {
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
    for name, (found, wanted) in frame.items():
        if found != wanted:
            raise ObligationFailed(f"{name} of the folder is {found}, that of the family {wanted}", (length,))
    return sum(
        compare_transformer(name, program, length, model.transformers[name])
        for name, program in design.programs.items()
    )


def compare_transformer(name: str, program: Program, length: int, found: Transformer) -> int:
    """The same for one transformer and the program of every N that it should be."""
    return _transformer(name, _ProgramAt(program, length, found.precision), found)


def _transformer(name: str, wanted: "_ProgramAt", found: Transformer) -> int:
    program = wanted.program
    if (found.attention, found.loop, found.noise) != (program.attention, program.loop, program.noise):
        raise ObligationFailed(f"the {name} has another attention, loop or noise than the family", (wanted.length,))
    shapes = [(len(layer.heads), layer.mlp.w1.shape[1]) for layer in found.layers]
    if shapes != [(len(layer.heads), layer.mlp.size) for layer in program.layers]:
        raise ObligationFailed(f"the {name} has other heads or hidden units than the family", (wanted.length,))
    tensors: dict[str, tuple[Entries, Entries]] = {
        "embed": (wanted.matrix(program.embedding, target=True), _stored(found.embed)),
        "out": (wanted.matrix(program.readout, target=True), _stored(found.out)),
    }
    for i, (layer, weights) in enumerate(zip(program.layers, found.layers, strict=True)):
        mlp, stored = layer.mlp, weights.mlp
        tensors[f"layers.{i}.mlp.w1"] = wanted.matrix(mlp.inputs, source=True), _stored(stored.w1)
        tensors[f"layers.{i}.mlp.b1"] = wanted.vector(mlp.biases, moved=False), _vector(stored.b1)
        tensors[f"layers.{i}.mlp.w2"] = wanted.matrix(mlp.outputs, target=True), _stored(stored.w2)
        tensors[f"layers.{i}.mlp.b2"] = wanted.vector(mlp.offsets, moved=True), _vector(stored.b2)
        for j, (head, its) in enumerate(zip(layer.heads, weights.heads, strict=True)):
            query, key = wanted.scores(head)
            tensors[f"layers.{i}.heads.{j}.wq"] = query, _stored(its.wq)
            tensors[f"layers.{i}.heads.{j}.wk"] = key, _stored(its.wk)
            tensors[f"layers.{i}.heads.{j}.wv"] = wanted.matrix(head.value, source=True, target=True), _stored(its.wv)
    for tensor, (right, stored_entries) in tensors.items():
        check()
        if (place := _first_difference(right, stored_entries)) is not None:
            raise ObligationFailed(f"entry {place} of {name}, {tensor}, is not the family's", (wanted.length,))
    return sum(right[0].size for right, _ in tensors.values()) + _positions(name, wanted, found)


def _positions(name: str, wanted: "_ProgramAt", found: Transformer) -> int:
    if (len(found.positions), found.width) != (wanted.rows, wanted.width):
        raise ObligationFailed(f"the positions of the {name} have another shape than the family's", (wanted.length,))
    for first in range(0, wanted.rows, AT_ONCE):
        check()
        rows = np.arange(first, min(first + AT_ONCE, wanted.rows))
        wrong = np.flatnonzero((np.asarray(found.positions[rows]) != wanted.positions(rows)).any(axis=1))
        if wrong.size:
            place = first + int(wrong[0])
            raise ObligationFailed(f"row {place} of the positions of the {name} is not the family's", (wanted.length,))
    return wanted.rows * wanted.width


class _ProgramAt:
    """A program of every N at one N: where its columns are, and what is between them."""

    def __init__(self, program: Program, length: int, precision: Precision) -> None:
        assert program.every is not None
        self.program, self.length, self.precision = program, length, precision
        self.rows = value_at(program.every, 0, length)
        self._columns: dict[int, list[int]] = {}
        self._codes: set[int] = set()
        self._of: dict[str, list[int]] = {}
        free, symbolic = 0, 0
        for name, labels in program.registers.items():
            count = _bits(value_at(program.codes[name], 0, length)) if name in program.codes else len(labels)
            self._of[name] = list(range(free, free + count))
            if name in program.codes:
                self._columns[symbolic] = self._of[name]
                self._codes.add(symbolic)
            else:
                self._columns |= {symbolic + i: [free + i] for i in range(count)}
            free, symbolic = free + count, symbolic + len(labels)
        self.width = free
        self._first = np.array([self._columns[column][0] for column in range(symbolic)])

    def _moved(self, columns: np.ndarray) -> np.ndarray:
        if np.isin(columns, list(self._codes)).any():
            raise ObligationFailed("a code is read or written outside a head's comparison")
        return self._first[columns]

    def matrix(self, edges: list[Edges], *, source: bool = False, target: bool = False) -> Entries:
        rows = [self._moved(one.source) if source else one.source for one in edges]
        columns = [self._moved(one.target) if target else one.target for one in edges]
        return _ordered(rows, columns, [self._integers(one.weight, one.source) for one in edges])

    def vector(self, parts: list[tuple[np.ndarray, Weight]], *, moved: bool) -> Entries:
        rows = [self._moved(columns) if moved else columns for columns, _ in parts]
        zeros = [np.zeros_like(columns) for columns, _ in parts]
        return _ordered(rows, zeros, [self._integers(weight, columns) for columns, weight in parts])

    def scores(self, head: HeadBuilder) -> tuple[Entries, Entries]:
        """Wq and Wk: a block that reads codes occurs once for every bit."""
        forms: list[tuple[int, int, int, Weight]] = [
            (b, side, a, weight)
            for side, edges in enumerate((head.query, head.key))
            for one in edges
            for a, b, weight in _each(one)
        ]
        block_of = {c: block for block in head.blocks for c in range(*block)}
        bits: dict[tuple[int, int], int] = {}
        for b, _, a, _ in forms:
            if a in self._codes:
                bits[block_of[b]] = len(self._columns[a])
        sides: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = [], []
        free, column = 0, 0
        start: dict[int, tuple[int, int, int]] = {}  # column → (its place for the first bit, columns per bit, bits)
        while column < head.width:
            first, last = block_of.get(column, (column, column + 1))
            times = bits.get((first, last), 1)
            start |= {c: (free + c - first, last - first, times) for c in range(first, last)}
            free, column = free + times * (last - first), last
        for b, side, a, weight in forms:
            place, stride, times = start[b]
            for bit in range(times):
                source = self._columns[a][bit if a in self._codes else 0]
                turn = times - 1 - bit if block_of.get(b) in head.rising else bit
                sides[side].append((source, place + turn * stride, self._integer(weight)))
        query, key = (np.array(side, dtype=np.int64).reshape(-1, 3) for side in sides)
        return _ordered(*([part] for part in query.T)), _ordered(*([part] for part in key.T))

    def positions(self, n: np.ndarray) -> np.ndarray:
        """[rows, columns]: these rows of the positions."""
        table, one = np.zeros((n.size, self.width), dtype=np.int64), self.precision.one
        for name, declared in self.program.positions.items():
            if not isinstance(declared, SignedBits | Flag | OneHot | TableRows):
                raise ObligationFailed(
                    f"the register {name} is declared by {type(declared).__name__}, which the proof does not support"
                )
            columns = self._of[name]
            values = values_at(declared.row if isinstance(declared, TableRows) else declared.expression, n, self.length)
            only = getattr(declared, "only", None)
            there = np.ones(n.size, dtype=bool) if only is None else values_at(only, n, self.length) != 0
            for i, column in enumerate(columns):
                if isinstance(declared, TableRows):
                    declared_values = np.asarray(declared.table[values])[:, i]
                elif isinstance(declared, SignedBits):
                    declared_values = np.where(values >> (len(columns) - 1 - i) & 1, one, -one)
                else:
                    declared_values = one * (values != 0 if isinstance(declared, Flag) else values == i)
                table[:, column] = np.where(there, declared_values, 0)
        return table

    def _integers(self, weight: Weight, places: np.ndarray) -> np.ndarray:
        """One number for each place."""
        one_for_all = self._integer(weight) if isinstance(weight, Coefficient) else weight
        return np.broadcast_to(np.asarray(one_for_all, dtype=np.int64), places.shape)

    def _integer(self, weight: Weight) -> int:
        return weight.integer(self.precision) if isinstance(weight, Coefficient) else int(weight)


def value_at(expression: Expression, n: int, length: int) -> int:
    """The value of an expression at one row."""
    return int(values_at(expression, np.array([n]), length)[0])


def values_at(expression: Expression, n: np.ndarray, length: int) -> np.ndarray:
    """The values of an expression, by its tree."""
    return fold(expression, lambda node, parts: _computed(node, parts, n, length))


def _computed(node: Expression, parts: list[np.ndarray], n: np.ndarray, length: int) -> np.ndarray:
    match node.operator, parts:
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
            each = zip(*(part.tolist() for part in parts), strict=True)
            return np.array([node.machine(*numbers) for numbers in each], dtype=np.int64)
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
    """⌊x / y⌋; 0 where y is, as is x mod y."""
    return np.where(y == 0, 0, x // np.where(y == 0, 1, y))


def _each_number(x: np.ndarray, of: Callable[[int], int]) -> np.ndarray:
    different, back = np.unique(x, return_inverse=True)
    return np.array([of(v) for v in different.tolist()], dtype=np.int64)[back.reshape(x.shape)]


def _bits(room: int) -> int:
    """The least m >= 1 with room <= 2^m."""
    m = 1
    while room > 1 << m:
        m += 1
    return m


def _each(edges: Edges) -> Iterator[tuple[int, int, Weight]]:
    many = isinstance(edges.weight, np.ndarray)
    for k, (a, b) in enumerate(zip(edges.source.tolist(), edges.target.tolist(), strict=True)):
        yield a, b, edges.weight[k] if many else edges.weight


def _ordered(rows: Sequence[np.ndarray], columns: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> Entries:
    """Entries from pieces, without zeros; two entries in one place are refused."""
    none = np.zeros(0, dtype=np.int64)
    row, column, value = (np.concatenate([none, *pieces]).astype(np.int64) for pieces in (rows, columns, values))
    kept = np.flatnonzero(value)
    row, column, value = row[kept], column[kept], value[kept]
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    if ((row[1:] == row[:-1]) & (column[1:] == column[:-1])).any():
        raise ObligationFailed("two entries of a matrix have the same place")
    return row, column, value


def _first_difference(one: Entries, other: Entries) -> tuple[int, int] | None:
    if all(np.array_equal(a, b) for a, b in zip(one, other, strict=True)):
        return None
    different = set(zip(*map(np.ndarray.tolist, one), strict=True)) ^ set(
        zip(*map(np.ndarray.tolist, other), strict=True)
    )
    row, column, _ = min(different)
    return row, column


def _stored(matrix: Matrix) -> Entries:
    return _ordered([matrix.row], [matrix.column], [matrix.value])


def _vector(vector: np.ndarray) -> Entries:
    return _ordered([np.arange(vector.size)], [np.zeros(vector.size)], [vector])
