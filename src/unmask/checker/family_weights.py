"""Weights of a family: are those of a model folder the family's, which row does a head read, what does a row compute?

The read of a head, for any number of bits:

    score(query, key)  =  SUM over the bits, each bit's columns in order                a fold over F_p, from 0
    equal codes        →  exactly 0,     other codes  →  exp(score) = 0                 its states are listed and closed

So where one row has the code that is asked for, Z = exp(0), its weight is 1, that of all others 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from unmask.checker import family_form
from unmask.checker.certificate import Refused, need
from unmask.checker.checked_tables import numbered
from unmask.checker.family_form import number, values
from unmask.errors import WeightsError
from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply, relu, weighted
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

# Family × N → every entry of a folder: is this folder the family's?
#
# code        ⌈log2 room⌉ columns, at least one: the bits of its number as ±1, the highest first
# head        the columns of query and key once for every bit of the codes that it reads
# the rest    the same entries between the same columns


Entries = dict[tuple[int, ...], int]
AT_ONCE = 1 << 12  # rows


def compare(claimed: family_form.FamilyCertificate, model: Model) -> int:
    """How many numbers of a folder were compared; Refused where one differs."""
    length, frame = model.length, claimed.frame
    need(length >= claimed.least, f"the family starts at N = {claimed.least}, and this folder has N = {length}")
    block = None if frame.block is None else number(frame.block, length)
    settings = [
        ("reasoner", model.kind, claimed.kind),
        ("precision", model.precision.p, claimed.precision),
        ("steps", model.steps, number(frame.steps, length)),
        ("padding", model.padding, number(frame.padding, length)),
        ("block", model.block, block),
        ("vocabulary", [*model.vocabulary], frame.vocabulary),
        ("input symbols", [*model.input_symbols], frame.input_symbols),
        ("characters", model.characters and [*model.characters], frame.characters),
        ("k, aliases and begin", (model.k, dict(model.aliases), model.begin), (None, {}, None)),
        *((role, getattr(model, role), getattr(frame, role)) for role in ("mask", "pad", "accept", "reject")),
        ("transformers", sorted(model.transformers), sorted(claimed.programs)),
    ]
    for name, found, wanted in settings:
        need(found == wanted, f"N = {length}: the {name} of the folder is not the family's")
    programs = claimed.programs.items()
    return sum(
        _transformer(name, FamilyAtLength(program, length), model.transformers[name]) for name, program in programs
    )


def _transformer(name: str, wanted: "FamilyAtLength", found: Transformer) -> int:
    program, where = wanted.program, f"N = {wanted.length}, {name}"
    frame = found.attention, found.loop, found.noise, found.width, len(found.positions)
    right = program.attention, program.loop, None, wanted.width, wanted.rows
    need(frame == right, f"{where}: attention, loop, noise or shape is not the family's")
    shapes = [(len(layer.heads), layer.mlp.w1.shape[1]) for layer in found.layers]
    need(
        shapes == [(len(layer.heads), layer.mlp.size) for layer in program.layers],
        f"{where}: the layers have other heads or hidden units than the family's",
    )
    need(found.out.shape[0] == program.outputs, f"{where}: there are other outputs than the family's")
    tensors: list[tuple[str, Entries, Matrix | np.ndarray]] = [
        ("embed", wanted.moved(program.embed, (1,)), found.embed),
        ("out", wanted.moved(program.out, (1,)), found.out),
    ]
    for i, (layer, weights) in enumerate(zip(program.layers, found.layers, strict=True)):
        mlp, stored = layer.mlp, weights.mlp
        tensors += [
            (f"layer {i}, w1", wanted.moved(mlp.w1, (0,)), stored.w1),
            (f"layer {i}, b1", {(k,): v for k, v in mlp.b1}, stored.b1),
            (f"layer {i}, w2", wanted.moved(mlp.w2, (1,)), stored.w2),
            (f"layer {i}, b2", wanted.moved(mlp.b2, (0,)), stored.b2),
        ]
        for j, (head, its) in enumerate(zip(layer.heads, weights.heads, strict=True)):
            bits = wanted.bits_of(head)
            need(its.wq.shape[1] == head.size * bits, f"{where}: head {j} of layer {i} has other columns")
            tensors += [
                (f"layer {i}, head {j}, wq", wanted.repeated(head.query, head.size, bits), its.wq),
                (f"layer {i}, head {j}, wk", wanted.repeated(head.key, head.size, bits), its.wk),
                (f"layer {i}, head {j}, wv", wanted.moved(head.value, (0, 1)), its.wv),
            ]
    for tensor, entries, stored in tensors:
        need(entries == _entries(stored), f"{where}: {tensor} is not the family's")
    for first in range(0, wanted.rows, AT_ONCE):
        n = np.arange(first, min(first + AT_ONCE, wanted.rows))
        same = np.array_equal(np.asarray(found.positions[n]), wanted.positions(n, found.precision))
        need(same, f"{where}: the positions of the rows {first} to {n[-1]} are not the family's")
    return sum(len(entries) for _, entries, _ in tensors) + wanted.rows * wanted.width


class FamilyAtLength:
    """A program at one N: which columns each of its columns becomes."""

    def __init__(self, program: family_form.FamilyProgram, length: int) -> None:
        self.program, self.length, self.rows = program, length, number(program.rows, length)
        bits = [_bits(number(c[2], length)) if is_code(c) else 1 for c in program.columns]
        ends = np.cumsum([0, *bits]).tolist()
        self._places = [range(a, b) for a, b in pairwise(ends)]
        self.width = ends[-1]

    def moved(self, entries: Iterable[tuple[int, ...]], sides: Sequence[int]) -> Entries:
        """Entries of which these sides are columns of the residual stream, and no code."""
        made = {}
        for *place, value in entries:
            for side in sides:
                need(not is_code(self.program.columns[place[side]]), "a code is read or written outside a comparison")
                place[side] = self._places[place[side]][0]
            made[tuple(place)] = value
        return made

    def bits_of(self, head: family_form.FamilyHead) -> int:
        """How often the columns of a head occur."""
        read = {row for row, *_ in (*head.query, *head.key)}
        counts = {len(self._places[row]) for row in read if is_code(self.program.columns[row])}
        need(len(counts) == 1, "a head compares codes with different numbers of bits, or none")
        return counts.pop()

    def repeated(self, entries: Iterable[family_form.Entry], size: int, bits: int) -> Entries:
        made = {}
        for row, column, value in entries:
            for bit in range(bits):
                places = self._places[row]
                made[places[bit if is_code(self.program.columns[row]) else 0], column + bit * size] = value
        return made

    def positions(self, n: np.ndarray, precision: Precision) -> np.ndarray:
        """Rows n of the table of positions."""
        table = np.zeros((n.size, self.width), dtype=np.int64)
        for column, places in zip(self.program.columns, self._places, strict=True):
            if column is None:
                continue
            bits_of_number = values(column[1], n, self.length)
            if is_code(column):
                shifts = np.arange(len(places))[::-1]
                need(
                    bool(((bits_of_number >= 0) & (bits_of_number >> len(places) == 0)).all()),
                    "a code has too few bits for its number",
                )
                table[:, places] = np.where(bits_of_number[:, None] >> shifts & 1, precision.one, -precision.one)
            else:
                need(bool(np.isin(bits_of_number, (0, 1)).all()), "a flag is neither 0 nor 1")
                table[:, places[0]] = precision.one * bits_of_number
        return table


def is_code(column: family_form.Formula) -> bool:
    return column is not None and column[0] == "code"


def _bits(room: int) -> int:
    """The least m >= 1 with room <= 2^m."""
    return max(1, (room - 1).bit_length())


def _entries(stored: Matrix | np.ndarray) -> Entries:
    if isinstance(stored, Matrix):
        places = zip(stored.row.tolist(), stored.column.tolist(), strict=True)
        return dict(zip(places, stored.value.tolist(), strict=True))
    return {(int(k),): int(stored[k]) for k in np.flatnonzero(stored)}


State = tuple[int, bool]


@dataclass(frozen=True)
class CodeRead:
    """Row n reads the row whose `key` is `address` of n; both have room."""

    address: family_form.Formula
    key: family_form.Formula
    room: family_form.Formula


def copies(precision: Precision) -> None:
    """A single match has the weight 1, everything else 0, and these copy every number and nothing."""
    one, numbers = precision.one, np.array(precision.numbers())
    match = int(exp(np.zeros(1, dtype=np.int64), precision)[0])
    need(match > 0 and int(divide(match, match, precision)) == one, "the weight of a single match is not 1")
    need(not int(divide(0, match, precision)), "what does not match has a weight")
    copied = np.array_equal(multiply(one, numbers, precision), numbers) and not multiply(0, numbers, precision).any()
    need(copied, "a weight of 1 does not copy every number")


def read_of(
    head: family_form.FamilyHead,
    columns: list[family_form.Formula],
    ones: set[int],
    precision: Precision,
    listed: list[State],
) -> CodeRead:
    """What a head compares; `ones` are the columns that are 1 in every row. Its states must be those listed."""
    sides = [{row for row, *_ in entries} - ones for entries in (head.query, head.key)]
    need(all(is_code(columns[row]) for side in sides for row in side), "a head reads what is neither a code nor 1")
    (asked, named) = sides
    need(len(named) == 1 and len(asked) <= 1, "a head compares other than two codes")
    key = columns[min(named)]
    need(all(columns[row][2] == key[2] for row in asked), "a head compares codes with different capacities")
    need({*_closure(head, ones, precision)} == {*listed}, "the scores that are listed are not those of a head")
    need(listed == sorted({*listed}), "the scores of a head are not in order")
    for score, differs in listed:
        weight = int(exp(np.array([score]), precision)[0])
        need(weight == 0 if differs else score == 0, f"codes that {'differ' if differs else 'are equal'} score {score}")
    return CodeRead(columns[min(asked)][1] if asked else 0, key[1], key[2])


def _closure(head: family_form.FamilyHead, ones: set[int], precision: Precision) -> set[State]:
    """All (score, do the codes differ) after any number of bits; without a code in the query, the number 0 is asked."""
    asks = any(row not in ones for row, *_ in head.query)

    def side(entries: list[family_form.Entry], column: int, bit: int) -> int:
        total = 0
        for row, its, weight in entries:  # by row, hence in the order of the sum
            if its == column:
                term = multiply(precision.one * (1 if row in ones else bit), weight, precision)
                total = int(add(total, int(term), precision))
        return total

    bits = [*product((-1, 1) if asks else (-1,), (-1, 1))]
    terms = {
        (a, b): [int(multiply(side(head.query, c, a), side(head.key, c, b), precision)) for c in range(head.size)]
        for a, b in bits
    }
    found, waiting = {(0, False)}, [(0, False)]
    while waiting:
        score, differs = waiting.pop()
        for a, b in bits:
            after = score
            for term in terms[a, b]:
                after = int(add(after, term, precision))
            state = after, differs or a != b
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found


# One row: what it computes from itself and from what its heads fetched, by the sums of F_p.
#
# Rows are vectors over the columns of the family; those of codes are 0, and nothing reads or writes them here.


CELLS = 1 << 22
MOST_CELLS = 1 << 35

HeadContribution = tuple[np.ndarray, np.ndarray]
"""(columns that a head writes, values [case, column])."""


class FamilyRows:
    """The weights of a program, but for queries and keys."""

    def __init__(self, program: family_form.FamilyProgram, symbols: int, precision: Precision) -> None:
        self._p, self.program, self.width = precision, program, len(program.columns)
        width = self.width
        self._embed = _matrix((symbols, width), program.embed, precision).dense().astype(np.int64)
        self.out = _matrix((program.outputs, width), program.out, precision).transposed()
        self.values = [
            [_matrix((width, width), head.value, precision) for head in layer.heads] for layer in program.layers
        ]
        self.mlps = [_RowMlp(layer.mlp, width, precision) for layer in program.layers]
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

    def head_output(self, layer: int, head: int, rows: np.ndarray) -> HeadContribution:
        """Return the output of a head that reads one row."""
        matrix = self.values[layer][head]
        columns = np.unique(matrix.column).astype(np.int64)
        return columns, weighted(rows, matrix.rows(), self.width, self._p)[..., columns]

    def heads(self, own: np.ndarray, outputs: Sequence[HeadContribution]) -> np.ndarray:
        """Heads summed in order, then the row itself."""
        total = np.zeros_like(own)
        for columns, numbers in outputs:
            total[:, columns] = add(total[:, columns], numbers, self._p)
        return add(total, own, self._p)

    def mlp(self, layer: int, rows: np.ndarray) -> np.ndarray:
        return add(rows, self.mlps[layer](rows), self._p)

    def logits(self, own: np.ndarray, outputs: Sequence[HeadContribution]) -> np.ndarray:
        """[cases, outputs] of rows whose heads all are in the first layer; equal rows are computed once."""
        state, which = self.heads(own, outputs), np.arange(len(own))
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


class _RowMlp:
    """ReLU(ReLU(x·W1 + b1)·W2 + b2)."""

    def __init__(self, claimed: family_form.FamilyMlp, width: int, precision: Precision) -> None:
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
    """The rows of a matrix whose factor is not 0: the others add nothing."""
    used = {*np.flatnonzero(factors.any(axis=0)).tolist()}
    return (row for row in matrix.rows() if row[0] in used)


def _matrix(shape: tuple[int, int], entries: Sequence[family_form.Entry], precision: Precision) -> Matrix:
    need(entries == sorted(entries), "the entries of a tensor are not in order")
    need(all(0 < abs(value) <= precision.bound for *_, value in entries), "an entry is 0, or no number of F_p")
    try:
        return Matrix.from_entries(shape, *(zip(*entries, strict=True) if entries else ((), (), ())))
    except WeightsError as error:
        raise Refused(f"a tensor is not valid: {error}") from None


def _vector(size: int, entries: Sequence[tuple[int, int]], precision: Precision) -> np.ndarray:
    column = _matrix((size, 1), [(k, 0, value) for k, value in entries], precision)
    return column.dense().reshape(-1).astype(np.int64)
