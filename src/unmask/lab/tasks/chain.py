"""Chain of thought: prefix products, one symbol per letter, or per c - 1 letters.

    y_t = y_{t-1} · w_t,   written by row N - 1 + t (the last one), which holds y_{t-1} and fetches w_t; y_0 = w_0
    y_t = y_{t-1} · w_{(c-1)t} … w_{(c-1)(t+1)-1},   a chain of ⌈N/(c-1)⌉ symbols, each a product of c factors

As in the compiled chain (programs/regular/states/chain.py), whose state is where y_t takes the start; that has c = 2.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import LAST, Rows
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Chain:
    """N letters, then their products; a row that fetches several letters points to the first and the last."""

    length: int
    factors: int = 2
    kind: ClassVar[Kind] = "cot"
    answer_slots: ClassVar[tuple[int, ...]] = LAST

    @property
    def padding(self) -> int:
        return self.steps

    @property
    def steps(self) -> int:
        return -(-self.length // self._letters)

    @property
    def pointers(self) -> np.ndarray:
        """The same in every step: rows that are not there yet are not read."""
        pointers = self._rows.nothing_fetched()
        for t, (first, last) in enumerate(self._fetched()):
            pointers[:, self.length - 1 + t, 0] = first
            if last > first:
                pointers[:, self.length - 1 + t, 1] = last
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        at = np.full(len(words), algebra.identity)
        for t, (first, last) in enumerate(self._fetched()):
            at = algebra.table[at, algebra.product(words[:, first : last + 1])]
            states[:, t + 1 :, self.length + t] = at[:, None]
        return states

    @property
    def _letters(self) -> int:
        return self.factors - 1

    def _fetched(self) -> list[tuple[int, int]]:
        """Of every symbol, the first and the last of its letters."""
        return [(t, min(self.length, t + self._letters) - 1) for t in range(0, self.length, self._letters)]

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
