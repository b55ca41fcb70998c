"""Which keys can a query see at all? A proof from the bits of queries and keys.

A column j of a head is a *bit* if |Q_j| = c in (nearly) every row and |K_j| = k in (nearly) every row. It then adds
+t or -t to the score, t = [ck], as the signs agree or differ; columns with the same query and key columns are one
bit. Clipped addition is monotone, so that

    score of any pair that differs in bit b  <=  U_b = the sum, in order, of  -t_j       in the columns of b
                                                                             max Q_j·K_j  in all others

with the maximum over all rows there are. If exp(U_b) = 0, a query can have weight on keys that agree with it in b
only. The bits with exp(U_b) = 0 are the *code*: each query is joined to the keys of the same code, and no other key
is looked at. Rows in which a bit is not ±c (*irregular* rows) are outside this proof and see every key.

Nothing here knows of gadgets; EQ and FOCUS have such codes, FOCUS with a single copy has not, and HIDE is one of the
"others".
"""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.compact import Compact

MOST_BITS = 62
SAMPLED = 256


@dataclass(frozen=True, eq=False)
class Range:
    """The least and the largest value of every row of an array."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> "Range":
        return cls(x.min(axis=1).astype(np.int64), x.max(axis=1).astype(np.int64))

    def holds(self, x: np.ndarray) -> bool:
        return bool((x.min(axis=1) >= self.low).all() and (x.max(axis=1) <= self.high).all())

    def union(self, other: "Range") -> "Range":
        return Range(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True, eq=False)
class Bits:
    """The bits of a head: per bit its query and key column, with their magnitudes; per column its bit, or -1."""

    query: np.ndarray
    key: np.ndarray
    query_size: np.ndarray
    key_size: np.ndarray
    of_column: np.ndarray


def find_bits(Q: np.ndarray, K: np.ndarray, places: tuple[np.ndarray, np.ndarray]) -> Bits:
    """The columns whose values are ±c in nearly every row; `places` are the rows of Q and K of each column."""
    sizes = [np.array([_usual_magnitude(x) for x in side], dtype=np.int64) for side in (Q, K)]
    numbers: dict[tuple[int, int], int] = {}
    of_column = np.full(places[0].size, -1)
    for j, pair in enumerate(zip(places[0].tolist(), places[1].tolist(), strict=True)):
        if sizes[0][pair[0]] and sizes[1][pair[1]]:
            of_column[j] = numbers.setdefault(pair, len(numbers))
    pairs = np.array(list(numbers), dtype=np.int64).reshape(-1, 2)
    return Bits(pairs[:, 0], pairs[:, 1], sizes[0][pairs[:, 0]], sizes[1][pairs[:, 1]], of_column)


def _usual_magnitude(x: np.ndarray) -> int:
    """c > 0 if nearly all values are ±c, else 0."""
    magnitude = np.abs(x)
    some = magnitude[:: max(1, x.size // SAMPLED)]
    usual = int(np.bincount(some.astype(np.int64)).argmax()) if x.size else 0
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
class Code:
    """The bits that decide; the score of pairs of equal code, and of any pair."""

    bits: Bits
    chosen: np.ndarray
    equal: Steps
    any: Steps

    @property
    def constant(self) -> bool:
        """All pairs of equal code have one score."""
        return not any_column(self.equal)

    def of_queries(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _codes(Q, self.bits.query[self.chosen], self.bits.query_size[self.chosen])

    def of_keys(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _codes(K, self.bits.key[self.chosen], self.bits.key_size[self.chosen])


def _codes(x: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(code, regular) of every column of x."""
    chosen = x[rows]
    regular = (np.abs(chosen) == sizes[:, None]).all(axis=0)
    packed = np.packbits(chosen > 0, axis=0)
    code = np.zeros(x.shape[1], dtype=np.int64)
    for byte in packed:
        code <<= 8
        code |= byte
    return code >> (-len(rows) % 8), regular


def prove(
    bits: Bits, places: tuple[np.ndarray, np.ndarray], ranges: tuple[Range, Range], compact: Compact, most: int
) -> Code:
    """The code of at most `most` bits; empty where nothing can be proved."""
    low, high = _product_range(places, ranges, compact)
    agree = np.where(
        bits.of_column >= 0,
        compact.multiply(bits.query_size, bits.key_size)[bits.of_column] if bits.query.size else 0,
        0,
    ).astype(np.int64)
    bound = np.zeros(bits.query.size, dtype=np.int64)
    every = np.arange(bits.query.size)
    for j, bit in enumerate(bits.of_column):
        bound += np.where(every == bit, -agree[j], high[j])
        np.clip(bound, -compact.bound, compact.bound, out=bound)
    telling = np.isin(every, bits.of_column[low < high])  # all rows agree in the others, or none does
    chosen = np.flatnonzero((compact.exps[bound + compact.bound] == 0) & telling)[:most]
    decided = np.isin(bits.of_column, chosen)
    constant = low == high
    return Code(
        bits,
        chosen,
        _steps(np.where(decided, agree, low), decided | constant, compact.bound),
        _steps(low, constant, compact.bound),
    )


def any_column(steps: Steps) -> bool:
    """Does a column remain to be multiplied out?"""
    return any(isinstance(step, int) for step in steps)


def _steps(products: np.ndarray, constant: np.ndarray, bound: int) -> Steps:
    """Columns in order; runs of constants are composed."""
    steps: Steps = []
    for j, (product, known) in enumerate(zip(products.tolist(), constant.tolist(), strict=True)):
        if not known:
            steps.append(j)
        elif steps and isinstance(steps[-1], Shift):
            run = steps[-1]
            low, high = (max(-bound, min(bound, edge + product)) for edge in (run.low, run.high))
            steps[-1] = Shift(run.by + product, low, high)
        else:
            steps.append(Shift(product, -bound, bound))
    return steps


def _product_range(
    places: tuple[np.ndarray, np.ndarray], ranges: tuple[Range, Range], compact: Compact
) -> tuple[np.ndarray, np.ndarray]:
    """The least and largest rounded product of every column: at corners, for rounding is monotone."""
    query, key = ranges
    corners = np.array(
        [compact.multiply(q[places[0]], k[places[1]]) for q in (query.low, query.high) for k in (key.low, key.high)]
    ).astype(np.int64)
    return corners.min(axis=0, initial=compact.bound), corners.max(axis=0, initial=-compact.bound)
