"""One pass of a RealTransformer in NumPy: what a plain transformer computes, in the same kind of floats.

softmax   e^(s - max s) / Σ e^(s - max s)        as every deep-learning library has it
"""

from collections.abc import Callable, Iterator

import numpy as np

from unmask.export.real.weights import RealLayer, RealTransformer

FLOAT = np.float32
LARGEST_ACTIVATION = 1 << 24

Passes = Callable[[np.ndarray], np.ndarray]
"""tokens [batch, rows] → logits [batch, rows, outputs]."""


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def visible(rows: int, causal: bool) -> np.ndarray:
    """What is added to the scores: 0, or -inf where a row may not look."""
    allowed = np.tri(rows, dtype=bool) if causal else np.ones((rows, rows), dtype=bool)
    return np.where(allowed, FLOAT(0), FLOAT(-np.inf))


def in_parts(passes: Passes, rows: int, hidden: int) -> Passes:
    """The same, a few words at a time, so that memory stays bounded: scores are rows², hidden units rows·hidden."""
    part = max(1, LARGEST_ACTIVATION // max(1, rows * max(rows, hidden)))

    def bounded(tokens: np.ndarray) -> np.ndarray:
        return np.concatenate([passes(tokens[i : i + part]) for i in range(0, len(tokens), part)])

    return bounded


def plain_passes(transformer: RealTransformer, loops: int = 1) -> Passes:
    """A whole pass; the layers of a loop are taken `loops` times."""
    order = [_float(layer) for layer in looped(transformer, loops)]
    embed, positions = transformer.embed.astype(FLOAT), transformer.positions.astype(FLOAT)
    out, bias = transformer.out.T.astype(FLOAT), transformer.bias.astype(FLOAT)

    def passes(tokens: np.ndarray) -> np.ndarray:
        H = embed[tokens] + positions[: tokens.shape[1]]
        mask = visible(tokens.shape[1], transformer.causal)
        for layer in order:
            H = _layer(layer, H, mask)
        return H @ out + bias

    hidden = max((len(layer.mlp.b1) for layer in order), default=0)
    return in_parts(passes, len(positions), hidden)


def looped(transformer: RealTransformer, loops: int) -> Iterator[RealLayer]:
    """The layers in the order in which they are run."""
    first, last = transformer.loop or (0, 0)
    yield from transformer.layers[:first]
    for _ in range(loops):
        yield from transformer.layers[first:last]
    yield from transformer.layers[last:]


def _layer(layer: RealLayer, H: np.ndarray, mask: np.ndarray) -> np.ndarray:
    G = H
    for head in layer.heads:
        scores = (H @ head.wq) @ np.swapaxes(H @ head.wk, -1, -2) + mask
        G = G + softmax(scores) @ (H @ head.wv) @ head.wo
    inner = np.maximum(G @ layer.mlp.w1 + layer.mlp.b1, 0) @ layer.mlp.w2 + layer.mlp.b2
    return G + (np.maximum(inner, 0) if layer.outer_relu else inner)


def _float(layer: RealLayer) -> RealLayer:
    from dataclasses import replace

    def single(part):
        arrays = {name: value.astype(FLOAT) for name, value in vars(part).items() if isinstance(value, np.ndarray)}
        return replace(part, **arrays)

    return replace(layer, heads=tuple(single(head) for head in layer.heads), mlp=single(layer.mlp))
