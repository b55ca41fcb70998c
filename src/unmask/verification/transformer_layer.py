"""What a layer computes, written once for all provers, over any domain of numbers.

    residual:   G  = (heads, summed in order) + H
    MLP:        H' = G + ReLU(ReLU(G·W1 + b1)·W2 + b2)

Products come first and biases last; every addition clips. Each prover determines in its own way which rows a head
reads, and passes the outputs of the heads as *parts*: rows with some of the columns, which are 0 elsewhere. The
domains:

    CaseVectors                 vectors over finite cases, for words of one length (`words.symbolic_layers`) and for
                                rows of every N (`lengths.row_tables`)
    WiredTransformer            one-hot wires (`circuits.constant_depth`)
    UnknownSums                 numbers, and names for the cells of an unknown source (`conversions.unknown_source`)

The reference engine, the fast engine and the checker have their own code for a layer, so that they do not share a
fault. `CaseVectors` multiplies with the prepared matrices of the fast engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from unmask.engines.prepared_weights import PreparedMlp, SparseProduct
from unmask.numerics.compact import Compact
from unmask.weights.transformer import Mlp

Row = TypeVar("Row")
Part = TypeVar("Part")
Weights = TypeVar("Weights")
Biases = TypeVar("Biases")


class NumberDomain(ABC, Generic[Row, Part, Weights, Biases]):
    """The operations on rows that a prover has to define to run a layer."""

    @abstractmethod
    def total(self, parts: Sequence[Part]) -> Part:
        """Return the sum of several parts, in order, clipped after every addition."""

    @abstractmethod
    def add(self, left: Row | Part, right: Row | Part) -> Row:
        """Return left + right, clipped."""

    @abstractmethod
    def times(self, row: Row | Part, weights: Weights) -> Part:
        """Return row·weights: every product is rounded, and they are summed in order."""

    @abstractmethod
    def rectified(self, part: Part, biases: Biases) -> Part:
        """Return ReLU(part + biases); the part may be overwritten."""

    def residual(self, row: Row, heads: Sequence[Part]) -> Row:
        """Return G: the outputs of the heads, summed in order, plus H."""
        if not heads:
            return row
        return self.add(self.total(heads) if len(heads) > 1 else heads[0], row)

    def hidden(self, G: Row, mlp: Any) -> Part:
        """Return the hidden units ReLU(G·W1 + b1); `mlp` has attributes w1, b1, w2 and b2 of the domain's types."""
        return self.rectified(self.times(G, mlp.w1), mlp.b1)

    def mlp(self, G: Row, mlp: Any) -> Row:
        """Return G + ReLU(ReLU(G·W1 + b1)·W2 + b2)."""
        return self.add(G, self.rectified(self.times(self.hidden(G, mlp), mlp.w2), mlp.b2))


@dataclass(frozen=True, eq=False)
class SomeColumns:
    """Some columns of vectors, values [columns, cases]; the others are 0. A single case stands for all cases."""

    columns: np.ndarray
    values: np.ndarray

    def __getitem__(self, cases: np.ndarray | slice) -> "SomeColumns":
        return SomeColumns(self.columns, self.values[:, cases])


class CaseVectors(NumberDomain[np.ndarray, SomeColumns, SparseProduct, np.ndarray]):
    """Vectors [columns, cases] in the narrow integer type. The weights of an MLP are a `PreparedMlp`."""

    def __init__(self, compact: Compact) -> None:
        self._compact = compact

    def prepared(self, mlp: Mlp) -> PreparedMlp:
        return PreparedMlp(mlp, self._compact, np.arange(mlp.w1.shape[0]))

    def total(self, parts: Sequence[SomeColumns]) -> SomeColumns:
        columns = np.unique(np.concatenate([part.columns for part in parts]))
        cases = max(part.values.shape[1] for part in parts)
        total = np.zeros((columns.size, cases), dtype=self._compact.narrow)
        for part in parts:
            total[np.searchsorted(columns, part.columns)] += part.values
            self._compact.clip(total)
        return SomeColumns(columns, total)

    def add(self, left: np.ndarray | SomeColumns, right: np.ndarray | SomeColumns) -> np.ndarray:
        part, row = (left, right) if isinstance(left, SomeColumns) else (right, left)
        assert isinstance(part, SomeColumns)
        assert isinstance(row, np.ndarray)
        result = row.copy()
        changed = row[part.columns]
        changed += part.values
        result[part.columns] = self._compact.clip(changed)
        return result

    def times(self, row: np.ndarray | SomeColumns, weights: SparseProduct) -> SomeColumns:
        values = row.values if isinstance(row, SomeColumns) else row
        return SomeColumns(weights.columns, weights(values, slice(0, values.shape[1])))

    def rectified(self, part: SomeColumns, biases: np.ndarray) -> SomeColumns:
        values = np.add(part.values, biases, out=part.values)
        return SomeColumns(part.columns, self._compact.positive(values))
