"""Transformer over F_p → the same weights as real numbers, for arithmetic that neither rounds nor clips.

    head    softmax(H·Wq (H·Wk)ᵀ)·(H·Wv)·Wo        the softmax of the reals
    layer   G = Σ heads + H,   H' = G + ReLU(ReLU(G·W1 + b1)·W2 + b2)
    logits  = out·h + bias

A value map is kept as two factors of the least width, because stock architectures give a head only so many columns.
"""

from dataclasses import dataclass, field

import numpy as np

from unmask.weights.matrix import Matrix
from unmask.weights.transformer import Head, Layer, Transformer


@dataclass(frozen=True, eq=False)
class RealHead:
    """wq, wk [D, d], wv [D, r], wo [r, D]; `source` is the head of the model that it does the work of."""

    wq: np.ndarray
    wk: np.ndarray
    wv: np.ndarray
    wo: np.ndarray
    source: int

    @property
    def width(self) -> int:
        """How many columns a stock head needs for it."""
        return max(self.wq.shape[1], self.wv.shape[1])


@dataclass(frozen=True, eq=False)
class RealMlp:
    """w1 [D, H], b1 [H], w2 [H, D], b2 [D]; the outer ReLU is the layer's business."""

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray


@dataclass(frozen=True, eq=False)
class RealLayer:
    """`outer_relu`: a ReLU follows the MLP; `source` is the layer of the model, `does` describes further layers."""

    heads: tuple[RealHead, ...]
    mlp: RealMlp
    source: int
    outer_relu: bool = True
    does: str = ""


@dataclass(frozen=True, eq=False)
class RealTransformer:
    """embed [V, D], positions [S, D], out [K, D], bias [K]; `names` has one name per column."""

    embed: np.ndarray
    positions: np.ndarray
    layers: tuple[RealLayer, ...]
    out: np.ndarray
    bias: np.ndarray
    causal: bool
    names: tuple[str, ...]
    loop: tuple[int, int] | None = None
    repairs: tuple[str, ...] = field(default=())

    @property
    def width(self) -> int:
        return self.embed.shape[1]


def real_weights(transformer: Transformer) -> RealTransformer:
    """Integers a → a / 2^p, nothing else changed."""
    one = transformer.precision.one
    return RealTransformer(
        embed=_real(transformer.embed, one),
        positions=np.asarray(transformer.positions) / one,
        layers=tuple(_layer(layer, i, one) for i, layer in enumerate(transformer.layers)),
        out=_real(transformer.out, one),
        bias=np.zeros(transformer.out.shape[0]),
        causal=transformer.attention == "causal",
        names=tuple(transformer.column_name(c) for c in range(transformer.width)),
        loop=transformer.loop,
    )


def _layer(layer: Layer, number: int, one: int) -> RealLayer:
    mlp = layer.mlp
    return RealLayer(
        tuple(_head(head, i, one) for i, head in enumerate(layer.heads)),
        RealMlp(_real(mlp.w1, one), mlp.b1 / one, _real(mlp.w2, one), mlp.b2 / one),
        number,
    )


def _head(head: Head, number: int, one: int) -> RealHead:
    return RealHead(_real(head.wq, one), _real(head.wk, one), *factors(_real(head.wv, one)), number)


def factors(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices whose product is the value map: through the columns that it reads, or those that it writes."""
    read, written = np.flatnonzero(value.any(axis=1)), np.flatnonzero(value.any(axis=0))
    everything = np.eye(len(value))
    if len(read) < len(written):
        return everything[:, read], value[read]
    return value[:, written], everything[written]


def _real(matrix: Matrix, one: int) -> np.ndarray:
    return matrix.dense() / one
