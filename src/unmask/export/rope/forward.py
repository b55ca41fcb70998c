"""RopeWeights → one pass in NumPy, in the arithmetic of float32, bfloat16 or float16.

    layer    G = H + o(attention(norm(H))),   H' = G + down(silu(gate(norm(G)))·up(norm(G)))
    norm(x)  x/√(mean x² + ε)·gain            computed in float32, as every engine does
    RoPE     turns (x_m, x_{m+d/2}) by i·ω_m; angles in float32

In a half precision every tensor and every result of an operation is rounded to it; sums inside a product and the
softmax run in float32. That is what transformers' eager attention does. Fused kernels round less.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, get_args

import numpy as np

from unmask.export.real.forward import FLOAT, Passes, in_parts, softmax, visible

Dtype = Literal["float32", "bfloat16", "float16"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
Rounding = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class RopeWeights:
    """The neutral form: embed, head [V, D], norm [D], and per layer q, k, v, o, gate, up, down, two norms.

    q, k, v are [heads·d, D], o is [D, heads·d], gate and up [F, D], down [D, F], as the Linear of torch holds them.
    """

    embed: np.ndarray
    layers: tuple[dict[str, np.ndarray], ...]
    norm: np.ndarray
    head: np.ndarray
    heads: int
    theta: float
    epsilon: float
    max_rows: int
    causal: bool

    @property
    def width(self) -> int:
        return self.embed.shape[1]

    @property
    def head_width(self) -> int:
        return len(self.layers[0]["q"]) // self.heads

    @property
    def hidden(self) -> int:
        return len(self.layers[0]["gate"])


def rounding(dtype: Dtype) -> Rounding:
    """Return the function that rounds float32 numbers to this type, and keeps them as float32."""
    if dtype == "float32":
        return lambda x: x
    if dtype == "float16":
        return _to_float16
    return _to_bfloat16


def _to_float16(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused by the comparison
        return x.astype(np.float16).astype(FLOAT)


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    """To the nearest, ties to even: the upper half of a float32."""
    bits = np.ascontiguousarray(x, dtype=FLOAT).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)
    return rounded.view(FLOAT)


def rope_passes(weights: RopeWeights, dtype: Dtype = "float32") -> Passes:
    """Tokens [batch, rows] → logits [batch, rows, V]."""
    fit = rounding(dtype)
    single = _rounded(weights, fit)

    def passes(tokens: np.ndarray) -> np.ndarray:
        H = residual(single, tokens, len(single.layers), fit)
        return fit(_normed(H, single.norm, single.epsilon, fit) @ single.head.T)

    return in_parts(passes, weights.max_rows, weights.hidden)


def residual(weights: RopeWeights, tokens: np.ndarray, layers: int, fit: Rounding = _to_float16) -> np.ndarray:
    """The residual stream behind so many layers, [batch, rows, D]."""
    H = weights.embed[tokens]
    cosines, sines = (fit(f(angles(weights, tokens.shape[1]))) for f in (np.cos, np.sin))
    mask = visible(tokens.shape[1], weights.causal)
    scaling = FLOAT(1 / sqrt(weights.head_width))
    for layer in weights.layers[:layers]:
        x = _normed(H, layer["attention_norm"], weights.epsilon, fit)
        Q, K, V = (_by_head(fit(x @ layer[name].T), weights.heads) for name in "qkv")
        Q, K = (_turned(z, cosines, sines, fit) for z in (Q, K))
        scores = fit(fit(Q @ np.swapaxes(K, -1, -2)) * scaling) + mask
        mixed = fit(fit(softmax(scores)) @ V)
        H = fit(H + fit(np.swapaxes(mixed, 1, 2).reshape(*x.shape[:2], -1) @ layer["o"].T))
        x = _normed(H, layer["mlp_norm"], weights.epsilon, fit)
        gate = _silu(fit(x @ layer["gate"].T), fit)
        H = fit(H + fit(fit(gate * fit(x @ layer["up"].T)) @ layer["down"].T))
    return H


def angles(weights: RopeWeights, rows: int) -> np.ndarray:
    """i·ω_m [rows, d/2], in float32."""
    exponents = np.arange(0, weights.head_width, 2, dtype=FLOAT) / FLOAT(weights.head_width)
    return np.arange(rows, dtype=FLOAT)[:, None] * (FLOAT(1) / FLOAT(weights.theta) ** exponents)


def _rounded(weights: RopeWeights, fit: Rounding) -> RopeWeights:
    def single(array: np.ndarray) -> np.ndarray:
        return fit(array.astype(FLOAT))

    layers = tuple({name: single(tensor) for name, tensor in layer.items()} for layer in weights.layers)
    return replace(
        weights, embed=single(weights.embed), layers=layers, norm=single(weights.norm), head=single(weights.head)
    )


def _normed(x: np.ndarray, gain: np.ndarray, epsilon: float, fit: Rounding) -> np.ndarray:
    mean = np.square(x).mean(axis=-1, keepdims=True)
    return fit(fit(x / np.sqrt(mean + FLOAT(epsilon))) * gain)


def _turned(z: np.ndarray, cosines: np.ndarray, sines: np.ndarray, fit: Rounding) -> np.ndarray:
    """[batch, heads, rows, d]: the two halves of a head are the two components of its planes."""
    first, second = np.split(z, 2, axis=-1)
    return np.concatenate(
        [
            fit(fit(first * cosines) - fit(second * sines)),
            fit(fit(second * cosines) + fit(first * sines)),
        ],
        axis=-1,
    )


def _silu(x: np.ndarray, fit: Rounding) -> np.ndarray:
    with np.errstate(over="ignore"):  # e^-x is infinite where silu is 0
        return fit(x / (1 + np.exp(-x)))


def _by_head(x: np.ndarray, heads: int) -> np.ndarray:
    return np.swapaxes(x.reshape(*x.shape[:2], heads, -1), 1, 2)
