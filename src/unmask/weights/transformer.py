"""Transformer: integers and shapes, nothing else.

    H⁰ = clip(embed[token] + positions)
    per layer:  G = (Σ_heads softmax(H·Wq (H·Wk)ᵀ)·(H·Wv)) + H,   H' = G + ReLU(ReLU(G·W1 + b1)·W2 + b2)
    logits      = out·h

Numbers are integers scaled by 2^p. Shapes: embed [V, D], positions [S, D], out [K, D], wq and wk [D, d],
wv [D, D], w1 [D, H], b1 [H], w2 [H, D], b2 [D].
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec
import numpy as np

from unmask.errors import WeightsError
from unmask.numerics.arithmetic import Precision
from unmask.weights.matrices import Matrix, Positions, PositionTable

# Registers: names for the columns of the residual stream.
#
# A register is a run of columns with one name and a label per column; `state` with the labels q0, q1, q2 names
# three columns `state:q0`, `state:q1`, `state:q2`. Names are comments: no result depends on them.


@dataclass(frozen=True)
class Registers:
    """(name, labels) of every register, in column order."""

    blocks: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, blocks: Mapping[str, tuple[str, ...] | list[str]]) -> "Registers":
        return cls(tuple((name, tuple(labels)) for name, labels in blocks.items()))

    @property
    def width(self) -> int:
        return len(self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{name}:{label}" if label else name for name, labels in self.blocks for label in labels)

    def column_name(self, column: int) -> str:
        return self.names[column]

    def to_json(self) -> dict[str, list[str]]:
        return {name: list(labels) for name, labels in self.blocks}

    @classmethod
    def from_json(cls, data: object, *, width: int) -> "Registers | None":
        """Return the registers of a model folder, or None if this comment does not name all `width` columns."""
        try:
            registers = cls.of(msgspec.convert(data, dict[str, tuple[str, ...]]))
        except msgspec.ValidationError:
            return None
        return registers if registers.width == width else None


Attention = Literal["unmasked", "causal"]


@dataclass(frozen=True)
class Head:
    """One attention head, without biases."""

    wq: Matrix
    wk: Matrix
    wv: Matrix


@dataclass(frozen=True, eq=False)
class Mlp:
    """x ↦ ReLU(ReLU(x·W1 + b1)·W2 + b2); the outer ReLU is part of it."""

    w1: Matrix
    b1: np.ndarray
    w2: Matrix
    b2: np.ndarray

    @classmethod
    def nothing(cls, width: int) -> "Mlp":
        """Return the MLP without hidden units, which adds 0."""
        return cls(
            Matrix.zeros((width, 0)),
            np.zeros(0, dtype=np.int64),
            Matrix.zeros((0, width)),
            np.zeros(width, dtype=np.int64),
        )


@dataclass(frozen=True)
class Layer:
    """Heads, summed in order, and an MLP."""

    heads: tuple[Head, ...]
    mlp: Mlp


@dataclass(frozen=True)
class Noise:
    """The columns that receive noise before each loop of a stochastic looped transformer."""

    planner: tuple[int, ...] = ()
    predictor: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Transformer:
    """A transformer over F_p, checked when it is created."""

    precision: Precision
    embed: Matrix
    positions: Positions
    layers: tuple[Layer, ...]
    out: Matrix
    attention: Attention = "unmasked"
    loop: tuple[int, int] | None = None
    noise: Noise | None = None
    registers: Registers | None = None

    @property
    def width(self) -> int:
        return self.embed.shape[1]

    @property
    def parameters(self) -> int:
        """The number of nonzero weights, without the table of positions."""
        return sum(int(np.count_nonzero(t)) if isinstance(t, np.ndarray) else t.nonzeros for _, t in self._weights())

    def tensors(self, *, positions: bool = False) -> Iterator[tuple[str, Matrix | Positions]]:
        """Yield (name in the model folder, tensor) in a fixed order."""
        for name, tensor in self._weights():
            yield name, tensor
            if positions and name == "embed":
                yield "pos", self.positions

    def _weights(self) -> Iterator[tuple[str, Matrix | np.ndarray]]:
        yield "embed", self.embed
        yield "out", self.out
        for i, layer in enumerate(self.layers):
            for j, head in enumerate(layer.heads):
                for name in ("wq", "wk", "wv"):
                    yield f"layers.{i}.heads.{j}.{name}", getattr(head, name)
            for name in ("w1", "b1", "w2", "b2"):
                yield f"layers.{i}.mlp.{name}", getattr(layer.mlp, name)

    def column_name(self, column: int) -> str:
        """Return the name of a column of the residual stream: `state:q3`, or `column 17` if it has no name."""
        return f"column {column}" if self.registers is None else self.registers.column_name(column)

    def __post_init__(self) -> None:
        if self.attention not in ("unmasked", "causal"):
            raise WeightsError(f"attention must be 'unmasked' or 'causal', not {self.attention!r}")
        if not self.width:
            raise WeightsError("tensor embed has no columns; a transformer needs a width of at least 1")
        for name, expected in _expected_shapes(self):
            actual = _tensor(self, name).shape
            if tuple(actual) != tuple(expected):
                raise WeightsError(f"tensor {name} has the shape {list(actual)}, but it must be {list(expected)}")
        for name, tensor in self.tensors(positions=True):
            _check_values(name, tensor, self.precision)
        self._check_loop()
        if self.registers is not None and self.registers.width != self.width:
            raise WeightsError(f"the registers name {self.registers.width} columns, but the width is {self.width}")
        for array in (self.positions, *(a for layer in self.layers for a in (layer.mlp.b1, layer.mlp.b2))):
            array.setflags(write=False)

    def _check_loop(self) -> None:
        if self.loop is not None:
            first, last = self.loop
            if not 0 <= first <= last <= len(self.layers):
                raise WeightsError(
                    f"the loop [{first}, {last}] must lie within the {len(self.layers)} layers, "
                    "the first number not above the second"
                )
        if self.noise is not None:
            columns = (*self.noise.planner, *self.noise.predictor)
            if any(not 0 <= c < self.width for c in columns) or len(set(columns)) < len(columns):
                raise WeightsError(f"noise columns must be different columns in 0 … {self.width - 1}")


def _expected_shapes(transformer: Transformer) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the required shape of each tensor: V, S, K, d and H are free, D is the width of embed."""
    width = transformer.width
    yield "pos", (len(transformer.positions), width)
    yield "out", (transformer.out.shape[0], width)
    for i, layer in enumerate(transformer.layers):
        for j, head in enumerate(layer.heads):
            yield f"layers.{i}.heads.{j}.wq", (width, head.wq.shape[1])
            yield f"layers.{i}.heads.{j}.wk", (width, head.wq.shape[1])
            yield f"layers.{i}.heads.{j}.wv", (width, width)
        hidden = layer.mlp.w1.shape[1]
        yield f"layers.{i}.mlp.w1", (width, hidden)
        yield f"layers.{i}.mlp.b1", (hidden,)
        yield f"layers.{i}.mlp.w2", (hidden, width)
        yield f"layers.{i}.mlp.b2", (width,)


def _tensor(transformer: Transformer, name: str) -> Matrix | Positions:
    match name.split("."):
        case ["layers", i, "heads", j, part]:
            return getattr(transformer.layers[int(i)].heads[int(j)], part)
        case ["layers", i, "mlp", part]:
            return getattr(transformer.layers[int(i)].mlp, part)
    return {"embed": transformer.embed, "pos": transformer.positions, "out": transformer.out}[name]


def _check_values(name: str, tensor: Matrix | Positions, precision: Precision) -> None:
    values = (
        tensor.value if isinstance(tensor, Matrix) else tensor.table if isinstance(tensor, PositionTable) else tensor
    )
    if not np.issubdtype(values.dtype, np.integer):
        raise WeightsError(f"tensor {name} must hold integers, not {values.dtype}")
    if values.size and (int(values.max()) > precision.bound or int(values.min()) < -precision.bound):
        worst = int(values.max()) if int(values.max()) > precision.bound else int(values.min())
        raise WeightsError(
            f"tensor {name} holds {worst}, outside ±{precision.bound}, the numbers of F_{precision.p} scaled by 2^p"
        )
