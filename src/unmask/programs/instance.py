"""Program for every N × N → Program: the only way to instantiate a program for every N at one length.

    register    the same columns; a code has as many columns as the numbers below its range at N have bits
    head        the same columns; a block that reads a code is repeated for every bit, the highest bit first, or the
                lowest bit first if the block is `rising`
    others      embedding, value maps, MLPs and logits have the same edges between the same named columns; they must
                not read or write a code

So the weights of two lengths differ only in the number of bits, and every entry is a function of (tensor, row, column,
N). For a program without this form `NotAFamily` is raised.
"""

import numpy as np

from unmask.programs.program import Columns, Edges, Form, HeadBuilder, Program, bits_for


class NotAFamily(AssertionError):
    """Raised for a program for every N that reads or writes a code in another way than bit by bit in a head."""


def program_at(program: Program, length: int) -> Program:
    """Return the program of one length."""
    assert program.rows_in_length is not None, "this program is for one length already"
    if program.noise is not None:
        raise NotAFamily("a program of every N receives no noise")
    instance = Program(program.symbols, program.outputs, length, program.rows_in_length.at(length), program.attention)
    for name, labels in program.registers.items():
        if name != "one":
            size = bits_for(program.codes[name].at(length)) if name in program.codes else labels
            instance.register(name, size, program.positions.get(name))
    column_map = _ColumnMap(program, instance)
    instance.embedding += [Edges(e.source, column_map.mapped(e.target), e.weight) for e in program.embedding]
    instance.readout += [Edges(e.source, column_map.mapped(e.target), e.weight) for e in program.readout]
    for layer in program.layers:
        new_layer = instance.layer()
        for head in layer.heads:
            _head(head, new_layer.head(), column_map)
        new_layer.mlp.size = layer.mlp.size
        new_layer.mlp.biases += layer.mlp.biases
        new_layer.mlp.inputs += [Edges(column_map.mapped(e.source), e.target, e.weight) for e in layer.mlp.inputs]
        new_layer.mlp.outputs += [Edges(e.source, column_map.mapped(e.target), e.weight) for e in layer.mlp.outputs]
        new_layer.mlp.offsets += [(column_map.mapped(columns), weight) for columns, weight in layer.mlp.offsets]
    instance.loop = program.loop
    return instance


def programs_at(programs: dict[str, Program], length: int) -> dict[str, Program]:
    """Return the programs of one length; a program of one length already stays as it is."""
    return {
        name: program if program.rows_in_length is None else program_at(program, length)
        for name, program in programs.items()
    }


class _ColumnMap:
    """The map from columns of a program for every N to columns for one N."""

    def __init__(self, program: Program, instance: Program) -> None:
        self._mapped = np.full(program.width, -1)
        self._bits: dict[int, Columns] = {}
        for name in program.registers:
            if name in program.codes:
                self._bits[int(program.columns(name)[0])] = instance.columns(name)
            else:
                self._mapped[program.columns(name)] = instance.columns(name)

    def mapped(self, columns: Columns) -> Columns:
        """Return the columns for one N; raise if one of them belongs to a code."""
        moved = self._mapped[columns]
        if (moved < 0).any():
            raise NotAFamily("a code is read or written outside the blocks of a head")
        return moved

    def bits(self, form: Form) -> list[Columns]:
        """Return the columns for one N of every code that a form reads."""
        return [self._bits[c] for columns, _ in form for c in np.atleast_1d(columns).tolist() if c in self._bits]

    def form(self, form: Form, bit: int | None) -> Form:
        """Return the form over the columns for one N, with one bit of every code."""
        return [(self._columns(np.atleast_1d(columns), bit), weight) for columns, weight in form]

    def _columns(self, columns: Columns, bit: int | None) -> Columns:
        if bit is None:
            return self.mapped(columns)
        return np.array([self._bits[c][bit] if c in self._bits else self._mapped[c] for c in columns.tolist()])


def _head(head: HeadBuilder, instance: HeadBuilder, column_map: _ColumnMap) -> None:
    start = _copied(head, instance, column_map)
    forms = forms_of(head, start)
    for first, last in pieces_of(head):
        if first < start:
            continue
        block = forms[first:last]
        codes = [bits for query, key in block for bits in (*column_map.bits(query), *column_map.bits(key))]
        if len({bits.size for bits in codes}) > 1:
            raise NotAFamily("a block of a head reads codes with different numbers of bits")
        rising = (first, last) in head.rising
        bits: list[int | None] = list(range(codes[0].size)) if codes else [None]
        for bit in reversed(bits) if rising else bits:
            instance.bit(
                *((column_map.form(query, bit), column_map.form(key, bit)) for query, key in block), rising=rising
            )
    instance.value += [Edges(column_map.mapped(e.source), column_map.mapped(e.target), e.weight) for e in head.value]


def _copied(head: HeadBuilder, instance: HeadBuilder, column_map: _ColumnMap) -> int:
    """Copy the first columns of a head that simulates another model, which are whole matrices. Return their number."""
    start = next((first for first, _ in head.blocks), head.width)
    matrices = [e for e in (*head.query, *head.key) if isinstance(e.weight, np.ndarray)]
    start = min(start, 1 + max((int(e.target.max(initial=-1)) for e in matrices), default=-1))
    for edges, side in ((head.query, instance.query), (head.key, instance.key)):
        for e in edges:
            first = e.target < start
            if first.any():
                weight = e.weight[first] if isinstance(e.weight, np.ndarray) else e.weight
                side.append(Edges(column_map.mapped(e.source[first]), e.target[first], weight))
    instance.width = start
    return start


def forms_of(head: HeadBuilder, start: int = 0) -> list[tuple[Form, Form]]:
    """Return (query, key) of every column of a head; those before `start` are empty."""
    forms: list[tuple[list, list]] = [([], []) for _ in range(head.width)]
    for side, edges in enumerate((head.query, head.key)):
        for e in edges:
            if e.target.max(initial=-1) < start:
                continue
            for source, target, weight in zip(*np.broadcast_arrays(e.source, e.target), e.weights, strict=True):
                forms[target][side].append((np.array([source]), weight))
    return [(query, key) for query, key in forms]


def pieces_of(head: HeadBuilder) -> list[tuple[int, int]]:
    """Return the columns of a head as ranges [first, last): its blocks, and each other column by itself."""
    pieces, column = [], 0
    for first, last in (*head.blocks, (head.width, head.width)):
        pieces += [(c, c + 1) for c in range(column, first)]
        pieces += [(first, last)] if last > first else []
        column = last
    return pieces
