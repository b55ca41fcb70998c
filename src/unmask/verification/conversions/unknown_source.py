"""A source model of which only the shape is known: every weight is a name, and so are begin, T and P.

A construction may move such weights. It cannot compute with them, compare them or test whether they are 0, so it treats
all numbers alike. A column of a row of the converted model has one of these values:

    a number              an integer of F_p, or an array of them, one per case
    Cell(s, l, c)         column c of the stream of transformer s after l layers, in the source's row hosted by this row
    PositionCell(s, c)    column c of that row of the source's table of positions
    Logit(s, v)           the logit of v in that row, after all layers
    ANYTHING              some number of F_p

Sums run in order and clip. `require_zeros` shows that terms which are 0 never matter and that 1·x = x.

`source_layers` finds the source's layers in a layer of the program. A layer of the source is in it if the layer has its
heads, in order, and its MLP, unit by unit. The queries and keys of a head come first, and all its matrices act on the
columns of one register in the source's order. So every sum runs over the source's terms in the source's order, and all
other terms are 0. Nothing else writes to that register.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeGuard

import numpy as np

from unmask.expressions import variable
from unmask.numerics.arithmetic import Precision, add, divide, multiply, relu
from unmask.programs import program
from unmask.programs.program import Edges, HeadBuilder, MlpBuilder, integers
from unmask.theorems.theorem import ConversionSource
from unmask.verification.lengths.obligations import Ledger, ObligationFailed
from unmask.verification.transformer_layer import NumberDomain
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Attention, Head, Layer, Mlp, Transformer

BEGIN, STEPS, SLOTS = "begin", "steps", "slots"
"""The names of the sizes of a source: [is there a begin symbol?], T, P."""


@dataclass(frozen=True, eq=False)
class SourceWeight:
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
    """The number of query columns of each head, and the number of hidden units."""

    heads: tuple[int, ...] = (2, 1)
    hidden: int = 2


@dataclass(frozen=True)
class TransformerShape:
    """The width, the number of outputs and the layers of a transformer."""

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
class SourceShape:
    """The symbols of a source, which of them is the mask, and its transformers."""

    symbols: int
    transformers: tuple[tuple[str, TransformerShape], ...]
    mask: int | None = None

    @classmethod
    def of(cls, model: Model) -> "SourceShape":
        shapes = tuple((name, TransformerShape.of(t)) for name, t in model.transformers.items())
        return cls(len(model.vocabulary), shapes, None if model.mask is None else model.token[model.mask])

    def __str__(self) -> str:
        parts = "; ".join(f"{name}: {shape}" for name, shape in self.transformers)
        return f"{self.symbols} symbols; {parts}"


def unknown_source(shape: SourceShape) -> ConversionSource:
    """Return the source that represents every source of a shape."""
    return ConversionSource(
        {name: _transformer(name, shape.symbols, its) for name, its in shape.transformers},
        tuple(f"symbol {i}" for i in range(shape.symbols)),
        begin=variable(BEGIN),
        steps=variable(STEPS),
        slots=variable(SLOTS),
        mask=shape.mask,
    )


class UnknownTransformer(Transformer):
    """A transformer whose weights are names, for every precision."""

    def __post_init__(self) -> None:
        """Unknown values need no check."""


def _transformer(name: str, symbols: int, shape: TransformerShape) -> Transformer:
    def weight_names(tensor: str) -> Callable[[int, int], SourceWeight]:
        return lambda row, column: SourceWeight(name, tensor, row, column)

    def matrix(tensor: str, rows: int, columns: int) -> Matrix:
        row, column = (axis.ravel() for axis in np.indices((rows, columns)))
        return Matrix((rows, columns), row, column, _names(weight_names(tensor), row, column))

    def vector(tensor: str, size: int) -> np.ndarray:
        return _names(weight_names(tensor), np.arange(size), np.zeros(size, dtype=np.int64))

    def layer(number: int, layer_shape: LayerShape) -> Layer:
        prefix, width = f"layers.{number}", shape.width
        heads = tuple(
            Head(
                matrix(f"{prefix}.heads.{h}.wq", width, columns),
                matrix(f"{prefix}.heads.{h}.wk", width, columns),
                matrix(f"{prefix}.heads.{h}.wv", width, width),
            )
            for h, columns in enumerate(layer_shape.heads)
        )
        mlp = Mlp(
            matrix(f"{prefix}.mlp.w1", width, layer_shape.hidden),
            vector(f"{prefix}.mlp.b1", layer_shape.hidden),
            matrix(f"{prefix}.mlp.w2", layer_shape.hidden, width),
            vector(f"{prefix}.mlp.b2", width),
        )
        return Layer(heads, mlp)

    return UnknownTransformer(
        precision=Precision(1),
        embed=matrix("embed", symbols, shape.width),
        positions=np.empty((0, shape.width), dtype=object),
        layers=tuple(layer(number, layer_shape) for number, layer_shape in enumerate(shape.layers)),
        out=matrix("out", shape.outputs, shape.width),
        attention=shape.attention,
    )


def _names(weight_name: Callable[[int, int], SourceWeight], row: np.ndarray, column: np.ndarray) -> np.ndarray:
    names = np.empty(row.size, dtype=object)
    for k, (i, j) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
        names[k] = weight_name(i, j)
    return names


@dataclass(frozen=True)
class Cell:
    """A column of the residual stream of the unknown source, before a layer."""

    transformer: str
    layer: int
    column: int


@dataclass(frozen=True)
class PositionCell:
    """A column of the positional encoding of the unknown source."""

    transformer: str
    column: int


@dataclass(frozen=True)
class Logit:
    """A logit of the unknown source."""

    transformer: str
    output: int


@dataclass(frozen=True)
class Anything:
    """Some number about which nothing is known."""


ANYTHING = Anything()
FieldNumber = int | np.ndarray
CellValue = FieldNumber | Cell | PositionCell | Logit | Anything
WeightedValue = tuple[int | SourceWeight, CellValue]


def is_number(value: object) -> TypeGuard[FieldNumber]:
    return isinstance(value, int | np.integer | np.ndarray)


def is_known_zero(value: object) -> bool:
    return is_number(value) and not np.any(value)


ColumnValues = dict[int, CellValue]
"""Column → value."""

ColumnTerms = dict[int, list[tuple[int, int | SourceWeight]]]
"""Target → the sources that are added to it, in order, each with its weight."""

ColumnBiases = dict[int, int | SourceWeight]
"""Column → bias; others are 0."""


@dataclass(frozen=True)
class UnknownSums(NumberDomain[ColumnValues, ColumnValues, ColumnTerms, ColumnBiases]):
    """Inner products and sums of values; `depth` and `width` are the layers and columns of each transformer."""

    precision: Precision
    depth: dict[str, int]
    width: dict[str, int]

    def weighted_sum(self, terms: Sequence[WeightedValue], symbol: int | None) -> CellValue:
        """Return the SUM of weight·value, in order, in a row that hosts the source's `symbol`."""
        terms = [(w, v) for w, v in terms if not is_known_zero(w) and not is_known_zero(v)]
        if all(is_number(w) and is_number(v) for w, v in terms):
            total: FieldNumber = 0
            for weight, value in terms:
                total = add(total, multiply(weight, value, self.precision), self.precision)
            return total
        if len(terms) == 1 and self._is_one(terms[0][0]):
            return terms[0][1]
        return self._embedded(terms, symbol) or self._logit(terms) or ANYTHING

    def sum(self, values: Iterable[CellValue]) -> CellValue:
        """Return the SUM of values, in order."""
        values = [value for value in values if not is_known_zero(value)]
        if len(values) == 1:
            return values[0]
        numbers = [value for value in values if is_number(value)]
        return reduce(self._plus, numbers, 0) if len(numbers) == len(values) else ANYTHING

    def total(self, parts: Sequence[ColumnValues]) -> ColumnValues:
        columns = sorted({column for part in parts for column in part})
        return {c: self.sum(part[c] for part in parts if c in part) for c in columns}

    def add(self, left: ColumnValues, right: ColumnValues) -> ColumnValues:
        return {**left, **right, **{c: self.sum([left[c], right[c]]) for c in left if c in right}}

    def times(self, row: ColumnValues, weights: ColumnTerms, symbol: int | None = None) -> ColumnValues:
        """Return row·weights, in a row that hosts the source's `symbol`."""
        return {c: self.weighted_sum([(w, row[k]) for k, w in terms], symbol) for c, terms in weights.items()}

    def rectified(self, part: ColumnValues, biases: ColumnBiases) -> ColumnValues:
        def rectified(value: CellValue, bias: int | SourceWeight) -> CellValue:
            return relu(self._plus(value, bias)) if is_number(value) and is_number(bias) else ANYTHING

        return {c: rectified(value, biases.get(c, 0)) for c, value in part.items()}

    def _plus(self, x: FieldNumber, y: FieldNumber) -> FieldNumber:
        return add(x, y, self.precision)

    def _is_one(self, value: object) -> bool:
        return is_number(value) and np.ndim(value) == 0 and int(value) == self.precision.one

    def _embedded(self, terms: Sequence[WeightedValue], symbol: int | None) -> CellValue | None:
        """Return the cell before the first layer if the terms are an embedding of the symbol and its position."""
        if symbol is None or len(terms) != 2:
            return None
        (weight, one_value), (one_weight, position) = terms
        if not (
            isinstance(weight, SourceWeight)
            and self._is_one(one_value)
            and self._is_one(one_weight)
            and isinstance(position, PositionCell)
        ):
            return None
        is_embedding = weight.is_entry(position.transformer, "embed", symbol, position.column)
        return Cell(position.transformer, 0, position.column) if is_embedding else None

    def _logit(self, terms: Sequence[WeightedValue]) -> CellValue | None:
        """Return the logit if the terms are all columns after the last layer, in order, times one row of `out`."""
        weight, cell = terms[0]
        if not (isinstance(weight, SourceWeight) and isinstance(cell, Cell)):
            return None
        name, depth = cell.transformer, self.depth[cell.transformer]
        if len(terms) != self.width[name]:
            return None
        for column, (w, v) in enumerate(terms):
            if not (isinstance(w, SourceWeight) and w.is_entry(name, "out", weight.row, column)):
                return None
            if v != Cell(name, depth, column):
                return None
        return Logit(name, weight.row)


def require_zeros(precision: Precision, ledger: Ledger) -> None:
    """Require for all numbers: adding 0 changes nothing, a key of exponential 0 has weight 0, and 1·x = x."""

    def prove() -> str:
        every, positive = np.array(precision.numbers()), np.arange(1, precision.bound + 1)
        fails = (
            (add(every, np.zeros_like(every), precision) != every).any(),
            multiply(np.zeros_like(every), every, precision).any(),
            divide(np.zeros_like(positive), positive, precision).any(),
            (multiply(np.full_like(every, precision.one), every, precision) != every).any(),
        )
        if any(fails):
            raise ObligationFailed("0 is not the neutral element, or 1 not that of products")
        return f"{every.size} numbers"

    ledger.settle("zeros: terms and keys that are 0 never matter, and 1·x = x", "enumeration", prove)


class HeadWires:
    """The terms of a head: queries and keys by column, values by the column that is written."""

    def __init__(self, head: HeadBuilder, precision: Precision) -> None:
        self.head, self.width = head, head.width
        self.query, self.key = column_terms(head.query, precision), column_terms(head.key, precision)
        self.value = column_terms(head.value, precision)

    def weights(self) -> Iterable[SourceWeight]:
        for side in (self.query, self.key, self.value):
            yield from source_weights(side)


@dataclass(frozen=True, eq=False)
class MlpWires:
    """The terms of an MLP: W1 and b1 by unit, W2 and b2 by column."""

    w1: ColumnTerms
    b1: ColumnBiases
    w2: ColumnTerms
    b2: ColumnBiases

    @classmethod
    def of(cls, mlp: MlpBuilder, precision: Precision) -> "MlpWires":
        return cls(
            column_terms(mlp.inputs, precision),
            _vector(mlp.biases, precision),
            column_terms(mlp.outputs, precision),
            _vector(mlp.offsets, precision),
        )

    @property
    def columns(self) -> set[int]:
        """The columns that the MLP writes."""
        return {*self.w2, *self.b2}

    def writing(self, columns: Iterable[int]) -> "MlpWires":
        """Return the part of the MLP that writes these columns, without the other units."""
        w2 = {c: self.w2.get(c, []) for c in columns}
        return MlpWires({u: self.w1.get(u, []) for terms in w2.values() for u, _ in terms}, self.b1, w2, self.b2)

    def weights(self) -> Iterable[SourceWeight]:
        for side in (self.w1, self.w2):
            yield from source_weights(side)
        yield from (w for vector in (self.b1, self.b2) for w in vector.values() if isinstance(w, SourceWeight))


def column_terms(edges: Iterable[Edges], precision: Precision) -> ColumnTerms:
    """Group edges source → target by target; a pair that occurs twice is refused, as by `assemble`."""
    terms_of: dict[int, dict[int, int | SourceWeight]] = {}
    for edge_set in edges:
        sources, targets = np.broadcast_arrays(edge_set.source, edge_set.target)
        for a, b, weight in zip(sources.tolist(), targets.tolist(), edge_set.weights, strict=True):
            terms = terms_of.setdefault(b, {})
            if a in terms:
                raise ObligationFailed(f"the columns {a} and {b} are joined twice")
            terms[a] = _known_weight(weight, precision)
    return {target: sorted(terms.items(), key=lambda term: term[0]) for target, terms in terms_of.items()}


def reversed_edges(edges: Iterable[Edges]) -> list[Edges]:
    """Return the edges target → source, for the matrices `embed` and `out`, which are stored transposed."""
    return [Edges(e.target, e.source, e.weight) for e in edges]


def source_weights(side: ColumnTerms) -> Iterable[SourceWeight]:
    return (weight for terms in side.values() for _, weight in terms if isinstance(weight, SourceWeight))


def _vector(entries: Iterable[tuple[np.ndarray, program.Weight]], precision: Precision) -> ColumnBiases:
    vector: ColumnBiases = {}
    for columns, weight in entries:
        for k, column in enumerate(columns.tolist()):
            if column in vector:
                raise ObligationFailed(f"the bias {column} is set twice")
            vector[column] = _known_weight(weight[k] if isinstance(weight, np.ndarray) else weight, precision)
    return vector


def _known_weight(weight: Any, precision: Precision) -> int | SourceWeight:
    return weight if isinstance(weight, SourceWeight) else int(integers(weight, precision))


@dataclass(frozen=True, eq=False)
class SourceLayer:
    """Layer `number` of a transformer of the source on the columns `stream`, with its heads and its hidden units."""

    transformer: str
    number: int
    stream: tuple[int, ...]
    heads: tuple["SourceHead", ...]
    units: range


@dataclass(frozen=True, eq=False)
class SourceHead:
    """A head of the source; the columns of queries and keys from `guard_start` on are its guard."""

    wires: HeadWires
    guard_start: int


def source_layers(
    heads: Sequence[HeadWires],
    mlp: MlpWires,
    streams: dict[str, tuple[int, ...]],
    shapes: dict[str, TransformerShape],
) -> tuple[list[SourceLayer], list[int]]:
    """Return the source's layers in a layer of the program, and the numbers of the heads that are not theirs."""
    layer_numbers = {_layer_of(w) for part in (*heads, mlp) for w in part.weights()} - {None}
    other_heads = [i for i, head in enumerate(heads) if not any(_layer_of(w) for w in head.weights())]
    layers = []
    for transformer, number in sorted(layer_number for layer_number in layer_numbers if layer_number is not None):
        if transformer not in streams:
            raise ObligationFailed(f"a layer of the {transformer} is in the wrong place")
        layer_heads = [h for h in heads if (transformer, number) in {_layer_of(w) for w in h.weights()}]
        stream, shape = streams[transformer], shapes[transformer]
        layers.append(_source_layer(transformer, number, stream, shape, layer_heads, mlp))
    for layer in layers:
        if any(set(layer.stream) & set(heads[i].value) for i in other_heads):
            raise ObligationFailed(f"another head writes to the stream of the {layer.transformer}")
    return layers, other_heads


def _layer_of(weight: SourceWeight) -> tuple[str, int] | None:
    """Return (transformer, number of the layer) of a weight; None if it does not belong to a layer."""
    parts = weight.tensor.split(".")
    return (weight.transformer, int(parts[1])) if parts[0] == "layers" else None


def _source_layer(
    name: str, number: int, stream: tuple[int, ...], shape: TransformerShape, heads: list[HeadWires], mlp: MlpWires
) -> SourceLayer:
    if number >= len(shape.layers) or tuple(sorted(stream)) != stream or len(stream) != shape.width:
        raise ObligationFailed(f"layer {number} of the {name} is not on its stream in order")
    layer, prefix = shape.layers[number], f"layers.{number}"
    if len(heads) != len(layer.heads):
        raise ObligationFailed(f"layer {number} of the {name} has {len(heads)} heads, not {len(layer.heads)}")
    source_heads = []
    for h, (head, columns) in enumerate(zip(heads, layer.heads, strict=True)):
        _require_matrix(name, f"{prefix}.heads.{h}.wv", head.value, stream, stream)
        for tensor, side in (("wq", head.query), ("wk", head.key)):
            columns_before_guard = {c: terms for c, terms in side.items() if c < columns}
            _require_matrix(name, f"{prefix}.heads.{h}.{tensor}", columns_before_guard, stream, range(columns))
            if any(isinstance(w, SourceWeight) for c, terms in side.items() if c >= columns for _, w in terms):
                raise ObligationFailed(f"the guard of head {h} reads weights of the {name}")
        source_heads.append(SourceHead(head, columns))
    return SourceLayer(name, number, stream, tuple(source_heads), _require_mlp(name, prefix, layer.hidden, stream, mlp))


def _require_mlp(name: str, prefix: str, hidden: int, stream: tuple[int, ...], mlp: MlpWires) -> range:
    layer_units = sorted(
        unit
        for unit, bias in mlp.b1.items()
        if isinstance(bias, SourceWeight) and (bias.transformer, bias.tensor) == (name, f"{prefix}.mlp.b1")
    )
    units = range(layer_units[0], layer_units[0] + hidden) if layer_units else range(0)
    if layer_units != list(units):
        raise ObligationFailed(f"the hidden units of the {name} are not in order")
    for k, unit in enumerate(units):
        bias = mlp.b1[unit]
        assert isinstance(bias, SourceWeight)
        if not bias.is_entry(name, f"{prefix}.mlp.b1", k, 0):
            raise ObligationFailed(f"unit {k} of the {name} has another bias")
    _require_matrix(name, f"{prefix}.mlp.w1", {u: mlp.w1.get(u, []) for u in units}, stream, units)
    written = {column: mlp.w2.get(column, []) for column in stream}
    _require_matrix(name, f"{prefix}.mlp.w2", written, units, stream)
    if any(u in units for c, terms in mlp.w2.items() if c not in stream for u, _ in terms):
        raise ObligationFailed(f"a unit of the {name} writes elsewhere")
    for j, column in enumerate(stream):
        offset = mlp.b2.get(column)
        if not (isinstance(offset, SourceWeight) and offset.is_entry(name, f"{prefix}.mlp.b2", j, 0)):
            raise ObligationFailed(f"column {j} of the {name} has another offset")
    return units


def _require_matrix(
    name: str, tensor: str, matrix: ColumnTerms, sources: Sequence[int], targets: Sequence[int]
) -> None:
    """Require that the terms of every target are exactly the entries of the tensor, in order."""
    if not set(matrix) <= set(targets):
        raise ObligationFailed(f"{tensor} of the {name} writes elsewhere")
    for j, target in enumerate(targets):
        terms = matrix.get(target, [])
        if [a for a, _ in terms] != list(sources):
            raise ObligationFailed(f"{tensor} of the {name} does not read what it should")
        for i, (_, weight) in enumerate(terms):
            if not (isinstance(weight, SourceWeight) and weight.is_entry(name, tensor, i, j)):
                raise ObligationFailed(f"entry ({i}, {j}) of {tensor} of the {name} is another")
