"""What the kernel is given, field by field as in kernel.c: the weights, what is kept of earlier rows, the codes.

Matrices stand one after another in compressed rows: entry e of matrix m's row k, for starts[first + k] <= e <
starts[first + k + 1] with (first, rows) = matrices[m], adds to column columns[e] with weight values[e]. They are
numbered embed, then W1 and W2 of each layer, then outᵀ, then Wq, Wk and Wv of each head. Heads are padded to one size.
"""

import ctypes
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines.shared.prepared import telling
from unmask.numerics.exponential import exp_table
from unmask.weights.positions import PositionTable
from unmask.weights.transformer import Transformer

RECENT = 512  # queries that are kept, to learn codes from
LARGEST = 1 << 28  # numbers that are kept of earlier rows: 1 GB
MOST_BITS = 62


class Record:
    """Integers and arrays, and a structure of C that points to them; arrays are 64 bits wide, or 32 where `narrow`."""

    numbers: tuple[str, ...]
    arrays: tuple[str, ...]
    narrow: frozenset[str]

    def __init__(self, **fields: int | np.ndarray) -> None:
        self.fields: dict[str, np.ndarray] = {}
        members: list[tuple[str, type]] = [(name, ctypes.c_int64) for name in self.numbers]
        members += [(name, ctypes.c_void_p) for name in self.arrays]
        self.structure = type("Structure", (ctypes.Structure,), {"_fields_": members})()
        for name in self.numbers:
            setattr(self.structure, name, int(fields[name]))
        for name in self.arrays:
            kind = np.int32 if name in self.narrow else np.int64
            array = np.ascontiguousarray(fields[name], dtype=kind)
            self.fields[name] = array
            setattr(self.structure, name, array.ctypes.data)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]

    @property
    def pointer(self):
        return ctypes.byref(self.structure)


class Weights(Record):
    """A transformer; `head_sizes` are (width of queries, how many columns the head writes), `targets` those columns."""

    numbers = (
        *("width", "hidden", "p", "bound", "layers", "last_head", "heads", "outputs"),
        *("head_width", "head_columns", "placed"),
    )
    arrays = (
        *("matrices", "starts", "columns", "values", "biases", "bias_starts", "positions"),
        *("places", "head_sizes", "targets", "first_head", "exps"),
    )
    narrow = frozenset({"columns", "values", "biases", "positions"})


class Memory(Record):
    """What is kept of the rows so far, by head: keys, values, the last queries, and the index of keys by code."""

    numbers = ("rows", "slots", "recent")
    arrays = ("keys", "values", "queries", "table", "before", "irregular", "irregulars")
    narrow = frozenset({"keys", "values", "queries", "before", "irregular"})


class Codes(Record):
    """By head: how many bits its code has (-1: no code), within which ranges it is proved, its bits as column, size."""

    numbers = ("most",)
    arrays = ("bits", "query_within", "key_within", "query_bits", "key_bits")
    narrow = frozenset({"query_within", "key_within", "query_bits", "key_bits"})


class Scratch(Record):
    """Room for one row."""

    numbers = ()
    arrays = ("H", "total", "change", "units", "head", "logits", "found", "exps")
    narrow = frozenset({"H", "total", "change", "units", "head", "logits"})


_FLAT: WeakKeyDictionary[Transformer, Weights] = WeakKeyDictionary()


def flat(transformer: Transformer) -> Weights:
    """The weights, laid out once."""
    if transformer not in _FLAT:
        _FLAT[transformer] = _laid_out(transformer)
    return _FLAT[transformer]


def memory(weights: Weights, rows: int) -> Memory | None:
    """Room for so many rows, or None if that were too much."""
    of = weights.structure
    if of.heads * rows * (of.head_width + of.head_columns + 8) > LARGEST:
        return None
    slots = 1 << (2 * rows).bit_length()
    return Memory(
        rows=rows,
        slots=slots,
        recent=RECENT,
        keys=np.zeros((of.heads, rows, of.head_width), dtype=np.int32),
        values=np.zeros((of.heads, rows, of.head_columns), dtype=np.int32),
        queries=np.zeros((of.heads, RECENT, of.head_width), dtype=np.int32),
        table=np.full((of.heads, slots, 2), -1),
        before=np.zeros((of.heads, rows), dtype=np.int32),
        irregular=np.zeros((of.heads, rows), dtype=np.int32),
        irregulars=np.zeros(of.heads),
    )


def no_codes(weights: Weights) -> Codes:
    """Nothing is proved: every query and key is irregular."""
    heads, width = weights.structure.heads, weights.structure.head_width
    ranges, bits = np.zeros((heads, 2, width), dtype=np.int32), np.zeros((heads, 2, MOST_BITS), dtype=np.int32)
    return Codes(
        most=MOST_BITS,
        bits=np.full(heads, -1),
        query_within=ranges,
        key_within=ranges.copy(),
        query_bits=bits,
        key_bits=bits.copy(),
    )


def scratch(weights: Weights, rows: int) -> Scratch:
    of = weights.structure
    sizes = {"units": of.hidden, "logits": of.outputs, "found": rows, "exps": rows}
    return Scratch(**{name: np.zeros(sizes.get(name, of.width)) for name in Scratch.arrays})


def _laid_out(transformer: Transformer) -> Weights:
    layers, precision = transformer.layers, transformer.precision
    heads = [telling(head) for layer in layers for head in layer.heads]
    matrices = [
        transformer.embed,
        *(m for layer in layers for m in (layer.mlp.w1, layer.mlp.w2)),
        transformer.out.transposed(),
    ]
    matrices += [m for head in heads for m in (head.wq, head.wk, head.wv)]
    biases = [b for layer in layers for b in (layer.mlp.b1, layer.mlp.b2)]
    written = [np.unique(head.wv.column) for head in heads]
    targets = np.zeros((len(heads), max((w.size for w in written), default=1)), dtype=np.int64)
    for row, columns in zip(targets, written, strict=True):
        row[: columns.size] = columns
    positions = PositionTable.of(transformer.positions)
    first = np.cumsum([0, *(m.shape[0] + 1 for m in matrices)])
    entries = np.cumsum([0, *(m.nonzeros for m in matrices)])
    return Weights(
        width=transformer.width,
        hidden=max((layer.mlp.w1.shape[1] for layer in layers), default=0),
        p=precision.p,
        bound=precision.bound,
        layers=len(layers),
        last_head=max((i for i, layer in enumerate(layers) if layer.heads), default=-1),
        heads=len(heads),
        outputs=transformer.out.shape[0],
        head_width=max((head.wq.shape[1] for head in heads), default=0),
        head_columns=targets.shape[1],
        placed=positions.columns.size,
        matrices=np.array([(f, m.shape[0]) for f, m in zip(first, matrices, strict=False)]),
        starts=np.concatenate([m.starts + e for m, e in zip(matrices, entries, strict=False)]),
        columns=np.concatenate([m.column for m in matrices]),
        values=np.concatenate([m.value for m in matrices]),
        biases=np.concatenate([np.zeros(0, dtype=np.int64), *biases]),
        bias_starts=np.cumsum([0, *(len(b) for b in biases)]),
        positions=positions.table,
        places=positions.columns,
        head_sizes=np.array([(h.wq.shape[1], w.size) for h, w in zip(heads, written, strict=True)]).reshape(-1, 2),
        targets=targets,
        first_head=np.cumsum([0, *(len(layer.heads) for layer in layers)]),
        exps=exp_table(precision),
    )
