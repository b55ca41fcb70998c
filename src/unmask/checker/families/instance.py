"""Family × N → every entry of a folder: is this folder the family's?

code        ⌈log2 room⌉ columns, at least one: the bits of its number as ±1, the highest first
head        the columns of query and key once for every bit of the codes that it reads
the rest    the same entries between the same columns
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from unmask.checker.certificate import need
from unmask.checker.families import form
from unmask.checker.families.formulas import number, values
from unmask.numerics.precision import Precision
from unmask.weights.matrix import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

Entries = dict[tuple[int, ...], int]
AT_ONCE = 1 << 12  # rows


def compare(claimed: form.Certificate, model: Model) -> int:
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
    return sum(_transformer(name, Instance(program, length), model.transformers[name]) for name, program in programs)


def _transformer(name: str, wanted: "Instance", found: Transformer) -> int:
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


class Instance:
    """A program at one N: which columns each of its columns becomes."""

    def __init__(self, program: form.Program, length: int) -> None:
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

    def bits_of(self, head: form.Head) -> int:
        """How often the columns of a head stand there."""
        read = {row for row, *_ in (*head.query, *head.key)}
        counts = {len(self._places[row]) for row in read if is_code(self.program.columns[row])}
        need(len(counts) == 1, "a head compares codes with different numbers of bits, or none")
        return counts.pop()

    def repeated(self, entries: Iterable[form.Entry], size: int, bits: int) -> Entries:
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
            held = values(column[1], n, self.length)
            if is_code(column):
                shifts = np.arange(len(places))[::-1]
                need(bool(((held >= 0) & (held >> len(places) == 0)).all()), "a code has no room for its number")
                table[:, places] = np.where(held[:, None] >> shifts & 1, precision.one, -precision.one)
            else:
                need(bool(np.isin(held, (0, 1)).all()), "a flag is neither 0 nor 1")
                table[:, places[0]] = precision.one * held
        return table


def is_code(column: form.Formula) -> bool:
    return column is not None and column[0] == "code"


def _bits(room: int) -> int:
    """The least m >= 1 with room <= 2^m."""
    return max(1, (room - 1).bit_length())


def _entries(stored: Matrix | np.ndarray) -> Entries:
    if isinstance(stored, Matrix):
        places = zip(stored.row.tolist(), stored.column.tolist(), strict=True)
        return dict(zip(places, stored.value.tolist(), strict=True))
    return {(int(k),): int(stored[k]) for k in np.flatnonzero(stored)}
