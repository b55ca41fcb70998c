"""Chains of thought by a C kernel (kernel.c): its input, its compilation, and the run of a chain.

The records have the same fields as in kernel.c: the weights, the stored values of earlier rows, and the codes.

Matrices are stored one after another in compressed rows. With (first, rows) = matrices[m], row k of matrix m has the
entries e with starts[first + k] <= e < starts[first + k + 1]: weight values[e] in column columns[e]. The order is
embed, then W1 and W2 of each layer, then outᵀ, then Wq, Wk and Wv of each head. Heads are padded to one size.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines.prepared_weights import prepared, without_zero_scores
from unmask.engines.visible_keys import KeyCode, ValueRange, find_bits, prove_code
from unmask.limits import check, stage
from unmask.numerics.arithmetic import exp_table
from unmask.numerics.compact import Compact
from unmask.weights.matrices import Matrix, PositionTable
from unmask.weights.transformer import Transformer

RECENT = 512  # the number of queries that are kept for learning codes
MOST_STORED_VALUES = 1 << 28  # the number of stored values of earlier rows: 1 GB
MOST_BITS = 62


class KernelRecord:
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


class KernelWeights(KernelRecord):
    """A transformer. `head_sizes` are (width of queries, number of columns written), `targets` are these columns."""

    numbers = (
        *("width", "hidden", "p", "bound", "layers", "last_head", "heads", "outputs"),
        *("head_width", "head_columns", "placed"),
    )
    arrays = (
        *("matrices", "starts", "columns", "values", "biases", "bias_starts", "positions"),
        *("places", "head_sizes", "targets", "first_head", "exps"),
    )
    narrow = frozenset({"columns", "values", "biases", "positions"})


class KernelMemory(KernelRecord):
    """The stored values of the rows so far, by head: keys, values, the last queries, and the index of keys by code."""

    numbers = ("rows", "slots", "recent")
    arrays = ("keys", "values", "queries", "table", "before", "irregular", "irregulars")
    narrow = frozenset({"keys", "values", "queries", "before", "irregular"})


class KernelCodes(KernelRecord):
    """By head: number of bits of the code (-1: no code), ranges in which it is proved, bits as (column, size)."""

    numbers = ("most",)
    arrays = ("bits", "query_within", "key_within", "query_bits", "key_bits")
    narrow = frozenset({"query_within", "key_within", "query_bits", "key_bits"})


class KernelScratch(KernelRecord):
    """Working memory for one row."""

    numbers = ()
    arrays = ("H", "total", "change", "units", "head", "logits", "key_rows", "exps")
    narrow = frozenset({"H", "total", "change", "units", "head", "logits"})


_FLAT: WeakKeyDictionary[Transformer, KernelWeights] = WeakKeyDictionary()


def kernel_weights(transformer: Transformer) -> KernelWeights:
    """Return the weights in the layout of the kernel, computed once."""
    if transformer not in _FLAT:
        _FLAT[transformer] = _lay_out(transformer)
    return _FLAT[transformer]


def allocate_memory(weights: KernelWeights, rows: int) -> KernelMemory | None:
    """Allocate arrays for this number of rows, or return None if they would be too large."""
    sizes = weights.structure
    if sizes.heads * rows * (sizes.head_width + sizes.head_columns + 8) > MOST_STORED_VALUES:
        return None
    slots = 1 << (2 * rows).bit_length()
    return KernelMemory(
        rows=rows,
        slots=slots,
        recent=RECENT,
        keys=np.zeros((sizes.heads, rows, sizes.head_width), dtype=np.int32),
        values=np.zeros((sizes.heads, rows, sizes.head_columns), dtype=np.int32),
        queries=np.zeros((sizes.heads, RECENT, sizes.head_width), dtype=np.int32),
        table=np.full((sizes.heads, slots, 2), -1),
        before=np.zeros((sizes.heads, rows), dtype=np.int32),
        irregular=np.zeros((sizes.heads, rows), dtype=np.int32),
        irregulars=np.zeros(sizes.heads),
    )


def no_codes(weights: KernelWeights) -> KernelCodes:
    """Return codes that prove nothing: every query and key is irregular."""
    heads, width = weights.structure.heads, weights.structure.head_width
    ranges, bits = np.zeros((heads, 2, width), dtype=np.int32), np.zeros((heads, 2, MOST_BITS), dtype=np.int32)
    return KernelCodes(
        most=MOST_BITS,
        bits=np.full(heads, -1),
        query_within=ranges,
        key_within=ranges.copy(),
        query_bits=bits,
        key_bits=bits.copy(),
    )


def allocate_scratch(weights: KernelWeights, rows: int) -> KernelScratch:
    """Return the arrays that the kernel writes to, for words of this number of rows."""
    widths = weights.structure
    sizes = {"units": widths.hidden, "logits": widths.outputs, "key_rows": rows, "exps": rows}
    return KernelScratch(**{name: np.zeros(sizes.get(name, widths.width)) for name in KernelScratch.arrays})


def _lay_out(transformer: Transformer) -> KernelWeights:
    layers, precision = transformer.layers, transformer.precision
    heads = [without_zero_scores(head) for layer in layers for head in layer.heads]
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
    return KernelWeights(
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


# kernel.c as functions: compiled once by the installed C compiler, then stored in the user's cache.
#
# Without a compiler, or if UNMASK_COMPILER is set to the empty string, NumPy does the work.


SOURCE = Path(__file__).with_name("kernel.c")
FLAGS = ("-O2", "-shared", "-fPIC")
COMPILER_SECONDS = 120  # limit for the C compiler


@cache
def kernel() -> ctypes.CDLL | None:
    """Return the compiled kernel, or None if it is not available."""
    compiler = shutil.which(os.environ.get("UNMASK_COMPILER", "cc"))
    if compiler is None or os.name != "posix":
        return None
    try:
        library = ctypes.CDLL(str(_library_path(compiler)))
    except (OSError, subprocess.SubprocessError):
        return None
    library.advance.restype = library.enter_all.restype = ctypes.c_int64
    return library


def _library_path(compiler: str) -> Path:
    """Return the path of the compiled library; build it if it does not exist."""
    content = SOURCE.read_bytes()
    folder = _private_folder()
    name = hashlib.sha256(b"\0".join([content, *map(str.encode, (*FLAGS, platform.machine()))])).hexdigest()[:24]
    target = folder / f"kernel-{name}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as build_folder:
            library = Path(build_folder) / target.name
            command = [compiler, *FLAGS, str(SOURCE), "-o", str(library)]
            subprocess.run(command, check=True, timeout=COMPILER_SECONDS, stdin=subprocess.DEVNULL, capture_output=True)
            library.replace(target)
    return target


def _private_folder() -> Path:
    """Return a folder that only this user can write to, because its content is loaded as code."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unmask"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid == os.getuid() and not status.st_mode & 0o022 and os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):  # no home directory
        pass
    return _temporary_folder()


@cache
def _temporary_folder() -> Path:
    """Return a temporary folder for this process alone."""
    import atexit

    folder = tempfile.mkdtemp(prefix="unmask-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


# Chains: tokens of a word → the symbols that follow, each the argmax of the last row's logits.
#
# Codes are learned from computed rows: the bits (`find_bits`) from the latest queries and a sample of the keys, the
# ranges from the same and from the positions of later rows. They are only a guess about later rows. The proof
# (`visible_keys`) covers all queries and keys within its ranges, and the kernel treats the others as irregular.


DONE, SCANNED = 0, 1
FIRST_BUDGET = 1 << 12
SAMPLED_KEYS = 512  # keys from which the bits are learned
ROWS_AT_ONCE = 1 << 12  # the kernel cannot be interrupted


def run_chain(transformer: Transformer, words: np.ndarray, steps: int) -> np.ndarray | None:
    """Return the next symbols of every word, [batch, steps].

    Return None without a kernel, if it would take too much memory, or if a row attends to nothing.
    """
    inputs = words.shape[1]
    compiled, stored = kernel(), allocate_memory(kernel_weights(transformer), inputs + steps - 1)
    if compiled is None or stored is None:
        return None
    tokens = np.zeros((len(words), inputs + steps), dtype=np.int64)
    tokens[:, :inputs] = words
    rows = _ChainRows(compiled, transformer, stored, inputs, inputs + steps - 1)
    return tokens[:, inputs:] if all(rows.complete(word) for word in tokens) else None


class _ChainRows:
    """Runs words of one length through one transformer; later words reuse the codes learned for its heads."""

    def __init__(
        self, compiled: ctypes.CDLL, transformer: Transformer, stored: KernelMemory, inputs: int, last: int
    ) -> None:
        self._kernel, self._stored, self._inputs, self._last = compiled, stored, inputs, last
        self._weights = kernel_weights(transformer)
        self._scratch = allocate_scratch(self._weights, last)
        self._codes = no_codes(self._weights)
        self._heads = [
            _HeadLearner((head.query.score_rows, head.key.score_rows), hints, Compact(transformer.precision))
            for head, hints in zip(
                (head for layer in prepared(transformer).layers for head in layer.heads),
                _expected_ranges(transformer),
                strict=True,
            )
        ]

    def complete(self, tokens: np.ndarray) -> bool:
        """Write the tokens after the inputs. Return False if a row attends to nothing."""
        row, budget = ctypes.c_int64(0), FIRST_BUDGET
        shared = self._weights.pointer, self._stored.pointer, self._codes.pointer
        self._kernel.enter_all(row, *shared)
        for first in stage("parts of a chain", range(0, self._last, ROWS_AT_ONCE)):
            until = min(self._last, first + ROWS_AT_ONCE)
            while row.value < until:
                check()
                state = self._kernel.advance(
                    ctypes.c_void_p(tokens.ctypes.data),
                    ctypes.byref(row),
                    *(ctypes.c_int64(x) for x in (self._inputs, until, budget)),
                    *shared,
                    self._scratch.pointer,
                )
                if state not in (DONE, SCANNED):
                    return False
                if state == SCANNED and row.value < self._last:
                    self._learn(row.value)
                    budget += max(FIRST_BUDGET, 8 * row.value)
                    self._kernel.enter_all(row, *shared)
        return True

    def _learn(self, rows: int) -> None:
        """Learn codes of all heads from the first rows."""
        recent = np.arange(max(0, rows - RECENT), rows) % RECENT
        sample = np.unique(np.linspace(0, rows - 1, min(rows, SAMPLED_KEYS)).astype(np.int64))
        codes = self._codes
        for h, head in enumerate(self._heads):
            learned = head.learn(self._stored["queries"][h][recent].T, self._stored["keys"][h][sample].T)
            codes["bits"][h] = -1
            if learned is not None:
                code, columns, ranges = learned
                codes["bits"][h] = code.deciding.size
                bits = (code.bits.query, code.bits.query_size), (code.bits.key, code.bits.key_size)
                for name, (bit_columns, size), column, range_, score_rows in zip(
                    ("query", "key"), bits, columns, ranges, head.places, strict=True
                ):
                    codes[f"{name}_bits"][h, :, : code.deciding.size] = (
                        column[bit_columns[code.deciding]],
                        size[code.deciding],
                    )
                    codes[f"{name}_within"][h, :, : score_rows.size] = range_.low[score_rows], range_.high[score_rows]


class _HeadLearner:
    """One head. `places` says which columns of queries and keys are equal, `expected` are the ranges of later rows."""

    def __init__(
        self, places: tuple[np.ndarray, np.ndarray], expected: tuple[ValueRange, ValueRange], compact: Compact
    ) -> None:
        self.places, self._compact = places, compact
        self._columns = tuple(np.unique(rows, return_index=True)[1] for rows in places)  # one representative of each
        self._expected = expected

    def learn(
        self, Q: np.ndarray, K: np.ndarray
    ) -> tuple[KeyCode, tuple[np.ndarray, ...], tuple[ValueRange, ValueRange]] | None:
        """Return (a code, a representative of each distinct column, the ranges in which it is proved), or None."""
        query, key = self._columns
        Q, K = Q[query], K[key]
        bits = find_bits(Q, K, self.places)
        sampled = ValueRange.of(Q), ValueRange.of(K)
        widened = (
            sampled[0].union(_select_columns(self._expected[0], query)),
            sampled[1].union(_select_columns(self._expected[1], key)),
        )
        for ranges in (widened, sampled):
            code = prove_code(bits, self.places, ranges, self._compact, Q, MOST_BITS)
            if code.holds is None and code.deciding.size:
                return code, self._columns, ranges
        return None


def _select_columns(range_: ValueRange, columns: np.ndarray) -> ValueRange:
    return ValueRange(range_.low[columns], range_.high[columns])


def _expected_ranges(transformer: Transformer) -> Iterator[tuple[ValueRange, ValueRange]]:
    """Yield the ranges of each head's queries and keys if no earlier layer wrote anything: a guess, not a proof."""
    bound, one = transformer.precision.bound, transformer.precision.one
    symbols, positions = transformer.embed.dense(), PositionTable.of(transformer.positions)
    low, high = symbols.min(axis=0), symbols.max(axis=0)
    low[positions.columns] += positions.table.min(axis=0)
    high[positions.columns] += positions.table.max(axis=0)
    for layer in transformer.layers:
        for head in layer.heads:
            scored = without_zero_scores(head)
            query, key = (_product_range(m, low, high, bound, one) for m in (scored.wq, scored.wk))
            yield query, key


def _product_range(matrix: Matrix, low: np.ndarray, high: np.ndarray, bound: int, one: int) -> ValueRange:
    ends = [low[matrix.row] * matrix.value, high[matrix.row] * matrix.value]
    sums = np.zeros((2, matrix.shape[1]), dtype=np.int64)
    for total, end in zip(sums, (np.minimum(*ends), np.maximum(*ends)), strict=True):
        np.add.at(total, matrix.column, end)
    return ValueRange(*np.clip(sums // one, -bound, bound))
