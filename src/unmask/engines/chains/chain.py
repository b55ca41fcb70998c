"""Chains: tokens of a word → the symbols that follow, each the argmax of the last row's logits.

Codes are learned from the rows that were computed: the bits (`find_bits`) from the latest queries and a sample of the
keys, the ranges from the same, and from what the positions still have to come. What is learned is only a guess at what
later rows look like: the proof (`visible_keys`) is about all queries and keys within its ranges, and the kernel treats
the others as irregular.
"""

import ctypes
from collections.abc import Iterator

import numpy as np

from unmask.budget import check, stage
from unmask.engines.chains.compiled import kernel
from unmask.engines.chains.layout import MOST_BITS, RECENT, Memory, flat, memory, no_codes, scratch
from unmask.engines.shared.bit_codes import Code, Range, find_bits
from unmask.engines.shared.prepared import prepared, telling
from unmask.engines.shared.visible_keys import prove
from unmask.numerics.compact import Compact
from unmask.weights.matrix import Matrix
from unmask.weights.positions import PositionTable
from unmask.weights.transformer import Transformer

DONE, SCANNED = 0, 1
FIRST_BUDGET = 1 << 12
SAMPLED = 512
ROWS_AT_ONCE = 1 << 12  # the kernel cannot be interrupted


def chain(transformer: Transformer, words: np.ndarray, steps: int) -> np.ndarray | None:
    """The next symbols of every word, [batch, steps].

    None without a kernel, where it would take too much memory, and if a row attends to nothing.
    """
    given = words.shape[1]
    compiled, kept = kernel(), memory(flat(transformer), given + steps - 1)
    if compiled is None or kept is None:
        return None
    tokens = np.zeros((len(words), given + steps), dtype=np.int64)
    tokens[:, :given] = words
    rows = _Rows(compiled, transformer, kept, given, given + steps - 1)
    return tokens[:, given:] if all(rows.complete(word) for word in tokens) else None


class _Rows:
    """Words of one length through one transformer; what was learned of its heads is kept from word to word."""

    def __init__(self, compiled: ctypes.CDLL, transformer: Transformer, kept: Memory, given: int, last: int) -> None:
        self._kernel, self._kept, self._given, self._last = compiled, kept, given, last
        self._weights = flat(transformer)
        self._scratch = scratch(self._weights, last)
        self._codes = no_codes(self._weights)
        self._heads = [
            _HeadLearner((head.query.place, head.key.place), hints, Compact(transformer.precision))
            for head, hints in zip(
                (head for layer in prepared(transformer).layers for head in layer.heads),
                _coming(transformer),
                strict=True,
            )
        ]

    def complete(self, tokens: np.ndarray) -> bool:
        """Write the tokens after the given ones; False if a row attends to nothing."""
        row, budget = ctypes.c_int64(0), FIRST_BUDGET
        shared = self._weights.pointer, self._kept.pointer, self._codes.pointer
        self._kernel.enter_all(row, *shared)
        for first in stage("parts of a chain", range(0, self._last, ROWS_AT_ONCE)):
            until = min(self._last, first + ROWS_AT_ONCE)
            while row.value < until:
                check()
                state = self._kernel.advance(
                    ctypes.c_void_p(tokens.ctypes.data),
                    ctypes.byref(row),
                    *(ctypes.c_int64(x) for x in (self._given, until, budget)),
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
        """Codes of all heads, from the first rows."""
        recent = np.arange(max(0, rows - RECENT), rows) % RECENT
        sample = np.unique(np.linspace(0, rows - 1, min(rows, SAMPLED)).astype(np.int64))
        codes = self._codes
        for h, head in enumerate(self._heads):
            found = head.learn(self._kept["queries"][h][recent].T, self._kept["keys"][h][sample].T)
            codes["bits"][h] = -1
            if found is not None:
                code, columns, ranges = found
                codes["bits"][h] = code.deciding.size
                sides = (code.bits.query, code.bits.query_size), (code.bits.key, code.bits.key_size)
                for side, (place, size), column, range_, of in zip(
                    ("query", "key"), sides, columns, ranges, head.places, strict=True
                ):
                    codes[f"{side}_bits"][h, :, : code.deciding.size] = (
                        column[place[code.deciding]],
                        size[code.deciding],
                    )
                    codes[f"{side}_within"][h, :, : of.size] = range_.low[of], range_.high[of]


class _HeadLearner:
    """One head: `places` says which columns of its queries and keys are equal, `coming` what they may still hold."""

    def __init__(self, places: tuple[np.ndarray, np.ndarray], coming: tuple[Range, Range], compact: Compact) -> None:
        self.places, self._compact = places, compact
        self._columns = tuple(np.unique(place, return_index=True)[1] for place in places)  # one of each
        self._coming = coming

    def learn(self, Q: np.ndarray, K: np.ndarray) -> tuple[Code, tuple[np.ndarray, ...], tuple[Range, Range]] | None:
        """(a code, the column of each distinct one, the ranges in which it is proved), if there is one."""
        query, key = self._columns
        Q, K = Q[query], K[key]
        bits = find_bits(Q, K, self.places)
        seen = Range.of(Q), Range.of(K)
        later = seen[0].union(_some(self._coming[0], query)), seen[1].union(_some(self._coming[1], key))
        for ranges in (later, seen):
            code = prove(bits, self.places, ranges, self._compact, Q, MOST_BITS)
            if code.holds is None and code.deciding.size:
                return code, self._columns, ranges
        return None


def _some(range_: Range, columns: np.ndarray) -> Range:
    return Range(range_.low[columns], range_.high[columns])


def _coming(transformer: Transformer) -> Iterator[tuple[Range, Range]]:
    """Per head, what queries and keys would hold if no layer before wrote anything: a guess, never relied on."""
    bound, one = transformer.precision.bound, transformer.precision.one
    symbols, positions = transformer.embed.dense(), PositionTable.of(transformer.positions)
    low, high = symbols.min(axis=0), symbols.max(axis=0)
    low[positions.columns] += positions.table.min(axis=0)
    high[positions.columns] += positions.table.max(axis=0)
    for layer in transformer.layers:
        for head in layer.heads:
            scored = telling(head)
            query, key = (_product_range(m, low, high, bound, one) for m in (scored.wq, scored.wk))
            yield query, key


def _product_range(matrix: Matrix, low: np.ndarray, high: np.ndarray, bound: int, one: int) -> Range:
    ends = [low[matrix.row] * matrix.value, high[matrix.row] * matrix.value]
    sums = np.zeros((2, matrix.shape[1]), dtype=np.int64)
    for total, end in zip(sums, (np.minimum(*ends), np.maximum(*ends)), strict=True):
        np.add.at(total, matrix.column, end)
    return Range(*np.clip(sums // one, -bound, bound))
