"""Thresholds of scores in F_p: the scores at which exp grows, and the score from which on a key has a weight."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.numerics.arithmetic import Precision, divide, exp_table
from unmask.programs.program import Coefficient


def ulps(k: int) -> Coefficient:
    """k·2^-p."""
    return Coefficient("2^-p", k)


@dataclass(frozen=True)
class ScoreTables:
    """Tables of exp and division in F_p."""

    precision: Precision

    def exp(self, score: int) -> int:
        return int(exp_table(self.precision)[score + self.precision.bound])

    @cached_property
    def growth(self) -> list[tuple[int, int]]:
        """(s, exp(s) - exp(s - 2^-p)) for the scores s at which exp grows."""
        steps = [(s, self.exp(s) - self.exp(s - 1)) for s in list(self.precision.numbers())[1:]]
        return [(s, step) for s, step in steps if step]

    @cached_property
    def least(self) -> int:
        """The least score with the weight 2^-p if Z = B; the next lower score has the weight 0."""
        return self.threshold(self.precision.bound, 1)

    def threshold(self, total: int, level: int) -> int:
        """The least score whose weight is at least level·2^-p if Z is `total`."""
        return int(np.argmax(self._weights[total - 1] >= level)) - self.precision.bound

    @cached_property
    def _weights(self) -> np.ndarray:
        """[exp(s)/z] for z = 2^-p, 2·2^-p, … B and every s."""
        return divide(exp_table(self.precision), np.arange(1, self.precision.bound + 1)[:, None], self.precision)

    def companion(self, level: int) -> int:
        """The score of a second key that gives a key of score 0 the weight level·2^-p."""
        one, bound = self.precision.one, self.precision.bound
        return next(
            s
            for s in self.precision.numbers()
            if int(divide(one, min(bound, one + self.exp(s)), self.precision)) == level
        )

    @cached_property
    def heard(self) -> int:
        """The largest number of keys with a weight above 0 if the sum A of the exponentials is less than B."""
        return max(a // self.exp(self.threshold(a, 1)) for a in range(1, self.precision.bound))

    @cached_property
    def jump(self) -> int:
        """[2^-p·B], in units of 2^-p."""
        one, bound = self.precision.one, self.precision.bound
        return (2 * bound + one - 1) // (2 * one)
