"""Program: what a transformer does, over named registers, before any number is chosen.

    registers   names for the columns of the residual stream
    positions   per register: a declared expression of (n, N), as bits, a flag or a one-hot code
    embedding   symbol → registers
    layers      heads (columns of query and key, value map) and an MLP (hidden units), made by gadgets
    readout     registers → logits

`programs.assemble` turns it into weights for one precision. Edges are added in bulk, as arrays of columns, so
that a program with a million hidden units takes no longer to write down than its arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.programs.coefficients import ONE, Coefficient
from unmask.programs.expressions import Expression

Columns = np.ndarray
Weight = Coefficient | np.ndarray
"""A coefficient by name, or integers of F_p taken from the weights of another model."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Entries of one matrix: from[i] → to[i], all with one coefficient or each with its own integer."""

    source: np.ndarray
    target: np.ndarray
    weight: Weight


@dataclass(frozen=True)
class SignedBits:
    """The bits of an expression as ±1, the highest first; where `only` is 0, the code is 0."""

    expression: Expression
    only: Expression | None = None


@dataclass(frozen=True)
class OneHot:
    """1 in the column of the expression's value; where `only` is 0, or no column has that value, all 0."""

    expression: Expression
    only: Expression | None = None


@dataclass(frozen=True)
class Thermometer:
    """1 in every column whose number is beyond the expression's value."""

    expression: Expression


@dataclass(frozen=True)
class AllBut:
    """1 in every column but that of the expression's value."""

    expression: Expression


@dataclass(frozen=True)
class Flag:
    """1 where the expression is not 0."""

    expression: Expression


@dataclass(frozen=True, eq=False)
class TableRows:
    """Row `row` of a table of integers of F_p: how a converted model declares positions over its source's."""

    table: np.ndarray
    row: Expression
    only: Expression | None = None


@dataclass(frozen=True, eq=False)
class TableBits:
    """The signed bits of a number that a table gives for each row: how a circuit is written into positions."""

    table: np.ndarray
    row: Expression


@dataclass(frozen=True, eq=False)
class TableFlag:
    """A flag that a table gives for each row."""

    table: np.ndarray
    row: Expression


Declaration = SignedBits | OneHot | Thermometer | AllBut | Flag | TableRows | TableBits | TableFlag


@dataclass
class HeadBuilder:
    """One attention head: the columns of its queries and keys, in the order of summation, and its value map."""

    query: list[Edges] = field(default_factory=list)
    key: list[Edges] = field(default_factory=list)
    value: list[Edges] = field(default_factory=list)
    width: int = 0

    def column(self, query: Sequence[tuple[Columns, Weight]], key: Sequence[tuple[Columns, Weight]]) -> None:
        """Append one column: ⟨query form, key form⟩ is added to the score."""
        for side, form in ((self.query, query), (self.key, key)):
            for columns, weight in form:
                columns = np.atleast_1d(columns)
                side.append(Edges(columns, np.full(columns.shape, self.width), weight))
        self.width += 1

    def copy(self, source: Columns, target: Columns, weight: Weight = ONE) -> None:
        """target += weight · source of the attended row."""
        source, target = np.broadcast_arrays(np.atleast_1d(source), np.atleast_1d(target))
        self.value.append(Edges(source, target, weight))


@dataclass
class MlpBuilder:
    """ReLU(ReLU(x·W1 + b1)·W2 + b2), unit by unit."""

    inputs: list[Edges] = field(default_factory=list)
    biases: list[tuple[np.ndarray, Weight]] = field(default_factory=list)
    outputs: list[Edges] = field(default_factory=list)
    offsets: list[tuple[np.ndarray, Weight]] = field(default_factory=list)
    size: int = 0

    def units(self, count: int, *, bias: Weight | None = None) -> np.ndarray:
        """New hidden units; returns their numbers."""
        made = np.arange(self.size, self.size + count)
        self.size += count
        if bias is not None:
            self.biases.append((made, bias))
        return made

    def read(self, units: np.ndarray, columns: Columns, weight: Weight = ONE) -> None:
        """units[i] reads weight · columns[i]."""
        columns, units = np.broadcast_arrays(np.atleast_1d(columns), np.atleast_1d(units))
        self.inputs.append(Edges(columns, units, weight))

    def write(self, units: np.ndarray, columns: Columns, weight: Weight = ONE) -> None:
        """columns[i] += weight · units[i], inside the outer ReLU."""
        units, columns = np.broadcast_arrays(np.atleast_1d(units), np.atleast_1d(columns))
        self.outputs.append(Edges(units, columns, weight))

    def offset(self, columns: Columns, weight: Weight) -> None:
        """The output bias of these columns."""
        self.offsets.append((np.atleast_1d(columns), weight))


@dataclass
class LayerBuilder:
    """Heads in the order in which they are summed, then an MLP."""

    heads: list[HeadBuilder] = field(default_factory=list)
    mlp: MlpBuilder = field(default_factory=MlpBuilder)

    def head(self) -> HeadBuilder:
        self.heads.append(HeadBuilder())
        return self.heads[-1]


@dataclass
class Program:
    """A transformer under construction. `symbols` and `outputs` name the rows of embed and out."""

    symbols: tuple[str, ...]
    outputs: int
    length: int
    rows: int
    registers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    positions: dict[str, Declaration] = field(default_factory=dict)
    embedding: list[Edges] = field(default_factory=list)
    layers: list[LayerBuilder] = field(default_factory=list)
    readout: list[Edges] = field(default_factory=list)
    _first: dict[str, int] = field(default_factory=dict)
    _width: int = 0

    @property
    def width(self) -> int:
        return self._width

    def register(
        self, name: str, labels: int | Sequence[str] = ("",), declaration: Declaration | None = None
    ) -> Columns:
        """A new register at the right end; returns its columns."""
        assert name not in self.registers, f"the register {name} exists already"
        labels = tuple(str(i) for i in range(labels)) if isinstance(labels, int) else tuple(labels)
        self.registers[name] = labels
        self._first[name] = self._width
        self._width += len(labels)
        if declaration is not None:
            self.positions[name] = declaration
        return self.columns(name)

    def columns(self, name: str) -> Columns:
        first = self._first[name]
        return np.arange(first, first + len(self.registers[name]))

    def layer(self) -> LayerBuilder:
        self.layers.append(LayerBuilder())
        return self.layers[-1]

    def embed(self, symbols: np.ndarray | Sequence[int] | int, columns: Columns, weight: Weight = ONE) -> None:
        """The embedding of symbols[i] has weight in columns[i]."""
        symbols, columns = np.broadcast_arrays(np.atleast_1d(symbols), np.atleast_1d(columns))
        self.embedding.append(Edges(symbols, columns, weight))

    def read_out(self, outputs: np.ndarray | Sequence[int] | int, columns: Columns, weight: Weight = ONE) -> None:
        """The logit of outputs[i] adds weight · columns[i]."""
        outputs, columns = np.broadcast_arrays(np.atleast_1d(outputs), np.atleast_1d(columns))
        self.readout.append(Edges(outputs, columns, weight))


def bits_for(count: int) -> int:
    """How many bits the codes 0 … count - 1 take; at least 1."""
    return max(1, (count - 1).bit_length())
