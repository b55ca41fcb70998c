"""Signs that exclude each other, with a proof from the values of queries and keys as in `visible_keys`; 0 is allowed.

A column of a score is *pure* if Q_j is +c, -c or 0 in every query and K_j is +k, -k or 0 in every key. It is a *sign*
if one of them takes both signs. Two rows are opposite in it if neither is 0 and their signs differ; a 0 is never
opposite. With

    U_s = the sum, in order, of the largest products, those of opposite rows in the columns of s

exp(U_s) = 0 proves that opposite rows have no weight on each other, because clipped addition is monotone.

The largest product of each column is not enough. For example, the columns (c·a ¦ b), (c·one ¦ -care) of a code that
some keys ignore can add c and then -c, or 0 and then 0, but never c and then 0. So two adjacent pure columns are
bounded together if this gives less: by the largest sum over the pairs of values that occur in queries and in keys.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from unmask.numerics.compact import Compact

Pair = tuple[int, int]
REMEMBERED = 256
SIGNS = (-1, 0, 1)


@dataclass(frozen=True)
class SignValues:
    """The values of some rows in the columns of a score.

    size    c where it is ±c or 0, and not always 0; else 0
    ends    the least and the largest value
    pairs   the pairs of signs in a column and the next that occur: bit 3·(1 + sign) + (1 + sign of the next)
    """

    size: tuple[int, ...]
    ends: tuple[Pair, ...]
    pairs: tuple[int, ...]

    @classmethod
    def of(cls, x: np.ndarray, place: np.ndarray) -> "SignValues":
        """Column j is row place[j] of x, [rows, …], which is not empty."""
        low, high = x.min(axis=1).astype(np.int64), x.max(axis=1).astype(np.int64)
        size = np.maximum(-low, high)
        pure = ((x == 0) | (np.abs(x) == size[:, None].astype(x.dtype))).all(axis=1)
        signs = np.sign(x).astype(np.int8) + np.int8(1)
        codes = 3 * signs[place[:-1]] + signs[place[1:]]
        pairs = np.bitwise_or.reduce(np.left_shift(np.int16(1), codes, dtype=np.int16), axis=1)
        return cls(
            tuple(np.where(pure, size, 0)[place].tolist()),
            tuple(zip(low[place].tolist(), high[place].tolist(), strict=True)),
            tuple(pairs.tolist()),
        )

    def values(self, j: int) -> list[Pair]:
        """The values of a column, each with a 0; the ends if the column is not pure."""
        low, high = self.ends[j]
        return [(x, 0) for x in {low, high, *((0,) if low < 0 < high and self.size[j] else ())}]

    def together(self, j: int) -> list[Pair]:
        """The values of two pure columns, j and the next."""
        a, b = self.size[j], self.size[j + 1]
        return [(a * s, b * t) for i, (s, t) in enumerate(product(SIGNS, SIGNS)) if self.pairs[j] >> i & 1]


@lru_cache(maxsize=REMEMBERED)
def excluding(query: SignValues, key: SignValues, sort: tuple[int, ...], compact: Compact) -> tuple[int, ...]:
    """The columns of signs in which opposite rows have no weight on each other.

    Columns of one `sort` have the same queries and the same keys; the last one represents the sort.
    """
    pure = [bool(q and k) for q, k in zip(query.size, key.size, strict=True)]
    both = [any(held.ends[j][0] < 0 < held.ends[j][1] for held in (query, key)) for j in range(len(sort))]
    last = {kind: j for j, kind in enumerate(sort) if pure[j] and both[j]}
    number = {kind: i for i, kind in enumerate(last)}
    bound, met = np.zeros(len(last), dtype=np.int64), np.zeros(len(last), dtype=bool)
    j = 0
    while j < len(sort):
        products = _products(query.values(j), key.values(j), compact)[:1]
        if j + 1 < len(sort) and pure[j] and pure[j + 1]:
            next_ones = _products(query.values(j + 1), key.values(j + 1), compact)[:1]
            together = _products(query.together(j), key.together(j), compact)
            if together.sum(axis=0).max() < products.max() + next_ones.max():
                products = together
        sums = bound[:, None]
        for some in products:
            sums = compact.clip(sums + some)
        bound = sums.max(axis=1)
        for some, kind in zip(products, sort[j : j + 2], strict=False):
            if kind in number:
                i, opposite = number[kind], some < 0
                met[i] |= opposite.any()
                bound[i] = sums[i, opposite].max(initial=-compact.bound)
        j += len(products)
    vanishes = met & (compact.exps[bound + compact.bound] == 0)
    return tuple(j for i, j in enumerate(last.values()) if vanishes[i])


def _products(queries: list[Pair], keys: list[Pair], compact: Compact) -> np.ndarray:
    """The products of any query with any key, [2, pairs]."""
    q, k = np.array(queries).T, np.array(keys).T
    return compact.multiply(q[:, :, None], k[:, None, :]).reshape(2, -1).astype(np.int64)
