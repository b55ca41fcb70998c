"""Heads, MLPs and layers under construction: edges between columns, added in bulk as arrays.

A program with a million hidden units takes no longer to write down than its arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.programs.language.coefficients import ONE, Coefficient

Columns = np.ndarray
Weight = Coefficient | np.ndarray
"""A coefficient by name, or integers of F_p taken from the weights of another model."""

Form = Sequence[tuple[Columns, Weight]]
"""Σ weight·column: what one column of a query or a key is made of."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Entries of one matrix: from[i] → to[i], all with one coefficient or each with its own integer."""

    source: np.ndarray
    target: np.ndarray
    weight: Weight

    @classmethod
    def between(cls, source: np.ndarray | Sequence[int] | int, target: np.ndarray, weight: Weight) -> "Edges":
        """The shorter side is repeated, as NumPy does it."""
        return cls(*np.broadcast_arrays(np.atleast_1d(source), np.atleast_1d(target)), weight)

    @property
    def weights(self) -> list:
        """The weight of each entry."""
        entries = np.broadcast(self.source, self.target).size
        return list(self.weight) if isinstance(self.weight, np.ndarray) else [self.weight] * entries


@dataclass
class HeadBuilder:
    """One attention head: the columns of its queries and keys, in the order of summation, and its value map."""

    one: Columns
    """The column of the program that is 1 in every row."""
    query: list[Edges] = field(default_factory=list)
    key: list[Edges] = field(default_factory=list)
    value: list[Edges] = field(default_factory=list)
    width: int = 0
    blocks: list[tuple[int, int]] = field(default_factory=list)
    """The columns [first, last) that are one bit of a code: a head of a family has them once for every bit."""
    rising: list[tuple[int, int]] = field(default_factory=list)
    """The blocks of which a family has that of the lowest bit first; of others it has that of the highest first."""

    def bit(self, *columns: tuple[Form, Form], rising: bool = False) -> None:
        """Append the columns (query, key) of one bit."""
        first = self.width
        for query, key in columns:
            self.column(query, key)
        self.blocks.append((first, self.width))
        if rising:
            self.rising.append((first, self.width))

    def column(self, query: Form, key: Form) -> None:
        """Append one column: ⟨query form, key form⟩ is added to the score."""
        for side, form in ((self.query, query), (self.key, key)):
            for columns, weight in form:
                columns = np.atleast_1d(columns)
                side.append(Edges(columns, np.full(columns.shape, self.width), weight))
        self.width += 1

    def copy(self, source: Columns, target: Columns, weight: Weight = ONE) -> None:
        """target += weight · source of the attended row."""
        self.value.append(Edges.between(source, target, weight))


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
        self.inputs.append(Edges.between(columns, units, weight))

    def write(self, units: np.ndarray, columns: Columns, weight: Weight = ONE) -> None:
        """columns[i] += weight · units[i], inside the outer ReLU."""
        self.outputs.append(Edges.between(units, columns, weight))

    def offset(self, columns: Columns, weight: Weight) -> None:
        """The output bias of these columns."""
        self.offsets.append((np.atleast_1d(columns), weight))


@dataclass
class LayerBuilder:
    """Heads in the order in which they are summed, then an MLP."""

    one: Columns
    heads: list[HeadBuilder] = field(default_factory=list)
    mlp: MlpBuilder = field(default_factory=MlpBuilder)

    def head(self) -> HeadBuilder:
        self.heads.append(HeadBuilder(self.one))
        return self.heads[-1]
