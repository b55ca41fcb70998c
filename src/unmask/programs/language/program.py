"""Program: what a transformer does, over named registers, before any number is chosen.

    registers   names for the columns of the residual stream; the first is `one`, which is 1 in every row
    positions   per register: a declared expression of (n, N), as bits, a flag or a one-hot code
    embedding   symbol → registers
    layers      heads (columns of query and key, value map) and an MLP (hidden units), made by gadgets
    readout     registers → logits
    frame       attention, the looped layers, the columns that receive noise

`assemble` turns it into weights for one precision.

A program may be that of every N at once: `every` is then the number of its rows as an expression in N, and a code has
one column that stands for all its bits. `instance.program_at` gives the program of one N.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.programs.language.builders import Columns, Edges, LayerBuilder, Weight
from unmask.programs.language.coefficients import ONE
from unmask.programs.language.declarations import Declaration, Flag, SignedBits, TableBits, TableFlag
from unmask.programs.language.positions import Expression, constant, n
from unmask.weights.transformer import Attention, Noise

Size = int | Expression
"""A number of rows or letters, or an expression for it in N: that of every N."""


@dataclass
class Program:
    """A transformer under construction. `symbols` and `outputs` name the rows of embed and out."""

    symbols: tuple[str, ...]
    outputs: int
    length: int
    rows: int
    attention: Attention = "unmasked"
    loop: tuple[int, int] | None = None
    noise: Noise | None = None
    every: Expression | None = None
    one: Columns = field(init=False)
    registers: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    positions: dict[str, Declaration] = field(init=False, default_factory=dict)
    codes: dict[str, Expression] = field(init=False, default_factory=dict)
    """Of a program of every N: how many numbers a code has room for, by its register."""
    embedding: list[Edges] = field(init=False, default_factory=list)
    layers: list[LayerBuilder] = field(init=False, default_factory=list)
    readout: list[Edges] = field(init=False, default_factory=list)
    width: int = field(init=False, default=0)
    _first: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.one = self.flag("one", constant(1))

    def register(
        self, name: str, labels: int | Sequence[str] = ("",), declaration: Declaration | None = None
    ) -> Columns:
        """A new register at the right end; returns its columns."""
        assert name not in self.registers, f"the register {name} exists already"
        labels = tuple(str(i) for i in range(labels)) if isinstance(labels, int) else tuple(labels)
        self.registers[name] = labels
        self._first[name] = self.width
        self.width += len(labels)
        if declaration is not None:
            self.positions[name] = declaration
        return self.columns(name)

    def flag(self, name: str, where: Expression | np.ndarray, copies: int | None = None) -> Columns:
        """A register that is 1 in the rows that a formula or a table names; `copies` of it, numbered, if given."""
        declaration = Flag(where) if isinstance(where, Expression) else TableFlag(where, n)
        return self.register(name, ("",) if copies is None else copies, declaration)

    def code(
        self,
        name: str,
        number: Expression | np.ndarray,
        bits: int | None = None,
        *,
        only: Expression | None = None,
        room: Size | None = None,
    ) -> Columns:
        """A register with the signed bits of a number that a formula or a table gives: as many as `room` needs."""
        if isinstance(number, Expression):
            declaration: Declaration = SignedBits(number, only)
        else:
            assert only is None, "a table says itself where its code is 0"
            declaration = TableBits(number, n)
        room = room if room is not None else self.every if self.every is not None else self.rows
        if bits is None and isinstance(room, Expression):
            self.codes[name] = room
            return self.register(name, ("every bit",), declaration)
        return self.register(name, bits_for(int(room)) if bits is None else bits, declaration)  # ty: ignore

    def columns(self, name: str) -> Columns:
        first = self._first[name]
        return np.arange(first, first + len(self.registers[name]))

    def layer(self) -> LayerBuilder:
        self.layers.append(LayerBuilder(self.one))
        return self.layers[-1]

    def embed(self, symbols: np.ndarray | Sequence[int] | int, columns: Columns, weight: Weight = ONE) -> None:
        """The embedding of symbols[i] has weight in columns[i]."""
        self.embedding.append(Edges.between(symbols, columns, weight))

    def read_out(self, outputs: np.ndarray | Sequence[int] | int, columns: Columns, weight: Weight = ONE) -> None:
        """The logit of outputs[i] adds weight · columns[i]."""
        self.readout.append(Edges.between(outputs, columns, weight))


def program_for(
    symbols: tuple[str, ...], outputs: int, length: Size, rows: Size, attention: Attention = "unmasked"
) -> Program:
    """A program of one length, or that of every length where `length` and `rows` are expressions in N."""
    if isinstance(length, Expression) or isinstance(rows, Expression):
        assert isinstance(rows, Expression), "the rows of a program of every N are an expression in N"
        return Program(symbols, outputs, 0, 0, attention, every=rows)
    return Program(symbols, outputs, length, rows, attention)


def bits_for(count: int) -> int:
    """How many bits the codes 0 … count - 1 take; at least 1."""
    return max(1, (count - 1).bit_length())
