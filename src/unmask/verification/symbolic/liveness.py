"""Liveness: which columns of the residual stream can still make a difference.

    scores   columns that may change a query or a key of this layer or a later one: an attention to nothing is an
             error wherever it happens, so every row has them
    all      these, and columns that may change a logit

Read off the weights that are not zero, backwards; a loop is gone through until nothing is added.
"""

from dataclasses import dataclass

import numpy as np

from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Layer, Transformer


@dataclass(frozen=True, eq=False)
class Live:
    """Masks over columns: before[l] at the input of layer l (and after the last), within[l] after its heads."""

    before: list[np.ndarray]
    within: list[np.ndarray]


def live_for_scores(transformer: Transformer) -> Live:
    return _live(transformer, np.zeros(transformer.width, dtype=bool))


def live_for_all(transformer: Transformer) -> Live:
    last = np.zeros(transformer.width, dtype=bool)
    last[transformer.out.column] = True
    return _live(transformer, last)


def _live(transformer: Transformer, last: np.ndarray) -> Live:
    count = len(transformer.layers)
    first, end = transformer.loop or (0, 0)
    before, within = [last.copy() for _ in range(count + 1)], [last.copy() for _ in range(count)]
    # each round takes in what the loop's start reads, which is live at its end; without a loop one round is enough
    for _ in range(1 if first == end else count * transformer.width + 1):
        known = [mask.copy() for mask in before]
        for i in range(count - 1, -1, -1):
            if i + 1 == end > first:
                before[end] |= before[first]
            within[i], before[i] = _through(transformer.layers[i], before[i + 1])
        if all(np.array_equal(old, new) for old, new in zip(known, before, strict=True)):
            break
    return Live(before, within)


def _through(layer: Layer, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(live after the heads, live before the layer) from what is live after it."""
    within = after | _used(layer.mlp.w1, _used(layer.mlp.w2, after))
    before = within.copy()
    for head in layer.heads:
        before |= _used(head.wv, within)
        before[head.wq.row] = before[head.wk.row] = True
    return within, before


def _used(matrix: Matrix, columns: np.ndarray) -> np.ndarray:
    """The rows of a matrix that some of its columns read, as masks."""
    result = np.zeros(matrix.shape[0], dtype=bool)
    result[matrix.row[columns[matrix.column]]] = True
    return result
