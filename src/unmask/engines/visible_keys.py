"""Queries × keys → the keys that each query can see, with a proof from the values that no other key has a weight.

`distinct_by_hash` finds equal columns by a hash and compares them, so that a collision costs time only. `find_bits`
finds columns that hold signed bits, `CodeIndex` joins queries and keys with the same bits, and `prove_code` proves that
keys with other bits have no weight.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.numerics.compact import Compact

HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def distinct_by_hash(*arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (first, inverse) of the columns of stacked [rows, n] arrays: column i equals column first[inverse[i]].

    Each set of equal columns is represented by its first column, in order of occurrence.
    """
    hashed = _hash(arrays)
    _, first, inverse = np.unique(hashed, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    if not all(np.array_equal(array, array[:, first[inverse]]) for array in arrays):
        rows = np.concatenate([array.T.astype(np.int64) for array in arrays], axis=1)
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[inverse]


def _hash(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return Σ x_i·HASH_FACTOR^i modulo 2^64 of every column."""
    total = np.zeros(arrays[0].shape[1], dtype=np.uint64)
    for array in arrays:
        for row in array:
            total *= HASH_FACTOR
            total += row.astype(np.int64).view(np.uint64)
    return total


# Bits and codes of queries and keys.
#
# A column j of a head is a *bit* if |Q_j| = c in (nearly) every row and |K_j| = k in (nearly) every row. It then adds
# +t or -t to the score, t = [ck], as the signs agree or differ; columns with the same query and key columns are one
# bit. `visible_keys` determines which bits decide; they form the *code* of a row. Rows in which a bit of the code is
# not ±c are *irregular*.


SAMPLED_VALUES = 256
CODES_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class ValueRange:
    """The least and the largest value of every row of an array."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> "ValueRange":
        return cls(x.min(axis=1).astype(np.int64), x.max(axis=1).astype(np.int64))

    def holds(self, x: np.ndarray) -> bool:
        return self.covers(ValueRange.of(x))

    def covers(self, other: "ValueRange") -> bool:
        return bool((other.low >= self.low).all() and (other.high <= self.high).all())

    def union(self, other: "ValueRange") -> "ValueRange":
        return ValueRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True, eq=False)
class BitColumns:
    """The bits of a head: per bit its query and key column, with their magnitudes; per column its bit, or -1."""

    query: np.ndarray
    key: np.ndarray
    query_size: np.ndarray
    key_size: np.ndarray
    of_column: np.ndarray


def find_bits(Q: np.ndarray, K: np.ndarray, places: tuple[np.ndarray, np.ndarray]) -> BitColumns:
    """Return the columns whose values are ±c in nearly every row; `places` are the rows of Q and K of each column."""
    sizes = [np.array([_usual_magnitude(x) for x in columns], dtype=np.int64) for columns in (Q, K)]
    numbers: dict[tuple[int, int], int] = {}
    of_column = np.full(places[0].size, -1)
    for j, pair in enumerate(zip(places[0].tolist(), places[1].tolist(), strict=True)):
        if sizes[0][pair[0]] and sizes[1][pair[1]]:
            of_column[j] = numbers.setdefault(pair, len(numbers))
    pairs = np.array(list(numbers), dtype=np.int64).reshape(-1, 2)
    return BitColumns(pairs[:, 0], pairs[:, 1], sizes[0][pairs[:, 0]], sizes[1][pairs[:, 1]], of_column)


def _usual_magnitude(x: np.ndarray) -> int:
    """Return c > 0 if nearly all values are ±c, else 0."""
    magnitude = np.abs(x)
    sample = magnitude[:: max(1, x.size // SAMPLED_VALUES)]
    usual = int(np.bincount(sample.astype(np.int64)).argmax()) if x.size else 0
    return usual if np.count_nonzero(magnitude == usual) >= x.size - x.size // 8 else 0


@dataclass(frozen=True)
class Shift:
    """A run of columns whose products are the same for all pairs: s ↦ clip(s + by, low, high)."""

    by: int
    low: int
    high: int


Steps = list[Shift | int]
"""The columns of a score in order: a run of constants, or the number of a column to multiply out."""


@dataclass(frozen=True, eq=False)
class KeyCode:
    """The bits that decide, the score of pairs of equal code, and the score of any pair."""

    bits: BitColumns
    deciding: np.ndarray
    equal: Steps
    any: Steps
    holds: Callable[[np.ndarray], np.ndarray] | None = None
    """Queries [columns, queries] → whether the proof holds for each; None if it holds for all."""

    @property
    def constant(self) -> bool:
        """Whether all pairs of equal code have one score."""
        return all(isinstance(step, Shift) for step in self.equal)

    def of_queries(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (code, regular) of every query: rows for which the proof does not hold are irregular as well."""
        code, regular = _codes(Q, self.bits.query[self.deciding], self.bits.query_size[self.deciding])
        return code, regular if self.holds is None else regular & self.holds(Q)

    def of_keys(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _codes(K, self.bits.key[self.deciding], self.bits.key_size[self.deciding])


def _codes(x: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (code, regular) of every column of x; computed in blocks of columns that fit into the cache."""
    # unsigned, because a code of 57 bits or more temporarily fills all 64 bits
    code, regular = np.zeros(x.shape[1], dtype=np.uint64), np.ones(x.shape[1], dtype=bool)
    for first in range(0, x.shape[1], CODES_AT_ONCE):
        chunk = slice(first, first + CODES_AT_ONCE)
        values = x[:, chunk][rows]
        regular[chunk] = (np.abs(values) == sizes[:, None]).all(axis=0)
        chunk_code = code[chunk]
        for byte in np.packbits(values > 0, axis=0):
            chunk_code <<= np.uint64(8)
            chunk_code |= byte
        chunk_code >>= np.uint64(-len(rows) % 8)
    return code.view(np.int64), regular


# Rows by code, for joining queries and keys without comparing all pairs.


class CodeIndex:
    """`rows` sorted by code, in order within a code; codes lie in 0 … space - 1."""

    def __init__(self, codes: np.ndarray, rows: np.ndarray, space: int) -> None:
        self._sorted = self._starts = self._counts = None
        if space > 4 * rows.size + 1024:
            order = np.argsort(codes, kind="stable")
            self._sorted, self.rows = codes[order], rows[order]
            return
        self._counts = np.bincount(codes, minlength=space)
        self._starts = np.cumsum(self._counts) - self._counts
        if self._counts.max(initial=0) <= 1:
            self.rows = np.empty_like(rows)
            self.rows[self._starts[codes]] = rows
        else:
            self.rows = rows[np.argsort(codes, kind="stable")]

    def find(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (start, count): the rows of a code are rows[start : start + count]."""
        if self._sorted is None:
            assert self._starts is not None
            assert self._counts is not None
            return self._starts[codes], self._counts[codes]
        start = np.searchsorted(self._sorted, codes)
        return start, np.searchsorted(self._sorted, codes, side="right") - start


# The keys that a query can see, with a proof from the values of queries and keys.
#
# Clipped addition is monotone, so that
#
#     score of any pair that differs in bit b  <=  U_b = the sum, in order, of  -t_j         in the columns of b
#                                                                              max Q_j·K_j   in all others
#
# with the maximum over all rows. If exp(U_b) = 0, a query can have weight only on keys that agree with it in
# b. The bits with exp(U_b) = 0 are the code: each query is joined to the keys of the same code, and no other key is
# read. Irregular rows are outside this proof and see every key.
#
# If one column makes the bound too large for all queries (BOOST raises the scores of flagged queries), the bound is
# computed for each query q, with max q·K_j. The code is then used for the queries for which it is proved; the others
# are irregular.
#
# For these a second bound helps. It computes the least and the largest score that any key can have after column j. If
# both are equal (B, after BOOST), the score has forgotten the earlier columns. Queries that are equal from there on
# have equal outputs.
#
# This module does not depend on gadgets. EQ and FOCUS have such codes; FOCUS with a single copy does not; HIDE is
# one of the columns of "all others".


MOST_BITS = 62
BOUNDS_AT_ONCE = 1 << 20

Places = tuple[np.ndarray, np.ndarray]
"""The rows of Q and of K for column j of a score."""


def prove_code(
    bits: BitColumns,
    places: Places,
    ranges: tuple[ValueRange, ValueRange],
    compact: Compact,
    queries: np.ndarray,
    most: int,
) -> KeyCode:
    """Return the code of at most `most` bits; empty if nothing can be proved. `queries` are all existing queries."""
    low, high = _product_range(places, ranges, compact)
    # the other bits agree for all pairs of rows, or for none
    informative = np.isin(np.arange(bits.query.size), bits.of_column[low < high])
    bounds = _Bounds(bits, places, ranges[1], compact)
    proved, holds = bounds.below(high[:, None])[:, 0] & informative, None
    if not proved.any() and informative.any() and queries.shape[1] > 1:
        proved = _most_frequent_bits(bounds.of_queries(queries)) & informative
        holds = bounds.holds(np.flatnonzero(proved)[:most]) if proved.any() else None
    deciding = np.flatnonzero(proved)[:most]
    decided, constant = np.isin(bits.of_column, deciding), low == high
    return KeyCode(
        bits,
        deciding,
        _steps(np.where(decided, bounds.agree, low), decided | constant, compact.bound),
        _steps(low, constant, compact.bound),
        holds,
    )


def _most_frequent_bits(proved: np.ndarray) -> np.ndarray:
    """Return the largest set of bits that is proved for at least one in sixteen of the queries, [bits, queries]."""
    first, kind = distinct_by_hash(proved)
    frequent = proved[:, first[np.bincount(kind, minlength=first.size) * 16 >= proved.shape[1]]]
    if not frequent.size:
        return np.zeros(len(proved), dtype=bool)
    return frequent[:, np.argmax(frequent.sum(axis=0))]


@dataclass(frozen=True, eq=False)
class _Bounds:
    """U_b of every bit."""

    bits: BitColumns
    places: Places
    keys: ValueRange
    compact: Compact

    @property
    def agree(self) -> np.ndarray:
        """t_j of every column, 0 if the column is not a bit."""
        if not self.bits.query.size:
            return np.zeros(self.bits.of_column.size, dtype=np.int64)
        t = self.compact.multiply(self.bits.query_size, self.bits.key_size)[self.bits.of_column]
        return np.where(self.bits.of_column >= 0, t, 0).astype(np.int64)

    def below(self, high: np.ndarray) -> np.ndarray:
        """Return whether exp(U_b) = 0, [bits, queries], from the largest products [columns, queries]."""
        compact, agree = self.compact, self.agree
        bound = np.zeros((self.bits.query.size, high.shape[1]), dtype=np.int64)
        for j, bit in enumerate(self.bits.of_column):
            differs = bound[bit] - agree[j] if bit >= 0 else None
            bound += high[j]
            if differs is not None:
                bound[bit] = differs
            compact.clip(bound)
        return compact.exps[bound + compact.bound] == 0

    def of_queries(self, Q: np.ndarray) -> np.ndarray:
        """Return the same as `below`, from the products of each query."""
        step = max(1, BOUNDS_AT_ONCE // max(1, self.places[0].size))
        chunks = []
        for first in range(0, Q.shape[1], step):
            _, high = _products(Q[:, first : first + step], self.places, self.keys, self.compact)
            chunks.append(self.below(high))
        return np.concatenate(chunks, axis=1)

    def holds(self, deciding: np.ndarray):
        """Return the function from queries to whether all deciding bits are proved for them."""
        return lambda Q: self.of_queries(Q)[deciding].all(axis=0)


def score_prefix(Q: np.ndarray, places: Places, keys: ValueRange, compact: Compact) -> tuple[np.ndarray, np.ndarray]:
    """Return (column, score) of every query: before this column, all keys have this same score."""
    step = max(1, BOUNDS_AT_ONCE // max(1, places[0].size))
    if Q.shape[1] > step:
        chunks = [score_prefix(Q[:, i : i + step], places, keys, compact) for i in range(0, Q.shape[1], step)]
        since, score = (np.concatenate(chunk) for chunk in zip(*chunks, strict=True))
        return since, score
    since, score = (np.zeros(Q.shape[1], dtype=np.int64) for _ in range(2))
    reached = np.zeros((2, Q.shape[1]), dtype=np.int64)
    products = np.stack(_products(Q, places, keys, compact), axis=1)
    for j in range(places[0].size):
        reached += products[j]
        low, high = compact.clip(reached)
        is_constant = low == high
        np.copyto(since, j + 1, where=is_constant)
        np.copyto(score, low, where=is_constant)
    return since, score


def _products(Q: np.ndarray, places: Places, keys: ValueRange, compact: Compact) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest product of every column over all keys, [columns, queries]."""
    q = Q[places[0]]
    ends = [compact.multiply(q, k[places[1]][:, None]) for k in (keys.low, keys.high)]
    return np.minimum(*ends), np.maximum(*ends)


def _steps(products: np.ndarray, constant: np.ndarray, bound: int) -> Steps:
    """Return the steps of a score: its columns in order, with runs of constants composed."""
    steps: Steps = []
    for j, (product, is_constant) in enumerate(zip(products.tolist(), constant.tolist(), strict=True)):
        if not is_constant:
            steps.append(j)
        elif steps and isinstance(steps[-1], Shift):
            run = steps[-1]
            low, high = (max(-bound, min(bound, edge + product)) for edge in (run.low, run.high))
            steps[-1] = Shift(run.by + product, low, high)
        else:
            steps.append(Shift(product, -bound, bound))
    return steps


def _product_range(
    places: Places, ranges: tuple[ValueRange, ValueRange], compact: Compact
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest rounded product of every column: at the corners, as rounding is monotone."""
    query, key = ranges
    corners = np.array(
        [compact.multiply(q[places[0]], k[places[1]]) for q in (query.low, query.high) for k in (key.low, key.high)]
    ).astype(np.int64)
    return corners.min(axis=0, initial=compact.bound), corners.max(axis=0, initial=-compact.bound)
