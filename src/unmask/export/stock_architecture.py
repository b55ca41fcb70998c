"""RealTransformer → StockTransformer: no outer ReLU, spare rows, heads of one width, norms that change nothing.

outer ReLU   y = ReLU(G·W1 + b1)·W2 + b2 goes to scratch columns where it may be negative; a further layer without
             attention adds ReLU(y) to its column, and ReLU(-y) - ReLU(y) to the scratch column, which is 0 again
spare rows   column `outside` is 1 in rows after the model's canvas: no head attends to them, their logit is [EOS]
layer norm   a column holds minus the sum of all others, so that the mean is 0. A norm adds ε = 2^30 to the variance;
             a variance below 64 is lost in this sum in float32, and a gain of √ε = 2^15 restores the input. If a kernel
             computes a mean other than 0, all columns are shifted equally. A column that is always 0 then has the value
             of this shift, and every map reads the difference of its columns to this one
1/√d         of a head of width d: scores times the least power of two that is not below √d, so that terms that cancel
             still do
"""

from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from unmask.export.real_transformer import RealHead, RealLayer, RealMlp, RealTransformer

EPSILON = 2.0**30
GAIN = 2.0**15
NEVER = -(2.0**13)  # logit of a token that is never predicted; -10^4 is not a number of bfloat16
HIDDEN = 120.0  # a spare row scores at least this much less than any other row
SPARE_ROWS, ROWS_PER_BLOCK = 16, 32
HEAD_WIDTHS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)  # what the attention kernels of engines accept
ZERO = -2
MORE_NAMES = ("zero", "minus the sum")


@dataclass(frozen=True, eq=False)
class StockTransformer:
    """Layers without an outer ReLU, over D columns; the last two are always 0, and minus the sum of all others."""

    real: RealTransformer
    heads: int
    head_width: int
    hidden: int

    @property
    def width(self) -> int:
        return self.heads * self.head_width

    @property
    def constant(self) -> int:
        """The column that is 1 in every row."""
        return added_column(self.real, "constant")


def most_rows(rows: int) -> int:
    """Return the number of rows of a stock form: those of the model, and at least 16 spare ones."""
    return ROWS_PER_BLOCK * ceil((rows + SPARE_ROWS) / ROWS_PER_BLOCK)


def with_spare_rows(transformer: RealTransformer, vocabulary: int) -> RealTransformer:
    """Add the columns `outside` and `constant`, and hide from every head the rows where `outside` is 1.

    `constant` is 1 in every row. `outside` is 1 in the embedding of every token, and the position table subtracts it in
    the rows of the model, so that it is 1 exactly in the rows that the table does not have. Every head gets one more
    score column, which is 0 for the rows of the model, so that their scores do not change, to the last bit.
    """
    wide = widened(transformer, 2, ("outside", "constant"))
    outside, constant = transformer.width, transformer.width + 1
    embed = np.zeros((vocabulary, wide.width))
    embed[: len(wide.embed)] = wide.embed
    embed[:, [outside, constant]] = 1
    positions = wide.positions.copy()
    positions[:, outside] = -1

    def hiding(head: RealHead) -> RealHead:
        query, key = np.zeros((wide.width, 1)), np.zeros((wide.width, 1))
        query[constant], key[outside] = -hiding_score(head), 1
        return replace(head, wq=np.hstack([head.wq, query]), wk=np.hstack([head.wk, key]))

    layers = tuple(replace(layer, heads=tuple(map(hiding, layer.heads))) for layer in wide.layers)
    return replace(wide, embed=embed, positions=positions, layers=layers)


def hiding_score(head: RealHead) -> float:
    """Return a score that exceeds the difference of any two scores of rows of zeros and ones."""
    return 64.0 * ceil((2 * np.abs(head.wq @ head.wk.T).sum() + HIDDEN) / 64)


def added_column(transformer: RealTransformer, name: str) -> int:
    """Return the last column of this name; a register of the model may have the same name."""
    return len(transformer.names) - 1 - transformer.names[::-1].index(name)


def with_eos_in_spare_rows(transformer: RealTransformer, scale: float) -> RealTransformer:
    """Add an output, that of [EOS]: it is certain in spare rows and impossible in all others."""
    row = np.zeros((1, transformer.width))
    row[0, added_column(transformer, "outside")] = -2 * NEVER / scale
    return replace(transformer, out=np.vstack([transformer.out, row]), bias=np.append(transformer.bias, NEVER / scale))


def stock_transformer(
    transformer: RealTransformer, *, least_width: int = 0, cleared: np.ndarray | None = None
) -> StockTransformer:
    """Return the narrowest form; its logit head needs `least_width`, its first MLP sets the columns `cleared` to 0."""
    flat = without_outer_relu(transformer)
    if cleared is not None and len(cleared):
        flat = replace(flat, layers=(_with_clearing_units(flat.layers[0], cleared), *flat.layers[1:]))
    heads = max(1, max((len(layer.heads) for layer in flat.layers), default=1))
    needed = max((head.width for layer in flat.layers for head in layer.heads), default=1)
    heads, head_width = head_sizes(heads, needed, max(flat.width + len(MORE_NAMES), least_width))
    padding = heads * head_width - flat.width - len(MORE_NAMES)
    wide = widened(flat, padding + len(MORE_NAMES), (*[f"unused:{i}" for i in range(padding)], *MORE_NAMES))
    scale = 2.0 ** ceil(np.log2(sqrt(head_width)))
    layers = tuple(
        _writing_minus_sums(_reading_differences(_with_scaled_scores(layer, scale))) for layer in wide.layers
    )
    balanced = replace(wide, embed=_minus_sum(wide.embed), positions=_minus_sum(wide.positions), layers=layers)
    hidden = max(1, max((len(layer.mlp.b1) for layer in layers), default=1))
    return StockTransformer(balanced, heads, head_width, hidden)


def head_sizes(heads: int, needed: int, width: int) -> tuple[int, int]:
    """Return the number of heads and their width: the narrowest that engines accept, if needed with idle heads."""
    widths = [size for size in HEAD_WIDTHS if size >= needed] or [ROWS_PER_BLOCK * ceil(needed / ROWS_PER_BLOCK)]
    sizes = [(max(heads, ceil(width / size)), size) for size in widths]
    return min(sizes, key=lambda pair: (pair[0] * pair[1], pair[0]))


def without_outer_relu(transformer: RealTransformer) -> RealTransformer:
    """Return the same function of the same columns, with scratch columns after them."""
    negative = [_may_be_negative(layer) for layer in transformer.layers]
    scratch = max((len(columns) for columns in negative), default=0)
    wide = widened(transformer, scratch, tuple(f"scratch:{i}" for i in range(scratch)))
    layers: list[RealLayer] = []
    for layer, columns in zip(wide.layers, negative, strict=True):
        layers += (
            [replace(layer, outer_relu=False)] if not len(columns) else _split_layer(layer, columns, transformer.width)
        )
    loop = transformer.loop and tuple(
        sum(1 + bool(len(columns)) for columns in negative[:end]) for end in transformer.loop
    )
    return replace(wide, layers=tuple(layers), loop=loop)


def widened(transformer: RealTransformer, more: int, names: tuple[str, ...]) -> RealTransformer:
    """Append columns that are 0 everywhere."""

    def pad_columns(array: np.ndarray) -> np.ndarray:
        return np.pad(array, ((0, 0), (0, more)))

    def pad_rows(array: np.ndarray) -> np.ndarray:
        return np.pad(array, ((0, more), (0, 0)))

    def layer(old: RealLayer) -> RealLayer:
        heads = tuple(
            replace(h, wq=pad_rows(h.wq), wk=pad_rows(h.wk), wv=pad_rows(h.wv), wo=pad_columns(h.wo)) for h in old.heads
        )
        mlp = RealMlp(pad_rows(old.mlp.w1), old.mlp.b1, pad_columns(old.mlp.w2), np.pad(old.mlp.b2, (0, more)))
        return replace(old, heads=heads, mlp=mlp)

    return replace(
        transformer,
        embed=pad_columns(transformer.embed),
        positions=pad_columns(transformer.positions),
        out=pad_columns(transformer.out),
        layers=tuple(layer(old) for old in transformer.layers),
        names=(*transformer.names, *names),
    )


def _may_be_negative(layer: RealLayer) -> np.ndarray:
    """Return the columns whose outer ReLU has an effect: a weight or the bias into them is negative."""
    return np.flatnonzero((layer.mlp.w2 < 0).any(axis=0) | (layer.mlp.b2 < 0))


def _split_layer(layer: RealLayer, columns: np.ndarray, first: int) -> list[RealLayer]:
    """Return the layer, with these columns moved to the scratch columns from `first` on, and the layer that ends it."""
    scratch = first + np.arange(len(columns))
    w2, b2 = layer.mlp.w2.copy(), layer.mlp.b2.copy()
    w2[:, scratch], b2[scratch] = w2[:, columns], b2[columns]
    w2[:, columns], b2[columns] = 0, 0
    width, count = len(b2), len(columns)
    end1, end2, unit = np.zeros((width, 2 * count)), np.zeros((2 * count, width)), np.arange(count)
    end1[scratch, unit], end1[scratch, count + unit] = 1, -1
    end2[unit, columns], end2[unit, scratch], end2[count + unit, scratch] = 1, -1, 1
    end = RealMlp(end1, np.zeros(2 * count), end2, np.zeros(width))
    return [
        replace(layer, mlp=replace(layer.mlp, w2=w2, b2=b2), outer_relu=False),
        RealLayer((), end, layer.source, outer_relu=False),
    ]


def _with_clearing_units(layer: RealLayer, columns: np.ndarray) -> RealLayer:
    """Return the layer with two further units per column x, which set it to 0: x + ReLU(-x) - ReLU(x) = 0."""
    width, count = len(layer.mlp.b2), len(columns)
    w1, w2, unit = np.zeros((width, 2 * count)), np.zeros((2 * count, width)), np.arange(count)
    w1[columns, unit], w1[columns, count + unit] = 1, -1
    w2[unit, columns], w2[count + unit, columns] = -1, 1
    mlp = layer.mlp
    wider = RealMlp(np.hstack([mlp.w1, w1]), np.pad(mlp.b1, (0, 2 * count)), np.vstack([mlp.w2, w2]), mlp.b2)
    return replace(layer, mlp=wider)


def _with_scaled_scores(layer: RealLayer, scale: float) -> RealLayer:
    return replace(layer, heads=tuple(replace(head, wq=head.wq * scale) for head in layer.heads))


def _reading_differences(layer: RealLayer) -> RealLayer:
    heads = tuple(
        replace(
            h, wq=_relative_to_zero_column(h.wq), wk=_relative_to_zero_column(h.wk), wv=_relative_to_zero_column(h.wv)
        )
        for h in layer.heads
    )
    return replace(layer, heads=heads, mlp=replace(layer.mlp, w1=_relative_to_zero_column(layer.mlp.w1)))


def _relative_to_zero_column(matrix: np.ndarray) -> np.ndarray:
    """Return a map [D, d] of differences to the column `zero`: an equal shift of all columns does not change it."""
    relative = matrix.copy()
    relative[ZERO] = -matrix.sum(axis=0)
    return relative


def _minus_sum(array: np.ndarray) -> np.ndarray:
    """Set the last column to minus the sum of the others."""
    balanced = array.copy()
    balanced[..., -1] = -array[..., :-1].sum(axis=-1)
    return balanced


def _writing_minus_sums(layer: RealLayer) -> RealLayer:
    heads: tuple[RealHead, ...] = tuple(replace(head, wo=_minus_sum(head.wo)) for head in layer.heads)
    return replace(layer, heads=heads, mlp=replace(layer.mlp, w2=_minus_sum(layer.mlp.w2), b2=_minus_sum(layer.mlp.b2)))
