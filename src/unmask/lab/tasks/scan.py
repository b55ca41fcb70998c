"""Masked diffusion that edits in place: the scan of Hillis and Steele, with c = 2 factors a step or with more.

    step 0       y_i = w_i
    step j > 0   y_i = y_{i - (c-1)s} … y_{i - 2s} · y_{i - s} · y_i,   s = c^(j-1)         ⌈log_c N⌉ + 1 steps

A slot that does not exist is left out. A slot keeps one factor and fetches the others, other ones in every step: its
pointers depend on the step, which a model of the paper would have to read off a clock in its canvas. After the last
step slot i holds the product of w_0 … w_i.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import LAST, NOBODY, Rows
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Scan:
    """N letters, N prefix products; a slot that fetches several points to the nearest and the farthest."""

    length: int
    factors: int = 2
    kind: ClassVar[Kind] = "mdm"
    answer_slots: ClassVar[tuple[int, ...]] = LAST

    @property
    def padding(self) -> int:
        return self.length

    @property
    def steps(self) -> int:
        return len(self._spans) + 1

    @property
    def pointers(self) -> np.ndarray:
        pointers = self._rows.nothing_fetched()
        slots = np.arange(self.length)
        pointers[0, self.length :, 0] = slots
        for step, span in enumerate(self._spans, start=1):
            moved = slots[span:]
            farthest = moved - span * np.minimum(self.factors - 1, moved // span)
            pointers[step, self.length + moved, 0] = self.length + moved - span
            pointers[step, self.length + moved, 1] = np.where(farthest < moved - span, self.length + farthest, NOBODY)
        return pointers

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        held = words
        states[:, 1, self.length :] = held
        for step, span in enumerate(self._spans, start=1):
            product = held
            for back in range(span, min(self.factors * span, self.length), span):
                product = np.concatenate([product[:, :back], algebra.table[held[:, :-back], product[:, back:]]], axis=1)
            held = product
            states[:, step + 1, self.length :] = held
        return states

    @property
    def _spans(self) -> list[int]:
        """How far apart the factors of a step stand: 1, c, c², … below N."""
        return [self.factors**j for j in range(self.length) if self.factors**j < self.length]

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
