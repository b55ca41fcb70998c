"""Thresholds of scores in F_p: at which scores exp grows, and how large a score must be for a given weight.

Z is the sum of the exponentials of all keys, clipped at B. A key with the score s has the weight [exp(s)/Z].
"""

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
        """The least score whose weight is 2^-p if Z = B; all lower scores have the weight 0."""
        return self.threshold(self.precision.bound, 1)

    def threshold(self, total: int, level: int) -> int:
        """The least score whose weight is at least level·2^-p if Z = total·2^-p."""
        return int(np.argmax(self._weights[total - 1] >= level)) - self.precision.bound

    @cached_property
    def _weights(self) -> np.ndarray:
        """[exp(s)/z] for z = 2^-p, 2·2^-p, …, B (rows) and every score s (columns)."""
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
    def most_keys(self) -> int:
        """The largest number of keys with a weight above 0 if Z < B."""
        return max(total // self.exp(self.threshold(total, 1)) for total in range(1, self.precision.bound))

    @cached_property
    def jump(self) -> int:
        """[2^-p·B], in units of 2^-p."""
        one, bound = self.precision.one, self.precision.bound
        return (2 * bound + one - 1) // (2 * one)
