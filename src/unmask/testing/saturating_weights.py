"""Draws → heads and MLPs whose sums clip: queries and keys are small, all other weights use the whole range."""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.arithmetic import Precision
from unmask.testing.draws import Draws
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Mlp


@dataclass(frozen=True)
class SaturatingWeights:
    """Weights of one width, drawn in the order of the calls."""

    draws: Draws
    precision: Precision
    width: int

    @property
    def half(self) -> int:
        """1/2."""
        return self.precision.one // 2

    @property
    def double(self) -> int:
        """2, or B if that is less."""
        return min(2 * self.precision.one, self.precision.bound)

    def matrix(self, shape: tuple[int, int], largest: int) -> Matrix:
        """Entries up to `largest`, about a third of them 0."""
        values = self.draws.integers(-largest, largest, shape)
        return Matrix.of(np.where(self.draws.integers(0, 2, shape) > 0, values, 0))

    def head(self, narrow: int, *, peak: int = 1) -> Head:
        """`narrow` columns, keys up to 1/2, and queries up to `peak` times 1/2."""
        shape, query = (self.width, narrow), min(peak * self.half, self.precision.bound)
        return Head(
            self.matrix(shape, query), self.matrix(shape, self.half), self.matrix((self.width, self.width), self.double)
        )

    def mlp(self, hidden: int) -> Mlp:
        bound = self.precision.bound
        return Mlp(
            self.matrix((self.width, hidden), self.double),
            self.draws.integers(-bound, bound, (hidden,)),
            self.matrix((hidden, self.width), self.double),
            self.draws.integers(-bound, self.precision.one, (self.width,)),
        )
