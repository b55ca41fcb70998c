"""Precision: which numbers F_p holds.

    F_p = { a / 2^p : a an integer, |a| <= 4^p - 1 },        B = (4^p - 1) / 2^p

Everywhere in the library a number of F_p is the integer `a`; `Precision` knows what it means.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsInt

LARGEST = 8


@dataclass(frozen=True)
class Precision:
    """F_p, for p = 1 … 8."""

    p: int

    def __post_init__(self) -> None:
        if type(self.p) is not int or not 1 <= self.p <= LARGEST:
            raise ValueError(f"the precision must be an integer from 1 to {LARGEST}, not {self.p!r}")

    @property
    def one(self) -> int:
        """The integer that means 1: 2^p. It is also the scale."""
        return 1 << self.p

    @property
    def bound(self) -> int:
        """The integer that means B, the largest number: 4^p - 1."""
        return (1 << 2 * self.p) - 1

    @property
    def size(self) -> int:
        """How many numbers there are: 2^(2p+1) - 1."""
        return 2 * self.bound + 1

    @property
    def half_bound(self) -> int:
        """The integer of [B/2]: a tie, rounded toward zero."""
        return self.bound // 2

    def numbers(self) -> range:
        """All numbers, in increasing order."""
        return range(-self.bound, self.bound + 1)

    def meaning(self, a: SupportsInt) -> Fraction:
        """The rational number that the integer a stands for."""
        return Fraction(int(a), self.one)
