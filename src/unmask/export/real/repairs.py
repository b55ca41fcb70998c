"""What rounding and saturation did for free in F_p, done in the weights instead.

| in F_p                                              | among the reals                     | repair               |
|-----------------------------------------------------|-------------------------------------|----------------------|
| a mismatch scores -B, and exp(-B) = 0               | it leaks e^-2B per row              | `sharper_scores`     |
| n equal rows have the weights 1/min(n, B) >= 2^-p   | 1/n, too little for THRESH          | `detection_by_score` |
| -B twice leaves -B, whatever a logit was before     | it shifts all logits alike          | `louder_after_reset` |
"""

from dataclasses import replace

import numpy as np

from unmask.export.real.weights import RealHead, RealLayer, RealTransformer, factors
from unmask.numerics.precision import Precision

FAR = 60  # a key whose score is lower by this much has the weight 0 in float32, even a thousand of them
MOST_HEADS = 16


def score_scale(precision: Precision) -> int:
    """β: the least power of two with B·β >= FAR. Scores that cancel in F_p cancel exactly, whatever β is."""
    scale = 1
    while precision.bound * scale < FAR * precision.one:
        scale *= 2
    return scale


def sharper_scores(transformer: RealTransformer, scale: float) -> RealTransformer:
    """Every score times β."""
    layers = tuple(
        replace(layer, heads=tuple(replace(head, wq=head.wq * scale) for head in layer.heads))
        for layer in transformer.layers
    )
    told = f"scores times {scale}"
    return replace(transformer, layers=layers, repairs=(*transformer.repairs, told))


def detection_by_score(transformer: RealTransformer, precision: Precision) -> RealTransformer:
    """A head per detected value, with a further column (β·B/2·one ¦ value): it attends to a 1 where there is one.

    A value is detected where hidden units read 2^-p - average and nothing else (THRESH). Sharpen the scores first. A
    head that detects very many values stays one, and THRESH has 1/rows for 2^-p and rows/2 for 2^(p-1).
    """
    one = constant_column(transformer)
    if one is None:
        return transformer
    push = score_scale(precision) * precision.half_bound / precision.one
    layers, told = [], set()
    for layer in transformer.layers:
        units, averages = thresholds(layer, precision)
        heads: list[RealHead] = []
        for head in layer.heads:
            mine = _averages_of(head, averages)
            if len(mine) > MOST_HEADS:
                layer = _finer(layer, units[np.isin(averages, mine)], len(transformer.positions), precision)
                told.add("thresholds of 1/rows")
            elif len(mine):
                told.add("a head for every detected value")
            heads += _split(head, mine, one, push) if 0 < len(mine) <= MOST_HEADS else [head]
        layers.append(replace(layer, heads=tuple(heads)))
    return replace(transformer, layers=tuple(layers), repairs=(*transformer.repairs, *sorted(told)))


def louder_after_reset(transformer: RealTransformer, precision: Precision) -> RealTransformer:
    """Where two columns take B from every logit, what is read after them counts 4·2^p times as much.

    A reset logit is -B in F_p, so that a single 1 decides; among the reals that 1 must outweigh what was there before.
    """
    resets = np.flatnonzero((transformer.out * precision.one == -precision.bound).all(axis=0))
    if len(resets) < 2:
        return transformer
    out = transformer.out.copy()
    out[:, resets[1] + 1 :] *= 4 * precision.one
    return replace(transformer, out=out, repairs=(*transformer.repairs, "louder logits after a reset"))


def repaired(transformer: RealTransformer, precision: Precision) -> RealTransformer:
    """All three."""
    sharp = sharper_scores(transformer, score_scale(precision))
    return louder_after_reset(detection_by_score(sharp, precision), precision)


def thresholds(layer: RealLayer, precision: Precision) -> tuple[np.ndarray, np.ndarray]:
    """The hidden units that are ReLU(2^-p - x), two for every x, and the column x of each."""
    w1, b1 = layer.mlp.w1, layer.mlp.b1
    units = np.flatnonzero((b1 * precision.one == 1) & ((w1 != 0).sum(axis=0) == 1) & (w1.sum(axis=0) == -1))
    columns = np.argmax(w1[:, units] != 0, axis=0) if len(units) else units
    twice = np.bincount(columns, minlength=1)[columns] == 2
    return units[twice], columns[twice]


def constant_column(transformer: RealTransformer) -> int | None:
    """A column that is 1 in every row, whatever is read, and that no layer writes."""
    constant = (transformer.positions == 1).all(axis=0) & ~transformer.embed.any(axis=0)
    for layer in transformer.layers:
        constant &= ~layer.mlp.w2.any(axis=0) & (layer.mlp.b2 == 0)
        for head in layer.heads:
            constant &= ~head.wo.any(axis=0)
    return int(np.argmax(constant)) if constant.any() else None


def _averages_of(head: RealHead, averages: np.ndarray) -> np.ndarray:
    """The thresholded columns that a head fills; one that clears a column reads it as well, and is none."""
    value = head.wv @ head.wo
    columns = np.unique(averages)
    return columns[value[:, columns].any(axis=0) & (value[columns, columns] == 0)]


def _finer(layer: RealLayer, units: np.ndarray, rows: int, precision: Precision) -> RealLayer:
    b1, w2 = layer.mlp.b1.copy(), layer.mlp.w2.copy()
    b1[units] = 1 / rows
    w2[units] *= rows / precision.one
    return replace(layer, mlp=replace(layer.mlp, b1=b1, w2=w2))


def _split(head: RealHead, mine: np.ndarray, one: int, push: float) -> list[RealHead]:
    value = head.wv @ head.wo
    made = [_detecting(head, value, c, one, push) for c in mine]
    value[:, mine] = 0
    if not value.any():
        return made
    wv, wo = factors(value)
    return [replace(head, wv=wv, wo=wo), *made]


def _detecting(head: RealHead, value: np.ndarray, column: int, one: int, push: float) -> RealHead:
    query, target = np.zeros((len(value), 1)), np.zeros((1, len(value)))
    query[one], target[0, column] = push, 1
    detected = value[:, [column]]
    return replace(head, wq=np.hstack([head.wq, query]), wk=np.hstack([head.wk, detected]), wv=detected, wo=target)
