"""Transformer over F_p → RealTransformer: the same weights as real numbers, repaired, and one forward pass in float32.

    head    softmax(H·Wq (H·Wk)ᵀ)·(H·Wv)·Wo
    layer   G = Σ heads + H,   H' = G + ReLU(ReLU(G·W1 + b1)·W2 + b2)
    logits  = out·h + bias

A value map is stored as two factors of the least width, because stock architectures limit the width of a head.
Arithmetic that neither rounds nor clips needs three repairs in the weights:

| in F_p                                              | in the reals                        | repair               |
|-----------------------------------------------------|-------------------------------------|----------------------|
| a mismatch scores -B, and exp(-B) = 0               | it leaks e^-2B per row              | `sharper_scores`     |
| n equal rows have the weights 1/min(n, B) >= 2^-p   | 1/n, too little for THRESH          | `detection_by_score` |
| -B twice leaves -B, whatever a logit was before     | it shifts all logits equally        | `louder_after_reset` |

In a half precision every tensor and every result of an operation is rounded to it; sums inside a product, norms and the
softmax run in float32, as in transformers' eager attention. Fused kernels round less.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from unmask.numerics.arithmetic import Precision
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Transformer


@dataclass(frozen=True, eq=False)
class RealHead:
    """wq, wk [D, d], wv [D, r], wo [r, D]; `source` is the head of the model that it implements."""

    wq: np.ndarray
    wk: np.ndarray
    wv: np.ndarray
    wo: np.ndarray
    source: int

    @property
    def width(self) -> int:
        """Return the number of columns that a stock head needs for it."""
        return max(self.wq.shape[1], self.wv.shape[1])


@dataclass(frozen=True, eq=False)
class RealMlp:
    """w1 [D, H], b1 [H], w2 [H, D], b2 [D]; the layer applies the outer ReLU."""

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
    """Return the transformer with integers a as a / 2^p, and nothing else changed."""
    one = transformer.precision.one
    return RealTransformer(
        embed=_real(transformer.embed, one),
        positions=np.asarray(transformer.positions) / one,
        layers=tuple(_real_layer(layer, i, one) for i, layer in enumerate(transformer.layers)),
        out=_real(transformer.out, one),
        bias=np.zeros(transformer.out.shape[0]),
        causal=transformer.attention == "causal",
        names=tuple(transformer.column_name(c) for c in range(transformer.width)),
        loop=transformer.loop,
    )


def _real_layer(layer: Layer, number: int, one: int) -> RealLayer:
    mlp = layer.mlp
    return RealLayer(
        tuple(_real_head(head, i, one) for i, head in enumerate(layer.heads)),
        RealMlp(_real(mlp.w1, one), mlp.b1 / one, _real(mlp.w2, one), mlp.b2 / one),
        number,
    )


def _real_head(head: Head, number: int, one: int) -> RealHead:
    return RealHead(_real(head.wq, one), _real(head.wk, one), *value_map_factors(_real(head.wv, one)), number)


def value_map_factors(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices whose product is the value map, through the columns that it reads or those that it writes."""
    read, written = np.flatnonzero(value.any(axis=1)), np.flatnonzero(value.any(axis=0))
    identity = np.eye(len(value))
    if len(read) < len(written):
        return identity[:, read], value[read]
    return value[:, written], identity[written]


def _real(matrix: Matrix, one: int) -> np.ndarray:
    return matrix.dense() / one


FAR = 60  # keys whose scores are lower by this much have weight 0 in float32, even a thousand of them
MOST_HEADS = 16


def score_scale(precision: Precision) -> int:
    """Return β, the least power of two with B·β >= FAR. Scores that cancel in F_p cancel exactly, whatever β is."""
    scale = 1
    while precision.bound * scale < FAR * precision.one:
        scale *= 2
    return scale


def sharper_scores(transformer: RealTransformer, scale: float) -> RealTransformer:
    """Multiply every score by β."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, wq=head.wq * scale) for head in layer.heads))
        for layer in transformer.layers
    )
    repair = f"scores times {scale}"
    return replace(transformer, layers=layers, repairs=(*transformer.repairs, repair))


def detection_by_score(transformer: RealTransformer, precision: Precision) -> RealTransformer:
    """Give every detected value its own head, with a further score column that raises rows where the value is 1.

    A value is detected where hidden units read 2^-p - average and nothing else (THRESH). Call `sharper_scores` first. A
    head that detects too many values is not split; then THRESH has 1/rows for 2^-p and rows/2 for 2^(p-1).
    """
    constant = constant_column(transformer)
    if constant is None:
        return transformer
    push = score_scale(precision) * precision.half_bound / precision.one
    layers, repairs = [], set()
    for layer in transformer.layers:
        units, averages = thresholds(layer, precision)
        heads: list[RealHead] = []
        for head in layer.heads:
            detected = _averages_of(head, averages)
            if len(detected) > MOST_HEADS:
                layer = _with_row_thresholds(
                    layer, units[np.isin(averages, detected)], len(transformer.positions), precision
                )
                repairs.add("thresholds of 1/rows")
            elif len(detected):
                repairs.add("a head for every detected value")
            heads += _split(head, detected, constant, push) if 0 < len(detected) <= MOST_HEADS else [head]
        layers.append(replace(layer, heads=tuple(heads)))
    return replace(transformer, layers=tuple(layers), repairs=(*transformer.repairs, *sorted(repairs)))


def louder_after_reset(transformer: RealTransformer, precision: Precision) -> RealTransformer:
    """If two columns subtract B from every logit, multiply the later columns of the logits by 4·2^p.

    A reset logit is -B in F_p, so that a single 1 decides. In the reals this 1 must outweigh the earlier value.
    """
    resets = np.flatnonzero((transformer.out * precision.one == -precision.bound).all(axis=0))
    if len(resets) < 2:
        return transformer
    out = transformer.out.copy()
    out[:, resets[1] + 1 :] *= 4 * precision.one
    return replace(transformer, out=out, repairs=(*transformer.repairs, "louder logits after a reset"))


def repaired(transformer: RealTransformer, precision: Precision) -> RealTransformer:
    """Apply all three repairs."""
    sharp = sharper_scores(transformer, score_scale(precision))
    return louder_after_reset(detection_by_score(sharp, precision), precision)


def thresholds(layer: RealLayer, precision: Precision) -> tuple[np.ndarray, np.ndarray]:
    """Return the hidden units that are ReLU(2^-p - x), two for every x, and the column x of each."""
    w1, b1 = layer.mlp.w1, layer.mlp.b1
    units = np.flatnonzero((b1 * precision.one == 1) & ((w1 != 0).sum(axis=0) == 1) & (w1.sum(axis=0) == -1))
    columns = np.argmax(w1[:, units] != 0, axis=0) if len(units) else units
    twice = np.bincount(columns, minlength=1)[columns] == 2
    return units[twice], columns[twice]


def constant_column(transformer: RealTransformer) -> int | None:
    """Return a column that is 1 in every row for every input, and that no layer writes."""
    constant = (transformer.positions == 1).all(axis=0) & ~transformer.embed.any(axis=0)
    for layer in transformer.layers:
        constant &= ~layer.mlp.w2.any(axis=0) & (layer.mlp.b2 == 0)
        for head in layer.heads:
            constant &= ~head.wo.any(axis=0)
    return int(np.argmax(constant)) if constant.any() else None


def _averages_of(head: RealHead, averages: np.ndarray) -> np.ndarray:
    """Return the thresholded columns that a head writes, without those that it clears: a clearing head reads them."""
    value = head.wv @ head.wo
    columns = np.unique(averages)
    return columns[value[:, columns].any(axis=0) & (value[columns, columns] == 0)]


def _with_row_thresholds(layer: RealLayer, units: np.ndarray, rows: int, precision: Precision) -> RealLayer:
    b1, w2 = layer.mlp.b1.copy(), layer.mlp.w2.copy()
    b1[units] = 1 / rows
    w2[units] *= rows / precision.one
    return replace(layer, mlp=replace(layer.mlp, b1=b1, w2=w2))


def _split(head: RealHead, detected: np.ndarray, constant: int, push: float) -> list[RealHead]:
    value = head.wv @ head.wo
    detecting = [_detecting_head(head, value, c, constant, push) for c in detected]
    value[:, detected] = 0
    if not value.any():
        return detecting
    wv, wo = value_map_factors(value)
    return [replace(head, wv=wv, wo=wo), *detecting]


def _detecting_head(head: RealHead, value: np.ndarray, column: int, constant: int, push: float) -> RealHead:
    """Return the head that detects `column`: its scores times the largest value v, plus `push` times the value.

    A value that is read from several columns may be as large as their number. The push of such a row is v·β·B/2; a
    mismatch must still score lower by v·β·B, or rows that do not match are attended to.
    """
    query, target = np.zeros((len(value), 1)), np.zeros((1, len(value)))
    query[constant], target[0, column] = push, 1
    detected = value[:, [column]]
    largest = max(1.0, detected[detected > 0].sum())
    wq, wk = np.hstack([head.wq * largest, query]), np.hstack([head.wk, detected])
    return replace(head, wq=wq, wk=wk, wv=detected, wo=target)


FLOAT = np.float32
LARGEST_ACTIVATION = 1 << 24

Dtype = Literal["float32", "bfloat16", "float16"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
Rounding = Callable[[np.ndarray], np.ndarray]
Passes = Callable[[np.ndarray], np.ndarray]
"""tokens [batch, rows] → logits [batch, rows, outputs]."""


def rounding(dtype: Dtype) -> Rounding:
    """Return the function that rounds float32 numbers to this type, and keeps them as float32."""
    if dtype == "float32":
        return lambda x: x
    if dtype == "float16":
        return _to_float16
    return _to_bfloat16


def _to_float16(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # an overflow gives infinity, which the comparison refuses
        return x.astype(np.float16).astype(FLOAT)


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Round to the nearest, ties to even: the upper half of a float32."""
    bits = np.ascontiguousarray(x, dtype=FLOAT).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)
    return rounded.view(FLOAT)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the softmax along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def by_head(x: np.ndarray, heads: int) -> np.ndarray:
    """[batch, rows, heads·size] → [batch, heads, rows, size]."""
    return np.swapaxes(x.reshape(*x.shape[:2], heads, -1), 1, 2)


def attention_mask(rows: int, causal: bool) -> np.ndarray:
    """Return the mask that is added to the scores: 0, or -inf where a row may not read."""
    allowed = np.tri(rows, dtype=bool) if causal else np.ones((rows, rows), dtype=bool)
    return np.where(allowed, FLOAT(0), FLOAT(-np.inf))


def in_batches(passes: Passes, rows: int, hidden: int) -> Passes:
    """Run a pass a few words at a time to bound memory: scores are rows², hidden units rows·hidden."""
    batch = max(1, LARGEST_ACTIVATION // max(1, rows * max(rows, hidden)))

    def bounded(tokens: np.ndarray) -> np.ndarray:
        return np.concatenate([passes(tokens[i : i + batch]) for i in range(0, len(tokens), batch)])

    return bounded


def plain_passes(transformer: RealTransformer, loops: int = 1) -> Passes:
    """Return the function of a whole pass; the layers of a loop run `loops` times."""
    order = [_as_float32(layer) for layer in layers_in_order(transformer, loops)]
    embed, positions = transformer.embed.astype(FLOAT), transformer.positions.astype(FLOAT)
    out, bias = transformer.out.T.astype(FLOAT), transformer.bias.astype(FLOAT)

    def passes(tokens: np.ndarray) -> np.ndarray:
        H = embed[tokens] + positions[: tokens.shape[1]]
        mask = attention_mask(tokens.shape[1], transformer.causal)
        for layer in order:
            H = _layer_pass(layer, H, mask)
        return H @ out + bias

    hidden = max((len(layer.mlp.b1) for layer in order), default=0)
    return in_batches(passes, len(positions), hidden)


def layers_in_order(transformer: RealTransformer, loops: int) -> Iterator[RealLayer]:
    """Return the layers in the order in which they run."""
    first, last = transformer.loop or (0, 0)
    yield from transformer.layers[:first]
    for _ in range(loops):
        yield from transformer.layers[first:last]
    yield from transformer.layers[last:]


def _layer_pass(layer: RealLayer, H: np.ndarray, mask: np.ndarray) -> np.ndarray:
    G = H
    for head in layer.heads:
        scores = (H @ head.wq) @ np.swapaxes(H @ head.wk, -1, -2) + mask
        G = G + softmax(scores) @ (H @ head.wv) @ head.wo
    inner = np.maximum(G @ layer.mlp.w1 + layer.mlp.b1, 0) @ layer.mlp.w2 + layer.mlp.b2
    return G + (np.maximum(inner, 0) if layer.outer_relu else inner)


def _as_float32(layer: RealLayer) -> RealLayer:
    def single(weights):
        arrays = {name: value.astype(FLOAT) for name, value in vars(weights).items() if isinstance(value, np.ndarray)}
        return replace(weights, **arrays)

    return replace(layer, heads=tuple(single(head) for head in layer.heads), mlp=single(layer.mlp))
