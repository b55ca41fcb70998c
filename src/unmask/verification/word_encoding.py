"""Words as bits: the inputs of every circuit about a model or a specification.

letter k of K   ↦   ⌈log2 K⌉ bits, lowest bit first;   a code beyond K - 1 means the last letter
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.problems.circuits.circuit import CircuitBuilder

OneHotLiterals = list[int]
"""[value] → the literal that is true if the quantity has this value."""


@dataclass(frozen=True)
class WordEncoding:
    """Words of a length over an alphabet with a number of letters, as bits."""

    letters: int
    length: int

    @property
    def width(self) -> int:
        """The number of bits of a letter."""
        return max(0, (self.letters - 1).bit_length())

    def names(self) -> list[str]:
        """Return the names of the inputs: `x3` for index 3 if a letter is one bit, else `x3.0`, `x3.1`, …"""
        if self.width == 1:
            return [f"x{i}" for i in range(self.length)]
        return [f"x{i}.{bit}" for i in range(self.length) for bit in range(self.width)]

    def literals(self, builder: CircuitBuilder) -> list[OneHotLiterals]:
        """Return the literals [index in the word][letter] over the inputs of a builder."""
        return [self._letter(builder, i) for i in range(self.length)]

    def _letter(self, builder: CircuitBuilder, index: int) -> OneHotLiterals:
        bits = [builder.input(index * self.width + bit) for bit in range(self.width)]
        codes = [
            builder.and_(*(x ^ 1 if not code >> bit & 1 else x for bit, x in enumerate(bits)))
            for code in range(1 << self.width)
        ]
        return [*codes[: self.letters - 1], builder.or_(*codes[self.letters - 1 :])]

    def bits(self, words: np.ndarray) -> np.ndarray:
        """Return the bits [batch, inputs] of words [batch, length] of letters."""
        return (words[..., None] >> np.arange(self.width) & 1).reshape(len(words), -1).astype(bool)

    def word(self, bits: Sequence[bool]) -> list[int]:
        """Return the letters of the word that these bits encode."""
        codes = (
            sum(int(bits[index * self.width + bit]) << bit for bit in range(self.width)) for index in range(self.length)
        )
        return [min(code, self.letters - 1) for code in codes]
