"""The arithmetic of F_p in the smallest integer types, for large arrays.

    p <= 3: int8, products in int16       p <= 7: int16, products in int32       p = 8: int32, products in int64

The results are the same integers as in `numerics.arithmetic`, which defines them. Two facts are used:

* Rounding without a division. For d = 2^p:  [n/d] = (n + d/2 - 1 + [n < 0]) >> p, ties toward zero.
* Sums without a loop. If the positive terms sum to at most B and the negative ones to at least -B, or if all have
  one sign, the sum clips at most at its end. Otherwise x ↦ min(hi, max(lo, x + c)) is closed under composition,

      (c, lo, hi) then (c', lo', hi') = (c + c', clip(lo + c', lo', hi'), clip(hi + c', lo', hi')),

  so that n clipped additions are a tree of ⌈log2 n⌉ levels.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.numerics.arithmetic import Precision, exp_table

SCANNED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Compact:
    """Operations on arrays of F_p. The type `narrow` is for a number or the sum of two, `wide` for a product."""

    precision: Precision

    @cached_property
    def narrow(self) -> np.dtype:
        return np.dtype("int8" if self.precision.p <= 3 else "int16" if self.precision.p <= 7 else "int32")

    @cached_property
    def wide(self) -> np.dtype:
        return np.dtype("int16" if self.precision.p <= 3 else "int32" if self.precision.p <= 7 else "int64")

    @cached_property
    def bound(self) -> int:
        return self.precision.bound

    @cached_property
    def one(self) -> int:
        return self.precision.one

    @cached_property
    def exps(self) -> np.ndarray:
        """The table with exps[a + bound] = exp(a)."""
        return exp_table(self.precision).astype(self.wide)

    @cached_property
    def _limits(self) -> dict[np.dtype, tuple[np.integer, np.integer, np.integer]]:
        """(-B, 0, B) in each type that can represent B, so that NumPy need not convert them."""
        kinds = [np.dtype(kind) for kind in (self.narrow, self.wide, np.int32, np.int64)]
        return {kind: (kind.type(-self.bound), kind.type(0), kind.type(self.bound)) for kind in kinds}

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Clip to ±B in place."""
        least, _, most = self._limits[x.dtype]
        return x.clip(least, most, out=x)

    def positive(self, x: np.ndarray) -> np.ndarray:
        """Clip to 0 … B in place."""
        _, zero, most = self._limits[x.dtype]
        return x.clip(zero, most, out=x)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return x + y, clipped."""
        return self.clip(np.add(x, y))

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return [xy] in the wide type."""
        n = np.multiply(x, y, dtype=self.wide)
        n -= n >> (8 * self.wide.itemsize - 1)
        n += self.one // 2 - 1
        n >>= self.precision.p
        return self.clip(n)

    def divide(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return [x/y] for x >= 0 and y > 0, in the wide type."""
        n = np.multiply(x, 2 * self.one, dtype=self.wide)
        n += y - 1
        n //= 2 * y
        return self.clip(n)

    def total(self, terms: np.ndarray, axis: int) -> np.ndarray:
        """Return SUM along an axis, clipped after every addition, in the wide type."""
        count = terms.shape[axis]
        if count == 1:
            return terms.take(0, axis).astype(self.wide)
        kind = np.int32 if count * self.bound < 1 << 31 else np.int64
        positive = terms.clip(terms.dtype.type(0), None).sum(axis, dtype=kind)
        plain = terms.sum(axis, dtype=kind)
        negative = plain - positive
        may_clip = (np.minimum(positive, -negative) > 0) & (np.maximum(positive, -negative) > self.bound)
        result = self.clip(plain).astype(self.wide)
        if may_clip.any():
            result[may_clip] = self._scan(np.moveaxis(terms, axis, -1)[may_clip], kind)
        return result

    def _scan(self, terms: np.ndarray, kind: type) -> np.ndarray:
        """Return SUM along the last axis of [sums, terms], as a tree of compositions."""
        result = np.empty(len(terms), dtype=self.wide)
        block = max(1, SCANNED_AT_ONCE // terms.shape[1])
        for first in range(0, len(terms), block):
            c = terms[first : first + block].astype(kind)
            low, high = np.full_like(c, -self.bound), np.full_like(c, self.bound)
            while c.shape[1] > 1:
                if c.shape[1] % 2:  # the identity of clipped sums
                    c = np.pad(c, ((0, 0), (0, 1)))
                    low = np.pad(low, ((0, 0), (0, 1)), constant_values=-self.bound)
                    high = np.pad(high, ((0, 0), (0, 1)), constant_values=self.bound)
                then, floor, ceiling = c[:, 1::2], low[:, 1::2], high[:, 1::2]
                low = np.clip(low[:, ::2] + then, floor, ceiling)
                high = np.clip(high[:, ::2] + then, floor, ceiling)
                c = c[:, ::2] + then
            result[first : first + block] = np.clip(c, low, high)[:, 0]
        return result


# Clipped sums over runs of terms that many sums share, without computing every sum separately.
#
# The terms are in segments. A run is a prefix of a segment, and a sum adds one run after another. If the positive terms
# of a sum add up to at most B and the negative terms to at least -B, or if all have one sign, the sum clips at most at
# its end. Then each run is a difference of two cumulative sums. Otherwise the functions x ↦ min(hi, max(lo, x + c)) of
# the terms are composed (see above), once for every prefix of every segment, in ⌈log2 n⌉ rounds.


TERMS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Runs:
    """The terms of each sum: sum i adds the runs heads[i] … heads[i + 1] - 1, at least one.

    Run r is [begin[r], end[r]) and not empty; a segment begins at begin[r]. `offset` is the number of terms before each
    term in its segment.
    """

    offset: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    heads: np.ndarray


def run_sums(terms: np.ndarray, runs: Runs, compact: Compact) -> np.ndarray:
    """Return SUM of every row of [columns, terms] over the runs of every sum: [columns, sums], in the narrow type."""
    result = np.empty((len(terms), runs.heads.size), dtype=compact.narrow)
    step = max(1, TERMS_AT_ONCE // max(1, terms.shape[1], runs.begin.size))
    for first in range(0, len(terms), step):
        chunk = terms[first : first + step]
        sums = _plain_sums(chunk, runs)
        positive = _plain_sums(np.maximum(chunk, 0), runs) if chunk.min(initial=0) < 0 else sums
        negative = positive - sums  # the absolute value of the sum of negative terms
        may_clip = (np.minimum(positive, negative) > 0) & (np.maximum(positive, negative) > compact.bound)
        result[first : first + step] = compact.clip(sums)
        columns = np.flatnonzero(may_clip.any(axis=1))
        if columns.size:
            result[first + columns] = _clipped_sums(chunk[columns], runs, compact.bound)
    return result


def _plain_sums(terms: np.ndarray, runs: Runs) -> np.ndarray:
    """Return the sums without clipping."""
    before = np.zeros((len(terms), terms.shape[1] + 1), dtype=np.int64)
    np.cumsum(terms, axis=1, out=before[:, 1:])
    return np.add.reduceat(before[:, runs.end] - before[:, runs.begin], runs.heads, axis=1)


def _clipped_sums(terms: np.ndarray, runs: Runs, bound: int) -> np.ndarray:
    """Return the clipped sums: compose each term with all terms before it in its segment, then add run after run."""
    c = terms.astype(np.int64)
    low, high = np.full_like(c, -bound), np.full_like(c, bound)
    reach = 1
    while reach <= runs.offset.max(initial=0):
        at = np.flatnonzero(runs.offset >= reach)
        before, then = at - reach, c[:, at]
        floor, ceiling = low[:, at], high[:, at]
        new = c[:, before] + then, np.clip(low[:, before] + then, floor, ceiling)
        high[:, at] = np.clip(high[:, before] + then, floor, ceiling)
        c[:, at], low[:, at] = new
        reach *= 2
    counts = np.diff(np.append(runs.heads, runs.begin.size))
    x = np.zeros((len(terms), runs.heads.size), dtype=np.int64)
    for i in range(int(counts.max(initial=0))):
        has = np.flatnonzero(counts > i)
        last = runs.end[runs.heads[has] + i] - 1
        x[:, has] = np.clip(x[:, has] + c[:, last], low[:, last], high[:, last])
    return x
