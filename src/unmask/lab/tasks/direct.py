"""Direct: the answers, in one step, and nothing in between."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.lab.tasks.layout import Rows
from unmask.lab.tasks.source import Source
from unmask.weights.kinds import Kind


@dataclass(frozen=True)
class Direct:
    """w · m → the product; of a program, as many slots as it has answers."""

    length: int
    padding: int = 1
    kind: ClassVar[Kind] = "mdm"
    steps: ClassVar[int] = 1

    @property
    def answer_slots(self) -> tuple[int, ...]:
        return tuple(range(-self.padding, 0))

    @property
    def pointers(self) -> np.ndarray:
        return self._rows.nothing_fetched()

    def states(self, source: Source, words: np.ndarray) -> np.ndarray:
        states = self._rows.blank(words)
        states[:, 1, self.length :] = source.answers(words)
        return states

    @property
    def _rows(self) -> Rows:
        return Rows(self.length, self.padding, self.steps)
