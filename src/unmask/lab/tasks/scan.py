"""Masked diffusion that edits in place: the scan of Hillis and Steele.

    step 0       y_i = w_i
    step j > 0   y_i = y_{i - 2^(j-1)} · y_i,  or y_i where there is no such slot         ⌈log2 N⌉ + 1 steps

A slot keeps one operand and fetches one, another one in every step: its pointer depends on the step, which a model of
the paper would have to read off a clock in its canvas. After the last step slot i holds the product of w_0 … w_i.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import Rows
from unmask.programs.regular.tree import tree_steps
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Scan:
    """N letters, N prefix products."""

    length: int
    kind: ClassVar[Kind] = "mdm"

    @property
    def padding(self) -> int:
        return self.length

    @property
    def steps(self) -> int:
        return tree_steps(self.length) + 1

    @property
    def pointers(self) -> np.ndarray:
        pointers = self._rows.nothing_fetched()
        slots = np.arange(self.length)
        pointers[0, self.length :, 0] = slots
        for step in range(1, self.steps):
            moved = slots[1 << (step - 1) :]
            pointers[step, self.length + moved, 0] = self.length + moved - (1 << (step - 1))
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        held = words
        for step in range(self.steps):
            if step:
                back = 1 << (step - 1)
                held = np.concatenate([held[:, :back], algebra.table[held[:, :-back], held[:, back:]]], axis=1)
            states[:, step + 1, self.length :] = held
        return states

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
