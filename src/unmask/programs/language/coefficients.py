"""Coefficients: the few numbers a program may name, whose integers depend on the precision.

ONE = 1,  B = the largest number,  NEXT_TO_B = the one before,  HALF = [B/2],  ULP = 2^-p,  TOP = 2^(p-1),  and whole
multiples of 1
"""

from dataclasses import dataclass

import numpy as np

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision


@dataclass(frozen=True)
class Coefficient:
    """A number by name, and how often it is taken."""

    unit: str
    times: int = 1

    def __neg__(self) -> "Coefficient":
        return Coefficient(self.unit, -self.times)

    def integer(self, precision: Precision) -> int:
        """The integer that stands for it in F_p."""
        value = (
            self.times
            * {
                "1": precision.one,
                "B": precision.bound,
                "B-2^-p": precision.bound - 1,
                "[B/2]": precision.half_bound,
                "2^-p": 1,
                "2^(p-1)": precision.one * precision.one // 2,
            }[self.unit]
        )
        if abs(value) > precision.bound:
            raise ProblemError(f"the coefficient {self} does not fit F_{precision.p}; use a larger precision")
        return value

    def __str__(self) -> str:
        return {1: self.unit, -1: f"-{self.unit}"}.get(self.times, f"{self.times}·{self.unit}")


def integers(weight: Coefficient | np.ndarray, precision: Precision) -> np.ndarray | int:
    """The integer that stands for a coefficient; what is in integers already stays as it is."""
    return weight.integer(precision) if isinstance(weight, Coefficient) else weight


ONE = Coefficient("1")
B = Coefficient("B")
NEXT_TO_B = Coefficient("B-2^-p")
HALF = Coefficient("[B/2]")
ULP = Coefficient("2^-p")
TOP = Coefficient("2^(p-1)")


def whole(k: int) -> Coefficient:
    """The number k."""
    return Coefficient("1", k)
