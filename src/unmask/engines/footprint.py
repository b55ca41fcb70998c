"""Footprint: an upper bound of the bytes of a session, from the declared sizes and the nonzero weights.

    fast    retained: rows × (columns of the store + queries, keys, values)
            temporary: the memory of one head or one product while it is computed
    dense   rows × widths, and every pair of rows, for an engine that computes the definition

Tests measure that runs stay below these bounds.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines import class_attention, head_attention, prepared_weights, visible_keys
from unmask.engines.engine import Footprint
from unmask.numerics import compact as run_sums
from unmask.numerics.compact import Compact
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Transformer

PER_ENTRY = 160  # bytes per weight: row, column, value, and their prepared copies
PER_COLUMN = 200  # bytes per matrix, with or without entries, except those of queries and keys
CLASSES = 120 * class_attention.MOST_PAIRS  # per row, temporarily: pairs of queries and classes, and lists of keys
VECTORS = 24  # 64-bit numbers per row, temporarily: codes, their index, counts, and sorted arrays


def fast_footprint(transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
    """Return the bytes of a session of the fast engine for this number of words."""
    sizes, rows, outputs = _sizes(transformer), len(transformer.positions), transformer.out.shape[0]
    narrow, wide = sizes.compact.narrow.itemsize, sizes.compact.wide.itemsize
    retained = narrow * (sizes.store + outputs) + sum(narrow * head.columns + 16 for head in sizes.heads)
    retained += 2 * len(transformer.layers) + 8 + sizes.chained * (transformer.attention == "causal")
    most = max((head.temporary_bytes(narrow, wide) for head in sizes.heads), default=0)
    temporary = max(most, (4 * narrow + 1) * transformer.width, 32 * outputs) + 8 * VECTORS
    blocks = (
        (head_attention.PAIRS_AT_ONCE + rows) * 10 * 8
        + visible_keys.BOUNDS_AT_ONCE * 5 * wide
        + (prepared_weights.TERMS_AT_ONCE * 4 * wide if sizes.heavy else 0)
    )
    if rows >= head_attention.CLASSED_KEYS and batch * rows <= head_attention.CLASSED_ROWS:
        temporary += CLASSES + max((head.class_bytes(narrow, wide) for head in sizes.heads), default=0)
        retained += sum(head.retained_class_bytes(narrow) for head in sizes.heads)
        blocks += run_sums.TERMS_AT_ONCE * 8 * 8
    pairs = batch * rows * rows if watched else 0
    hidden = max(1 << 20, 16 * sizes.hidden) * (2 * narrow + 4 * wide) if sizes.hidden else 0
    return Footprint(
        batch * rows * retained
        + narrow * len(sizes.heads) * pairs
        + narrow * transformer.positions.size
        + sizes.weights,
        batch * rows * temporary + 24 * pairs + blocks + hidden,
    )


def dense_footprint(transformer: Transformer, batch: int, *, terms: int, watched: bool = False) -> Footprint:
    """Return the bytes of a session that computes every pair of rows in 64-bit integers, `terms` at a time."""
    sizes, rows = _sizes(transformer), batch * len(transformer.positions)
    widest = max((head.shape for head in sizes.heads), default=0)
    cells = rows * (10 * transformer.width + 4 * widest + 4 * transformer.out.shape[0])
    pairs = rows * len(transformer.positions) * (8 + 2 * watched if sizes.heads else 0)
    hidden = 4 * min(max(terms, sizes.hidden), rows * sizes.hidden)
    return Footprint(sizes.weights, 8 * (cells + pairs + hidden))


@dataclass(frozen=True)
class _HeadSizes:
    """Numbers of columns: those of a score (and so of queries and keys) that may not be 0, of values, as declared."""

    scores: int
    values: int
    shape: int

    @classmethod
    def of(cls, head: Head) -> "_HeadSizes":
        nonzero = np.intersect1d(head.wq.column, head.wk.column)
        return cls(nonzero.size, np.unique(head.wv.column).size, head.wq.shape[1])

    @property
    def columns(self) -> int:
        return 2 * self.scores + self.values

    def temporary_bytes(self, narrow: int, wide: int) -> int:
        """Return the bytes per row while the head is computed: its products, then the grouping of equal queries."""
        product = max(self.scores, self.values) * (2 * narrow + 4 * wide)
        incoming = narrow * 2 * self.columns + product
        grouping = 4 * 24 + 3 * narrow * self.scores
        return max(incoming, grouping) + 3 * narrow * self.values

    def class_bytes(self, narrow: int, wide: int) -> int:
        """Return the bytes per row while queries and keys are compared, or weighted values are concatenated."""
        signs = self.scores * (4 * narrow + 8)
        terms = self.values * (narrow + class_attention.MOST_WEIGHTS * (2 * narrow + 2 * wide))
        return max(signs, terms)

    def retained_class_bytes(self, narrow: int) -> int:
        """Return the bytes per row of the classes of keys and their index."""
        return class_attention.CACHED_CLASSES * (narrow * self.scores + 11 * 8)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """The quantities on which a transformer's footprint depends, besides the number of rows."""

    compact: Compact
    heads: list[_HeadSizes]
    store: int
    hidden: int
    heavy: bool
    weights: int

    @property
    def chained(self) -> int:
        """Bytes per row that the kernel of chains retains: 32-bit keys and values, and an index of the keys."""
        widths = (max((getattr(head, name) for head in self.heads), default=0) for name in ("scores", "values"))
        return len(self.heads) * (4 * sum(widths) + 8 + 64) + 8

    @classmethod
    def of(cls, transformer: Transformer) -> "_Sizes":
        store, scored = transformer.width, 0
        matrices: list[Matrix] = [transformer.embed, transformer.out]
        for layer in transformer.layers:
            written = [head.wv.column for head in layer.heads]
            store += np.unique(np.concatenate(written)).size if written else 0
            store += np.union1d(layer.mlp.w2.column, np.flatnonzero(layer.mlp.b2 > 0)).size
            matrices += [layer.mlp.w1, layer.mlp.w2, *(head.wv for head in layer.heads)]
            scored += sum(head.wq.nonzeros + head.wk.nonzeros for head in layer.heads)
        return cls(
            Compact(transformer.precision),
            [_HeadSizes.of(head) for layer in transformer.layers for head in layer.heads],
            store,
            max((layer.mlp.w1.shape[1] for layer in transformer.layers), default=0),
            any(_most_entries(matrix) > prepared_weights.HEAVY_FAN_IN for matrix in matrices),
            PER_ENTRY * scored + sum(PER_ENTRY * m.nonzeros + PER_COLUMN * sum(m.shape) for m in matrices),
        )


def _most_entries(matrix: Matrix) -> int:
    """Return the largest number of entries of a column."""
    return int(np.unique(matrix.column, return_counts=True)[1].max(initial=0))


_SIZES: WeakKeyDictionary[Transformer, _Sizes] = WeakKeyDictionary()


def _sizes(transformer: Transformer) -> _Sizes:
    if transformer not in _SIZES:
        _SIZES[transformer] = _Sizes.of(transformer)
    return _SIZES[transformer]
