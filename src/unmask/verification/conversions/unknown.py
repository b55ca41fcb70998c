"""A source of which only the shape is given: every weight is a name, and so are begin, T and P.

A construction may move such weights about. It cannot compute with them, compare them or ask whether they are 0, so that
what it makes of them it makes of all numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.expressions import variable
from unmask.numerics.arithmetic import Precision
from unmask.theorems.theorem import ConversionSource
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Attention, Head, Layer, Mlp, Transformer

BEGIN, STEPS, SLOTS = "begin", "steps", "slots"
"""The names of the sizes of a source: [is there a begin symbol?], T, P."""


@dataclass(frozen=True, eq=False)
class Weight:
    """The entry (row, column) of a tensor of one of the source's transformers; a vector has the column 0."""

    transformer: str
    tensor: str
    row: int
    column: int

    def __bool__(self) -> bool:
        raise TypeError("a construction asked for the value of a weight")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a construction compared a weight")

    __hash__ = None  # type: ignore[assignment]

    def is_entry(self, transformer: str, tensor: str, row: int, column: int) -> bool:
        return (self.transformer, self.tensor, self.row, self.column) == (transformer, tensor, row, column)


@dataclass(frozen=True)
class LayerShape:
    """How many columns the queries of each head have, and how many hidden units there are."""

    heads: tuple[int, ...] = (2, 1)
    hidden: int = 2


@dataclass(frozen=True)
class TransformerShape:
    """Columns, outputs and layers."""

    width: int
    outputs: int
    layers: tuple[LayerShape, ...]
    attention: Attention = "unmasked"

    @classmethod
    def of(cls, transformer: Transformer) -> "TransformerShape":
        layers = (
            LayerShape(tuple(head.wq.shape[1] for head in layer.heads), layer.mlp.b1.size)
            for layer in transformer.layers
        )
        return cls(transformer.width, transformer.out.shape[0], tuple(layers), transformer.attention)

    def __str__(self) -> str:
        heads = sum(len(layer.heads) for layer in self.layers)
        units = sum(layer.hidden for layer in self.layers)
        return f"{self.width} columns, {len(self.layers)} layers, {heads} heads and {units} hidden units in all"


@dataclass(frozen=True)
class Shape:
    """The symbols of a source, which of them is the mask, and its transformers."""

    symbols: int
    transformers: tuple[tuple[str, TransformerShape], ...]
    mask: int | None = None

    @classmethod
    def of(cls, model: Model) -> "Shape":
        shapes = tuple((name, TransformerShape.of(t)) for name, t in model.transformers.items())
        return cls(len(model.vocabulary), shapes, None if model.mask is None else model.token[model.mask])

    def __str__(self) -> str:
        parts = "; ".join(f"{name}: {shape}" for name, shape in self.transformers)
        return f"{self.symbols} symbols; {parts}"


def unknown_source(shape: Shape) -> ConversionSource:
    """Every source of a shape."""
    return ConversionSource(
        {name: _transformer(name, shape.symbols, its) for name, its in shape.transformers},
        tuple(f"symbol {i}" for i in range(shape.symbols)),
        begin=variable(BEGIN),
        steps=variable(STEPS),
        slots=variable(SLOTS),
        mask=shape.mask,
    )


class UnknownTransformer(Transformer):
    """Names for weights, which fit every precision."""

    def __post_init__(self) -> None:
        """There are no values to check."""


def _transformer(name: str, symbols: int, shape: TransformerShape) -> Transformer:
    def named(tensor: str) -> Callable[[int, int], Weight]:
        return lambda row, column: Weight(name, tensor, row, column)

    def matrix(tensor: str, rows: int, columns: int) -> Matrix:
        row, column = (axis.ravel() for axis in np.indices((rows, columns)))
        return Matrix((rows, columns), row, column, _names(named(tensor), row, column))

    def vector(tensor: str, size: int) -> np.ndarray:
        return _names(named(tensor), np.arange(size), np.zeros(size, dtype=np.int64))

    def layer(number: int, its: LayerShape) -> Layer:
        prefix, width = f"layers.{number}", shape.width
        heads = tuple(
            Head(
                matrix(f"{prefix}.heads.{h}.wq", width, columns),
                matrix(f"{prefix}.heads.{h}.wk", width, columns),
                matrix(f"{prefix}.heads.{h}.wv", width, width),
            )
            for h, columns in enumerate(its.heads)
        )
        mlp = Mlp(
            matrix(f"{prefix}.mlp.w1", width, its.hidden),
            vector(f"{prefix}.mlp.b1", its.hidden),
            matrix(f"{prefix}.mlp.w2", its.hidden, width),
            vector(f"{prefix}.mlp.b2", width),
        )
        return Layer(heads, mlp)

    return UnknownTransformer(
        precision=Precision(1),
        embed=matrix("embed", symbols, shape.width),
        positions=np.empty((0, shape.width), dtype=object),
        layers=tuple(layer(number, its) for number, its in enumerate(shape.layers)),
        out=matrix("out", shape.outputs, shape.width),
        attention=shape.attention,
    )


def _names(named: Callable[[int, int], Weight], row: np.ndarray, column: np.ndarray) -> np.ndarray:
    names = np.empty(row.size, dtype=object)
    for k, (i, j) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
        names[k] = named(i, j)
    return names
