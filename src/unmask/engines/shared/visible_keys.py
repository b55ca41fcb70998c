"""Which keys can a query see at all? A proof from the values of queries and keys.

Clipped addition is monotone, so that

    score of any pair that differs in bit b  <=  U_b = the sum, in order, of  -t_j         in the columns of b
                                                                             max Q_j·K_j   in all others

with the maximum over all rows there are. If exp(U_b) = 0, a query can have weight only on keys that agree with it in
b. The bits with exp(U_b) = 0 are the code: each query is joined to the keys of the same code, and no other key is
looked at. Irregular rows are outside this proof and see every key.

If one column spoils it for all (BOOST lifts the scores of flagged queries), the bound is taken query by query, with
max q·K_j for its own q: then the code serves the queries for which it is proved, and the others are irregular.

For these a second bound helps: with the least and the largest score that any key can have reached after column j, a
score that can only have one value there (B, after BOOST) has forgotten the columns before. Queries that are equal from
there on have one output.

Nothing here knows of gadgets; EQ and FOCUS have such codes, FOCUS with a single copy has not, HIDE is one of "all
others".
"""

from dataclasses import dataclass

import numpy as np

from unmask.engines.shared.bit_codes import BitColumns, Code, Range, Shift, Steps
from unmask.engines.shared.distinct import distinct
from unmask.numerics.compact import Compact

MOST_BITS = 62
AT_ONCE = 1 << 20

Places = tuple[np.ndarray, np.ndarray]
"""The rows of Q and of K that hold column j of a score."""


def prove(
    bits: BitColumns, places: Places, ranges: tuple[Range, Range], compact: Compact, queries: np.ndarray, most: int
) -> Code:
    """The code of at most `most` bits; empty where nothing can be proved. `queries` are those there are."""
    low, high = _product_range(places, ranges, compact)
    telling = np.isin(np.arange(bits.query.size), bits.of_column[low < high])  # in others all rows agree, or none does
    bounds = _Bounds(bits, places, ranges[1], compact)
    proved, holds = bounds.below(high[:, None])[:, 0] & telling, None
    if not proved.any() and telling.any() and queries.shape[1] > 1:
        proved = _usual(bounds.of_queries(queries)) & telling
        holds = bounds.holds(np.flatnonzero(proved)[:most]) if proved.any() else None
    deciding = np.flatnonzero(proved)[:most]
    decided, constant = np.isin(bits.of_column, deciding), low == high
    return Code(
        bits,
        deciding,
        _steps(np.where(decided, bounds.agree, low), decided | constant, compact.bound),
        _steps(low, constant, compact.bound),
        holds,
    )


def _usual(proved: np.ndarray) -> np.ndarray:
    """The largest set of bits, [bits], that is proved for at least one query in sixteen of [bits, queries]."""
    first, kind = distinct(proved)
    frequent = proved[:, first[np.bincount(kind, minlength=first.size) * 16 >= proved.shape[1]]]
    if not frequent.size:
        return np.zeros(len(proved), dtype=bool)
    return frequent[:, np.argmax(frequent.sum(axis=0))]


@dataclass(frozen=True, eq=False)
class _Bounds:
    """U_b of every bit."""

    bits: BitColumns
    places: Places
    keys: Range
    compact: Compact

    @property
    def agree(self) -> np.ndarray:
        """t_j of every column, 0 where it is no bit."""
        if not self.bits.query.size:
            return np.zeros(self.bits.of_column.size, dtype=np.int64)
        t = self.compact.multiply(self.bits.query_size, self.bits.key_size)[self.bits.of_column]
        return np.where(self.bits.of_column >= 0, t, 0).astype(np.int64)

    def below(self, high: np.ndarray) -> np.ndarray:
        """[bits, queries]: is exp(U_b) = 0, given the largest product [columns, queries]?"""
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
        """The same with each query's own products."""
        step = max(1, AT_ONCE // max(1, self.places[0].size))
        parts = []
        for first in range(0, Q.shape[1], step):
            _, high = _products(Q[:, first : first + step], self.places, self.keys, self.compact)
            parts.append(self.below(high))
        return np.concatenate(parts, axis=1)

    def holds(self, deciding: np.ndarray):
        return lambda Q: self.of_queries(Q)[deciding].all(axis=0)


def forgotten(Q: np.ndarray, places: Places, keys: Range, compact: Compact) -> tuple[np.ndarray, np.ndarray]:
    """(column, score) of every query: before this column, every key has led to this one score."""
    step = max(1, AT_ONCE // max(1, places[0].size))
    if Q.shape[1] > step:
        parts = [forgotten(Q[:, i : i + step], places, keys, compact) for i in range(0, Q.shape[1], step)]
        since, score = (np.concatenate(part) for part in zip(*parts, strict=True))
        return since, score
    since, score = (np.zeros(Q.shape[1], dtype=np.int64) for _ in range(2))
    reached = np.zeros((2, Q.shape[1]), dtype=np.int64)
    products = np.stack(_products(Q, places, keys, compact), axis=1)
    for j in range(places[0].size):
        reached += products[j]
        low, high = compact.clip(reached)
        one = low == high
        np.copyto(since, j + 1, where=one)
        np.copyto(score, low, where=one)
    return since, score


def _products(Q: np.ndarray, places: Places, keys: Range, compact: Compact) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest product of every column, [columns, queries], over all keys."""
    q = Q[places[0]]
    ends = [compact.multiply(q, k[places[1]][:, None]) for k in (keys.low, keys.high)]
    return np.minimum(*ends), np.maximum(*ends)


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


def _product_range(places: Places, ranges: tuple[Range, Range], compact: Compact) -> tuple[np.ndarray, np.ndarray]:
    """The least and largest rounded product of every column: at corners, for rounding is monotone."""
    query, key = ranges
    corners = np.array(
        [compact.multiply(q[places[0]], k[places[1]]) for q in (query.low, query.high) for k in (key.low, key.high)]
    ).astype(np.int64)
    return corners.min(axis=0, initial=compact.bound), corners.max(axis=0, initial=-compact.bound)
