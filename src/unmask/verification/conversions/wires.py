"""A program of every N, tensor by tensor, as sums: target → its terms (source, weight) in the order of summation."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from unmask.numerics.arithmetic import Precision
from unmask.programs import program
from unmask.programs.program import Edges, HeadBuilder, MlpBuilder, integers
from unmask.verification.conversions.unknown import Weight
from unmask.verification.lengths.obligations import NotShown

Wires = dict[int, list[tuple[int, int | Weight]]]


class HeadWires:
    """Queries and keys by column, values by the column that is written."""

    def __init__(self, head: HeadBuilder, precision: Precision) -> None:
        self.head, self.width = head, head.width
        self.query, self.key = wires(head.query, precision), wires(head.key, precision)
        self.value = wires(head.value, precision)

    def weights(self) -> Iterable[Weight]:
        for side in (self.query, self.key, self.value):
            yield from named(side)


class MlpWires:
    """Inputs and biases by unit, outputs and offsets by column."""

    def __init__(self, mlp: MlpBuilder, precision: Precision) -> None:
        self.size = mlp.size
        self.inputs, self.outputs = wires(mlp.inputs, precision), wires(mlp.outputs, precision)
        self.biases, self.offsets = _vector(mlp.biases, precision), _vector(mlp.offsets, precision)

    def weights(self) -> Iterable[Weight]:
        for side in (self.inputs, self.outputs):
            yield from named(side)
        yield from (w for vector in (self.biases, self.offsets) for w in vector.values() if isinstance(w, Weight))


def wires(edges: Iterable[Edges], precision: Precision) -> Wires:
    """source → target edges, by target; a pair that stands there twice is refused, as `assemble` does."""
    terms_of: dict[int, dict[int, int | Weight]] = {}
    for one in edges:
        sources, targets = np.broadcast_arrays(one.source, one.target)
        for a, b, weight in zip(sources.tolist(), targets.tolist(), one.weights, strict=True):
            terms = terms_of.setdefault(b, {})
            if a in terms:
                raise NotShown(f"the columns {a} and {b} are joined twice")
            terms[a] = _number(weight, precision)
    return {target: sorted(terms.items(), key=lambda term: term[0]) for target, terms in terms_of.items()}


def reversed_edges(edges: Iterable[Edges]) -> list[Edges]:
    """target → source: of matrices that are stored by what is written, embed and out."""
    return [Edges(e.target, e.source, e.weight) for e in edges]


def named(side: Wires) -> Iterable[Weight]:
    return (weight for terms in side.values() for _, weight in terms if isinstance(weight, Weight))


def _vector(parts: Iterable[tuple[np.ndarray, program.Weight]], precision: Precision) -> dict[int, int | Weight]:
    vector: dict[int, int | Weight] = {}
    for columns, weight in parts:
        for k, column in enumerate(columns.tolist()):
            if column in vector:
                raise NotShown(f"the bias {column} is set twice")
            vector[column] = _number(weight[k] if isinstance(weight, np.ndarray) else weight, precision)
    return vector


def _number(weight: Any, precision: Precision) -> int | Weight:
    return weight if isinstance(weight, Weight) else int(integers(weight, precision))
