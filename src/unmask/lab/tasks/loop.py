"""Looped: every loop replaces row i by the product of the rows 2i and 2i + 1.

    rows 0 … N - 1   as in the compiled loop (programs/regular/products/looped.py)
    row N            the identity, for rows that do not exist
    row N + 1        the answer: entry 0 of its level, whose factors are the rows 0 and 1

The compiled loop has one pad and looks its row 0 up after the last loop; here a second pad computes it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import LAST, PAD, Rows
from unmask.programs.regular.tree import loop_child, tree_steps
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Loop:
    """N letters and two pads."""

    length: int
    kind: ClassVar[Kind] = "plt"
    answer_slots: ClassVar[tuple[int, ...]] = LAST
    padding: ClassVar[int] = 2

    @property
    def steps(self) -> int:
        return max(1, tree_steps(self.length))

    @cached_property
    def factors(self) -> np.ndarray:
        """[rows, 2]."""
        rows = np.arange(self.length + 1)
        sides = [loop_child(side).evaluate(self.length, rows) for side in (0, 1)]
        return np.concatenate([np.stack(sides, axis=1), [[0, min(1, self.length)]]])

    @property
    def pointers(self) -> np.ndarray:
        return np.broadcast_to(self.factors, (self.steps, *self.factors.shape)).copy()

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        """Before the first loop pads are pads; they stand for the identity."""
        states = Rows(self.length, self.padding, self.steps).blank(words)
        states[:, 0, self.length :] = PAD
        held = np.concatenate([words, np.full((len(words), self.padding), algebra.identity)], axis=1)
        for step in range(self.steps):
            held = algebra.table[held[:, self.factors[:, 0]], held[:, self.factors[:, 1]]]
            states[:, step + 1] = held
        return states
