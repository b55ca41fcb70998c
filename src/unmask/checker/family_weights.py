"""The weights of a family: comparison with a model folder, the row that a head reads, the result of a row.

A head reads a row by its code, for any number of bits:

    score(query, key)  =  SUM over the bits, each bit's columns in order     summed in F_p from 0 on
    equal codes        →  exactly 0,     other codes  →  exp(score) = 0      for any number of bits

So if exactly one row has the requested code, Z = exp(0); its weight is 1, and the weight of all other rows is 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from unmask.checker import family_form
from unmask.checker.certificate import Refused, need
from unmask.checker.checked_tables import after_mlp, distinct_rows
from unmask.checker.family_form import formula_values, size_at
from unmask.errors import WeightsError
from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply, weighted
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Mlp, Transformer

# Family × model folder → refused unless every entry of the folder is the family's at its length N.
#
# code        becomes ⌈log2 capacity⌉ columns, at least one: the bits of a number as ±1, the highest first
# head        has its columns of query and key once for every bit of the codes that it reads
# the rest    has the same entries between the same columns


Entries = dict[tuple[int, ...], int]
ROWS_AT_ONCE = 1 << 12


def compare(claimed: family_form.FamilyCertificate, model: Model) -> int:
    """Compare a model folder with the family; return how many numbers were compared, and refuse if one differs."""
    length, frame = model.length, claimed.frame
    need(length >= claimed.least, f"the family starts at N = {claimed.least}, and this folder has N = {length}")
    block = None if frame.block is None else size_at(frame.block, length)
    settings = [
        ("reasoner", model.kind, claimed.kind),
        ("precision", model.precision.p, claimed.precision),
        ("steps", model.steps, size_at(frame.steps, length)),
        ("padding", model.padding, size_at(frame.padding, length)),
        ("block", model.block, block),
        ("vocabulary", [*model.vocabulary], frame.vocabulary),
        ("input symbols", [*model.input_symbols], frame.input_symbols),
        ("characters", model.characters and [*model.characters], frame.characters),
        ("k, aliases and begin", (model.k, dict(model.aliases), model.begin), (None, {}, None)),
        *((role, getattr(model, role), getattr(frame, role)) for role in ("mask", "pad", "accept", "reject")),
        ("transformers", sorted(model.transformers), sorted(claimed.programs)),
    ]
    for name, actual, expected in settings:
        need(actual == expected, f"N = {length}: the {name} of the folder is not the family's")
    programs = [(name, FamilyAtLength(program, length)) for name, program in claimed.programs.items()]
    return sum(_compare_transformer(name, program, model.transformers[name]) for name, program in programs)


def _compare_transformer(name: str, expected: "FamilyAtLength", actual: Transformer) -> int:
    program, where = expected.program, f"N = {expected.length}, {name}"
    actual_frame = actual.attention, actual.loop, actual.noise, actual.width, len(actual.positions)
    expected_frame = program.attention, program.loop, None, expected.width, expected.rows
    need(actual_frame == expected_frame, f"{where}: attention, loop, noise or shape is not the family's")
    actual_sizes = [(len(layer.heads), layer.mlp.w1.shape[1]) for layer in actual.layers]
    expected_sizes = [(len(layer.heads), layer.mlp.size) for layer in program.layers]
    need(actual_sizes == expected_sizes, f"{where}: the layers have other heads or hidden units than the family's")
    need(actual.out.shape[0] == program.outputs, f"{where}: there are other outputs than the family's")
    tensors: list[tuple[str, Entries, Matrix | np.ndarray]] = [
        ("embed", expected.at_columns(program.embed, (1,)), actual.embed),
        ("out", expected.at_columns(program.out, (1,)), actual.out),
    ]
    for i, (layer, weights) in enumerate(zip(program.layers, actual.layers, strict=True)):
        mlp, stored = layer.mlp, weights.mlp
        tensors += [
            (f"layer {i}, w1", expected.at_columns(mlp.w1, (0,)), stored.w1),
            (f"layer {i}, b1", {(k,): v for k, v in mlp.b1}, stored.b1),
            (f"layer {i}, w2", expected.at_columns(mlp.w2, (1,)), stored.w2),
            (f"layer {i}, b2", expected.at_columns(mlp.b2, (0,)), stored.b2),
        ]
        for j, (head, stored_head) in enumerate(zip(layer.heads, weights.heads, strict=True)):
            bits = expected.bits_of(head)
            need(stored_head.wq.shape[1] == head.size * bits, f"{where}: head {j} of layer {i} has other columns")
            tensors += [
                (f"layer {i}, head {j}, wq", expected.repeated(head.query, head.size, bits), stored_head.wq),
                (f"layer {i}, head {j}, wk", expected.repeated(head.key, head.size, bits), stored_head.wk),
                (f"layer {i}, head {j}, wv", expected.at_columns(head.value, (0, 1)), stored_head.wv),
            ]
    for tensor, entries, stored in tensors:
        need(entries == _entries(stored), f"{where}: {tensor} is not the family's")
    for first in range(0, expected.rows, ROWS_AT_ONCE):
        n = np.arange(first, min(first + ROWS_AT_ONCE, expected.rows))
        same = np.array_equal(np.asarray(actual.positions[n]), expected.positions(n, actual.precision))
        need(same, f"{where}: the positions of the rows {first} to {n[-1]} are not the family's")
    return sum(len(entries) for _, entries, _ in tensors) + expected.rows * expected.width


class FamilyAtLength:
    """A program at one N: its entries, with each column of the family replaced by its columns at this N."""

    def __init__(self, program: family_form.FamilyProgram, length: int) -> None:
        self.program, self.length, self.rows = program, length, size_at(program.rows, length)
        bits = [max(1, (size_at(c[2], length) - 1).bit_length()) if is_code(c) else 1 for c in program.columns]
        ends = np.cumsum([0, *bits]).tolist()
        self._columns_of = [range(a, b) for a, b in pairwise(ends)]
        self.width = ends[-1]

    def at_columns(self, entries: Iterable[tuple[int, ...]], axes: Sequence[int]) -> Entries:
        """Return the entries with the columns of the family that index these axes replaced; refuse a code."""
        result = {}
        for *index, value in entries:
            for axis in axes:
                need(not is_code(self.program.columns[index[axis]]), "a code is read or written outside a comparison")
                index[axis] = self._columns_of[index[axis]][0]
            result[tuple(index)] = value
        return result

    def bits_of(self, head: family_form.FamilyHead) -> int:
        """Return how often the columns of a head occur: once per bit of the codes that it compares."""
        read = {row for row, *_ in (*head.query, *head.key)}
        counts = {len(self._columns_of[row]) for row in read if is_code(self.program.columns[row])}
        need(len(counts) == 1, "a head compares codes with different numbers of bits, or none")
        return counts.pop()

    def repeated(self, entries: Iterable[family_form.Entry], size: int, bits: int) -> Entries:
        """Return the entries of a query or key matrix, once for every bit."""
        result = {}
        for row, column, value in entries:
            for bit in range(bits):
                columns = self._columns_of[row]
                result[columns[bit if is_code(self.program.columns[row]) else 0], column + bit * size] = value
        return result

    def positions(self, n: np.ndarray, precision: Precision) -> np.ndarray:
        """Return the position embeddings of the rows n."""
        table = np.zeros((n.size, self.width), dtype=np.int64)
        for column, columns in zip(self.program.columns, self._columns_of, strict=True):
            if column is None:
                continue
            numbers = formula_values(column[1], n, self.length)
            if is_code(column):
                shifts = np.arange(len(columns))[::-1]
                fits = (numbers >= 0) & (numbers >> len(columns) == 0)
                need(bool(fits.all()), "a code has too few bits for its number")
                table[:, columns] = np.where(numbers[:, None] >> shifts & 1, precision.one, -precision.one)
            else:
                need(bool(np.isin(numbers, (0, 1)).all()), "a flag is neither 0 nor 1")
                table[:, columns[0]] = precision.one * numbers
        return table


def is_code(column: family_form.Formula) -> bool:
    """Return whether a column of the family is a code."""
    return column is not None and column[0] == "code"


def _entries(stored: Matrix | np.ndarray) -> Entries:
    if isinstance(stored, Matrix):
        indices = zip(stored.row.tolist(), stored.column.tolist(), strict=True)
        return dict(zip(indices, stored.value.tolist(), strict=True))
    return {(int(k),): int(stored[k]) for k in np.flatnonzero(stored)}


ScoreState = tuple[int, bool]
"""(score of some bits, whether the codes differ in these bits)."""


@dataclass(frozen=True)
class CodeRead:
    """Row n reads the row whose `key` equals the `address` of n; both lie below `capacity`."""

    address: family_form.Formula
    key: family_form.Formula
    capacity: family_form.Formula


def check_copying(precision: Precision) -> None:
    """Check that a single match has weight 1 and all else 0, and that these weights copy every number or nothing."""
    one, numbers = precision.one, np.array(precision.numbers())
    match = int(exp(np.zeros(1, dtype=np.int64), precision)[0])
    need(match > 0 and int(divide(match, match, precision)) == one, "the weight of a single match is not 1")
    need(not int(divide(0, match, precision)), "a row that does not match has weight")
    copied = np.array_equal(multiply(one, numbers, precision), numbers) and not multiply(0, numbers, precision).any()
    need(copied, "a weight of 1 does not copy every number")


def read_of(
    head: family_form.FamilyHead,
    columns: list[family_form.Formula],
    ones: set[int],
    precision: Precision,
    listed: list[ScoreState],
) -> CodeRead:
    """Return the read of a head that compares codes, whose scores must be the listed ones.

    `ones` are the columns that are 1 in every row.
    """
    queries, keys = ({row for row, *_ in entries} - ones for entries in (head.query, head.key))
    need(all(is_code(columns[row]) for row in queries | keys), "a head compares a column that is neither a code nor 1")
    need(len(keys) == 1 and len(queries) <= 1, "a head does not compare one code with one code")
    key = columns[min(keys)]
    need(all(columns[row][2] == key[2] for row in queries), "a head compares codes with different capacities")
    need({*_reachable_scores(head, ones, precision)} == {*listed}, "the listed scores are not those of a head")
    need(listed == sorted({*listed}), "the scores of a head are not in order")
    for score, differs in listed:
        weight = int(exp(np.array([score]), precision)[0])
        need(weight == 0 if differs else score == 0, f"codes that {'differ' if differs else 'are equal'} score {score}")
    return CodeRead(columns[min(queries)][1] if queries else 0, key[1], key[2])


def _reachable_scores(head: family_form.FamilyHead, ones: set[int], precision: Precision) -> set[ScoreState]:
    """Return all states after any number of bits; a query without a code asks for the number 0."""
    has_query_code = any(row not in ones for row, *_ in head.query)

    def column_sum(entries: list[family_form.Entry], column: int, bit: int) -> int:
        total = 0
        for row, entry_column, weight in entries:  # by row, hence in the order of the sum
            if entry_column == column:
                term = multiply(precision.one * (1 if row in ones else bit), weight, precision)
                total = int(add(total, int(term), precision))
        return total

    bits = [*product((-1, 1) if has_query_code else (-1,), (-1, 1))]
    terms = {
        (a, b): [
            int(multiply(column_sum(head.query, c, a), column_sum(head.key, c, b), precision)) for c in range(head.size)
        ]
        for a, b in bits
    }
    reached, waiting = {(0, False)}, [(0, False)]
    while waiting:
        score, differs = waiting.pop()
        for a, b in bits:
            next_score = score
            for term in terms[a, b]:
                next_score = int(add(next_score, term, precision))
            state = next_score, differs or a != b
            if state not in reached:
                reached.add(state)
                waiting.append(state)
    return reached


# One row: its result, from its own vector and the outputs of its heads, with the sums of F_p.
#
# Rows are vectors over the columns of the family; those of codes are 0, and nothing reads or writes them here.


CELLS_AT_ONCE = 1 << 22
MOST_CELLS = 1 << 35

HeadContribution = tuple[np.ndarray, np.ndarray]
"""(columns that a head writes, values [case, column])."""


class FamilyRows:
    """The weights of a program without queries and keys."""

    def __init__(self, program: family_form.FamilyProgram, symbols: int, precision: Precision) -> None:
        self._p, self.program, self.width = precision, program, len(program.columns)
        width = self.width
        self._embed = _matrix((symbols, width), program.embed, precision).dense().astype(np.int64)
        self.out = _matrix((program.outputs, width), program.out, precision).transposed()
        value_entries = [[head.value for head in layer.heads] for layer in program.layers]
        self.values = [[_matrix((width, width), entries, precision) for entries in heads] for heads in value_entries]
        self.mlps = [_mlp(layer.mlp, width, precision) for layer in program.layers]
        self.flags = [c for c, column in enumerate(program.columns) if column is not None and not is_code(column)]
        codes = [c for c, column in enumerate(program.columns) if is_code(column)]
        written = [value.column for values in self.values for value in values]
        written += [column for mlp in self.mlps for column in (mlp.w2.column, np.flatnonzero(mlp.b2))]
        self.written = np.unique(np.concatenate([np.flatnonzero(self._embed.any(axis=0)), *written]))
        for head in (head for layer in program.layers for head in layer.heads):
            for entries in (head.query, head.key):
                _matrix((width, head.size), entries, precision)
        read = [self.live(), *(v.row for vs in self.values for v in vs)]
        touched = np.concatenate([self.written, *read])
        need(not np.isin(codes, touched).any(), "a code is read or written outside a comparison")

    def live(self) -> np.ndarray:
        """Return the columns that are read after the heads of the first layer."""
        return np.unique(np.concatenate([self.out.row, *(mlp.w1.row for mlp in self.mlps)]))

    def check_heads(self, heads: int) -> None:
        """Check that the first layer has this number of heads, and later layers none."""
        counts = [len(values) for values in self.values]
        need(counts[:1] == [heads] and not any(counts[1:]), f"there are not {heads} heads, all in the first layer")

    def start(self, tokens: Sequence[int], flags: Sequence[Sequence[int]]) -> np.ndarray:
        """Return [tokens, flags, columns]: the rows with these tokens and flags before the first layer."""
        positions = np.zeros((len(flags), self.width), dtype=np.int64)
        positions[:, self.flags] = self._p.one * np.array(flags, dtype=np.int64).reshape(len(flags), len(self.flags))
        return add(self._embed[np.asarray(tokens)][:, None], positions, self._p)

    def head_output(self, layer: int, head: int, rows: np.ndarray) -> HeadContribution:
        """Return the output of a head that reads these rows."""
        matrix = self.values[layer][head]
        columns = np.unique(matrix.column).astype(np.int64)
        return columns, weighted(rows, matrix.rows(), self.width, self._p)[..., columns]

    def heads(self, rows: np.ndarray, outputs: Sequence[HeadContribution]) -> np.ndarray:
        """Return the rows after the heads of a layer: the sum of their outputs, in order, plus the row itself."""
        total = np.zeros_like(rows)
        for columns, values in outputs:
            total[:, columns] = add(total[:, columns], values, self._p)
        return add(total, rows, self._p)

    def mlp(self, layer: int, rows: np.ndarray) -> np.ndarray:
        return after_mlp(self.mlps[layer], rows, self._p)

    def logits(self, rows: np.ndarray, outputs: Sequence[HeadContribution]) -> np.ndarray:
        """Return the logits [cases, outputs] of rows whose heads are all in the first layer."""
        state, which = self.heads(rows, outputs), np.arange(len(rows))  # rows of equal content are computed once
        for layer in range(len(self.mlps)):
            read = np.unique(np.concatenate([self.out.row, *(mlp.w1.row for mlp in self.mlps[layer:])]))
            first, inverse = distinct_rows(state[:, read])
            state, which = self.mlp(layer, state[first]), inverse[which]
        return self.read_out(state)[which]

    def read_out(self, state: np.ndarray) -> np.ndarray:
        return weighted(state, self.out.rows(), self.out.shape[1], self._p)

    def chunks(self, cases: int) -> Iterable[slice]:
        """Return slices of the cases that fit into memory."""
        cells = max([self.width, self.out.shape[1], *(mlp.b1.size for mlp in self.mlps)])
        if cells * cases > MOST_CELLS:
            raise Refused(f"{cases:,} cases of {cells:,} numbers exceed the limit of the checker")
        step = max(16, CELLS_AT_ONCE // cells)
        return (slice(first, min(first + step, cases)) for first in range(0, cases, step))


def _matrix(shape: tuple[int, int], entries: Sequence[family_form.Entry], precision: Precision) -> Matrix:
    need(entries == sorted(entries), "the entries of a tensor are not in order")
    need(all(0 < abs(value) <= precision.bound for *_, value in entries), "an entry is 0, or not a number of F_p")
    try:
        return Matrix.from_entries(shape, *(zip(*entries, strict=True) if entries else ((), (), ())))
    except WeightsError as error:
        raise Refused(f"a tensor is not valid: {error}") from None


def _mlp(claimed: family_form.FamilyMlp, width: int, precision: Precision) -> Mlp:
    w1 = _matrix((width, claimed.size), claimed.w1, precision)
    w2 = _matrix((claimed.size, width), claimed.w2, precision)
    return Mlp(w1, _vector(claimed.size, claimed.b1, precision), w2, _vector(width, claimed.b2, precision))


def _vector(size: int, entries: Sequence[tuple[int, int]], precision: Precision) -> np.ndarray:
    column = _matrix((size, 1), [(k, 0, value) for k, value in entries], precision)
    return column.dense().reshape(-1).astype(np.int64)
