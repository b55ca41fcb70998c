"""Compact: the arithmetic of F_p in the smallest integer types, for arrays that are large.

    p <= 3: int8, products in int16       p <= 7: int16, products in int32       p = 8: int32, products in int64

The same integers as `numerics.arithmetic`, which defines them. Two facts carry it:

* Rounding without a division. For d = 2^p:  [n/d] = (n + d/2 - 1 + [n < 0]) >> p, ties toward zero.
* Sums without a loop. If the positive terms sum to at most B and the negative ones to at least -B, or if all have
  one sign, the sum clips at most at its end. Otherwise x ↦ min(hi, max(lo, x + c)) is closed under composition,

      (c, lo, hi) then (c', lo', hi') = (c + c', clip(lo + c', lo', hi'), clip(hi + c', lo', hi')),

  so that n clipped additions are a tree of ⌈log2 n⌉ levels.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.numerics.exponential import exp_table
from unmask.numerics.precision import Precision

SCANNED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Compact:
    """Arrays of numbers of F_p; `narrow` holds a number or the sum of two, `wide` a product."""

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
        """exps[a + bound] = exp(a)."""
        return exp_table(self.precision).astype(self.wide)

    @cached_property
    def _limits(self) -> dict[np.dtype, tuple[np.integer, np.integer, np.integer]]:
        """(-B, 0, B) in each type that holds B: limits of an array's own type spare NumPy a conversion."""
        kinds = [np.dtype(kind) for kind in (self.narrow, self.wide, np.int32, np.int64)]
        return {kind: (kind.type(-self.bound), kind.type(0), kind.type(self.bound)) for kind in kinds}

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Saturate in place."""
        least, _, most = self._limits[x.dtype]
        return x.clip(least, most, out=x)

    def positive(self, x: np.ndarray) -> np.ndarray:
        """ReLU of the saturated array, in place."""
        _, zero, most = self._limits[x.dtype]
        return x.clip(zero, most, out=x)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """x + y, clipped."""
        return self.clip(np.add(x, y))

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[xy] in the wide type."""
        n = np.multiply(x, y, dtype=self.wide)
        n -= n >> (8 * self.wide.itemsize - 1)
        n += self.one // 2 - 1
        n >>= self.precision.p
        return self.clip(n)

    def divide(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[x/y] for x >= 0 and y > 0, in the wide type."""
        n = np.multiply(x, 2 * self.one, dtype=self.wide)
        n += y - 1
        n //= 2 * y
        return self.clip(n)

    def total(self, terms: np.ndarray, axis: int) -> np.ndarray:
        """SUM along an axis, clipped after every addition, in the wide type."""
        count = terms.shape[axis]
        if count == 1:
            return terms.take(0, axis).astype(self.wide)
        kind = np.int32 if count * self.bound < 1 << 31 else np.int64
        rising = terms.clip(terms.dtype.type(0), None).sum(axis, dtype=kind)
        plain = terms.sum(axis, dtype=kind)
        falling = plain - rising
        unsure = (np.minimum(rising, -falling) > 0) & (np.maximum(rising, -falling) > self.bound)
        result = self.clip(plain).astype(self.wide)
        if unsure.any():
            result[unsure] = self._scan(np.moveaxis(terms, axis, -1)[unsure], kind)
        return result

    def _scan(self, terms: np.ndarray, kind: type) -> np.ndarray:
        """SUM along the last axis of [sums, terms], as a tree of compositions."""
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
