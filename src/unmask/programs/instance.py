"""Program for every N × N → Program: the only way to instantiate a family at one length.

    register    the same columns; a code has as many as its range at N needs
    head        the same columns; a block that reads a code, once for every bit of it, the highest first, or
                the lowest where the block says so
    the rest    the same edges between the same named columns: embedding, value maps, MLPs and logits read and write
                no code

So the weights of two lengths differ only in the number of bits, and every entry is a function of (tensor, row, column,
N). A program that does not have this form is refused for every N.
"""

import numpy as np

from unmask.programs.program import Columns, Edges, Form, HeadBuilder, Program, bits_for


class NotAFamily(AssertionError):
    """The error for a program for every N that reads or writes a code other than bit by bit."""


def program_at(program: Program, length: int) -> Program:
    """The program of one length."""
    assert program.every is not None, "this is the program of one length already"
    if program.noise is not None:
        raise NotAFamily("a program of every N receives no noise")
    made = Program(program.symbols, program.outputs, length, program.every.at(length), program.attention)
    for name, labels in program.registers.items():
        if name != "one":
            size = bits_for(program.codes[name].at(length)) if name in program.codes else labels
            made.register(name, size, program.positions.get(name))
    place = _Places(program, made)
    made.embedding += [Edges(e.source, place.finite(e.target), e.weight) for e in program.embedding]
    made.readout += [Edges(e.source, place.finite(e.target), e.weight) for e in program.readout]
    for layer in program.layers:
        new = made.layer()
        for head in layer.heads:
            _head(head, new.head(), place)
        new.mlp.size = layer.mlp.size
        new.mlp.biases += layer.mlp.biases
        new.mlp.inputs += [Edges(place.finite(e.source), e.target, e.weight) for e in layer.mlp.inputs]
        new.mlp.outputs += [Edges(e.source, place.finite(e.target), e.weight) for e in layer.mlp.outputs]
        new.mlp.offsets += [(place.finite(columns), weight) for columns, weight in layer.mlp.offsets]
    made.loop = program.loop
    return made


class _Places:
    """Columns of a program for every N → columns for one N."""

    def __init__(self, program: Program, made: Program) -> None:
        self._finite = np.full(program.width, -1)
        self._bits: dict[int, Columns] = {}
        for name in program.registers:
            if name in program.codes:
                self._bits[int(program.columns(name)[0])] = made.columns(name)
            else:
                self._finite[program.columns(name)] = made.columns(name)

    def finite(self, columns: Columns) -> Columns:
        moved = self._finite[columns]
        if (moved < 0).any():
            raise NotAFamily("a code is read or written outside the blocks of a head")
        return moved

    def bits(self, form: Form) -> list[Columns]:
        """The columns of every code that a form reads."""
        return [self._bits[c] for columns, _ in form for c in np.atleast_1d(columns).tolist() if c in self._bits]

    def form(self, form: Form, bit: int | None) -> Form:
        """The form over the columns for one N, with one bit of every code."""
        return [(self._columns(np.atleast_1d(columns), bit), weight) for columns, weight in form]

    def _columns(self, columns: Columns, bit: int | None) -> Columns:
        if bit is None:
            return self.finite(columns)
        return np.array([self._bits[c][bit] if c in self._bits else self._finite[c] for c in columns.tolist()])


def _head(head: HeadBuilder, made: HeadBuilder, place: _Places) -> None:
    start = _copied(head, made, place)
    forms = forms_of(head, start)
    for first, last in pieces_of(head):
        if first < start:
            continue
        block = forms[first:last]
        codes = [bits for query, key in block for bits in (*place.bits(query), *place.bits(key))]
        if len({bits.size for bits in codes}) > 1:
            raise NotAFamily("a block of a head reads codes with different numbers of bits")
        rising = (first, last) in head.rising
        bits: list[int | None] = list(range(codes[0].size)) if codes else [None]
        for bit in reversed(bits) if rising else bits:
            made.bit(*((place.form(query, bit), place.form(key, bit)) for query, key in block), rising=rising)
    made.value += [Edges(place.finite(e.source), place.finite(e.target), e.weight) for e in head.value]


def _copied(head: HeadBuilder, made: HeadBuilder, place: _Places) -> int:
    """A head of another model starts with columns that came as whole matrices: they are moved so, and counted."""
    start = next((first for first, _ in head.blocks), head.width)
    whole = [e for e in (*head.query, *head.key) if isinstance(e.weight, np.ndarray)]
    start = min(start, 1 + max((int(e.target.max(initial=-1)) for e in whole), default=-1))
    for edges, side in ((head.query, made.query), (head.key, made.key)):
        for e in edges:
            before = e.target < start
            if before.any():
                weight = e.weight[before] if isinstance(e.weight, np.ndarray) else e.weight
                side.append(Edges(place.finite(e.source[before]), e.target[before], weight))
    made.width = start
    return start


def forms_of(head: HeadBuilder, start: int = 0) -> list[tuple[Form, Form]]:
    """(query, key) of every column of a head; those before `start` are empty."""
    forms: list[tuple[list, list]] = [([], []) for _ in range(head.width)]
    for side, edges in enumerate((head.query, head.key)):
        for e in edges:
            if e.target.max(initial=-1) < start:
                continue
            for source, target, weight in zip(*np.broadcast_arrays(e.source, e.target), e.weights, strict=True):
                forms[target][side].append((np.array([source]), weight))
    return [(query, key) for query, key in forms]


def pieces_of(head: HeadBuilder) -> list[tuple[int, int]]:
    """The columns of a head in pieces [first, last): its blocks, and the columns between them one by one."""
    pieces, column = [], 0
    for first, last in (*head.blocks, (head.width, head.width)):
        pieces += [(c, c + 1) for c in range(column, first)]
        pieces += [(first, last)] if last > first else []
        column = last
    return pieces
