"""A layer of a program → the layers of the source that stand in it, and the columns that guard their heads.

A source's layer is in a program's layer if its heads are there, in order, each with its queries and keys first and its
values, all between the columns of one register in the source's order; and its MLP, unit by unit. So every sum runs over
the source's terms in the source's order, and what else is there is 0. Nothing else writes to that register.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.verification.conversions.unknown import TransformerShape, Weight
from unmask.verification.conversions.wires import HeadWires, MlpWires, Wires
from unmask.verification.lengths.obligations import NotShown


@dataclass(frozen=True, eq=False)
class Given:
    """Layer `number` of a transformer on the columns `stream`: its heads, and which units are its own."""

    transformer: str
    number: int
    stream: tuple[int, ...]
    heads: tuple["GivenHead", ...]
    units: range


@dataclass(frozen=True, eq=False)
class GivenHead:
    """A head of the source; the columns from `columns` on are its guard."""

    wires: HeadWires
    columns: int


def given_layers(
    heads: Sequence[HeadWires],
    mlp: MlpWires,
    streams: dict[str, tuple[int, ...]],
    shapes: dict[str, TransformerShape],
) -> tuple[list[Given], list[int]]:
    """The source's layers in a layer, and the numbers of the heads that are not theirs."""
    found = {_layer_of(w) for part in (*heads, mlp) for w in part.weights()} - {None}
    own = [i for i, head in enumerate(heads) if not any(_layer_of(w) for w in head.weights())]
    layers = []
    for transformer, number in sorted(place for place in found if place is not None):
        if transformer not in streams:
            raise NotShown(f"a layer of the {transformer} is in the wrong place")
        theirs = [h for h in heads if (transformer, number) in {_layer_of(w) for w in h.weights()}]
        stream, shape = streams[transformer], shapes[transformer]
        layers.append(_given(transformer, number, stream, shape, theirs, mlp))
    for given in layers:
        if any(set(given.stream) & set(heads[i].value) for i in own):
            raise NotShown(f"another head writes to the stream of the {given.transformer}")
    return layers, own


def _layer_of(weight: Weight) -> tuple[str, int] | None:
    """(transformer, number), None of a weight that is not a layer's."""
    parts = weight.tensor.split(".")
    return (weight.transformer, int(parts[1])) if parts[0] == "layers" else None


def _given(
    name: str, number: int, stream: tuple[int, ...], shape: TransformerShape, heads: list[HeadWires], mlp: MlpWires
) -> Given:
    if number >= len(shape.layers) or tuple(sorted(stream)) != stream or len(stream) != shape.width:
        raise NotShown(f"layer {number} of the {name} is not on its stream in order")
    layer, prefix = shape.layers[number], f"layers.{number}"
    if len(heads) != len(layer.heads):
        raise NotShown(f"layer {number} of the {name} has {len(heads)} heads, not {len(layer.heads)}")
    made = []
    for h, (head, columns) in enumerate(zip(heads, layer.heads, strict=True)):
        _require_matrix(name, f"{prefix}.heads.{h}.wv", head.value, stream, stream)
        for tensor, side in (("wq", head.query), ("wk", head.key)):
            own = {c: terms for c, terms in side.items() if c < columns}
            _require_matrix(name, f"{prefix}.heads.{h}.{tensor}", own, stream, range(columns))
            if any(isinstance(w, Weight) for c, terms in side.items() if c >= columns for _, w in terms):
                raise NotShown(f"the guard of head {h} reads weights of the {name}")
        made.append(GivenHead(head, columns))
    return Given(name, number, stream, tuple(made), _require_mlp(name, prefix, layer.hidden, stream, mlp))


def _require_mlp(name: str, prefix: str, hidden: int, stream: tuple[int, ...], mlp: MlpWires) -> range:
    theirs = sorted(u for u, bias in mlp.biases.items() if _is_of(bias, name, f"{prefix}.mlp.b1"))
    units = range(theirs[0], theirs[0] + hidden) if theirs else range(0)
    if theirs != list(units):
        raise NotShown(f"the hidden units of the {name} are not in order")
    for k, unit in enumerate(units):
        bias = mlp.biases[unit]
        assert isinstance(bias, Weight)
        if not bias.is_entry(name, f"{prefix}.mlp.b1", k, 0):
            raise NotShown(f"unit {k} of the {name} has another bias")
    _require_matrix(name, f"{prefix}.mlp.w1", {u: mlp.inputs.get(u, []) for u in units}, stream, units)
    written = {column: mlp.outputs.get(column, []) for column in stream}
    _require_matrix(name, f"{prefix}.mlp.w2", written, units, stream)
    if any(u in units for c, terms in mlp.outputs.items() if c not in stream for u, _ in terms):
        raise NotShown(f"a unit of the {name} writes elsewhere")
    for j, column in enumerate(stream):
        offset = mlp.offsets.get(column)
        if not (isinstance(offset, Weight) and offset.is_entry(name, f"{prefix}.mlp.b2", j, 0)):
            raise NotShown(f"column {j} of the {name} has another offset")
    return units


def _is_of(weight: object, name: str, tensor: str) -> bool:
    return isinstance(weight, Weight) and (weight.transformer, weight.tensor) == (name, tensor)


def _require_matrix(name: str, tensor: str, matrix: Wires, sources: Sequence[int], targets: Sequence[int]) -> None:
    """The terms of every target are the entries of the tensor, all of them, in order, and nothing else."""
    if not set(matrix) <= set(targets):
        raise NotShown(f"{tensor} of the {name} writes elsewhere")
    for j, target in enumerate(targets):
        terms = matrix.get(target, [])
        if [a for a, _ in terms] != list(sources):
            raise NotShown(f"{tensor} of the {name} does not read what it should")
        for i, (_, weight) in enumerate(terms):
            if not (isinstance(weight, Weight) and weight.is_entry(name, tensor, i, j)):
                raise NotShown(f"entry ({i}, {j}) of {tensor} of the {name} is another")
