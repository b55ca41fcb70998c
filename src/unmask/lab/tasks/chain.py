"""Chain of thought: the prefix products, one symbol per letter.

    y_t = y_{t-1} · w_t,   written by row N - 1 + t (the last one), which holds y_{t-1} and fetches the letter t

As in the compiled chain (programs/regular/states/chain.py), whose state is where y_t takes the start.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import Rows
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Chain:
    """N letters, then N products."""

    length: int
    kind: ClassVar[Kind] = "cot"

    @property
    def padding(self) -> int:
        return self.length

    @property
    def steps(self) -> int:
        return self.length

    @property
    def pointers(self) -> np.ndarray:
        """The same in every step: rows that are not there yet are not read."""
        pointers = self._rows.nothing_fetched()
        turn = np.arange(self.length)
        pointers[:, self.length - 1 + turn, 0] = turn
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        at = np.full(len(words), algebra.identity)
        for t in range(self.length):
            at = algebra.table[at, words[:, t]]
            states[:, t + 1 :, self.length + t] = at[:, None]
        return states

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
