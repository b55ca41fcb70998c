"""Direct: one slot, one step, and nothing in between."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.algebra import Algebra
from unmask.lab.tasks.layout import LAST, Rows
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Direct:
    """w · m → the product."""

    length: int
    kind: ClassVar[Kind] = "mdm"
    answer_slots: ClassVar[tuple[int, ...]] = LAST
    padding: ClassVar[int] = 1
    steps: ClassVar[int] = 1

    @property
    def pointers(self) -> np.ndarray:
        return self._rows.nothing_fetched()

    def states(self, algebra: Algebra, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        states[:, 1, -1] = algebra.product(words)
        return states

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
