"""Masked diffusion by a tree: a slot is the product of two rows, written once, as soon as both are there.

The rows and their two factors are those of the compiled model (programs/regular/tree.py).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import LAST, MASK, Rows
from unmask.programs.regular.tree import queue_child, queue_slots, tree_steps
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Tree:
    """N letters, N - 1 products, ⌈log2 N⌉ steps."""

    length: int
    kind: ClassVar[Kind] = "smdm"
    answer_slots: ClassVar[tuple[int, ...]] = LAST

    @property
    def padding(self) -> int:
        return queue_slots(self.length)

    @property
    def steps(self) -> int:
        return max(1, tree_steps(self.length))

    @cached_property
    def factors(self) -> np.ndarray:
        """[slots, 2]: the rows of the two factors of each slot."""
        rows = self.length + np.arange(self.padding)
        return np.stack([queue_child(self.length, side).evaluate(self.length, rows) for side in (0, 1)], axis=1)

    @cached_property
    def level(self) -> np.ndarray:
        """[slots]: the step that writes each slot, from 0."""
        level = np.full(self.length + self.padding, -1)
        for slot, factors in enumerate(self.factors):
            level[self.length + slot] = level[factors].max() + 1
        return level[self.length :]

    @property
    def pointers(self) -> np.ndarray:
        pointers = self._rows.nothing_fetched()
        pointers[:, self.length :] = self.factors
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        last = states[:, -1]
        for slot, (left, right) in enumerate(self.factors):
            last[:, self.length + slot] = algebra.table[last[:, left], last[:, right]]
        written = self.level < np.arange(self.steps + 1)[:, None]
        slots = states[:, :, self.length :]
        slots[:] = np.where(written, last[:, None, self.length :], MASK)
        return states

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
