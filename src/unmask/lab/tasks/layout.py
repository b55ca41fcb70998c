"""Layout: where the rows of a framework stand, what each fetches, and what it holds after every step.

    states(w)[t, r]      what row r holds after t steps: an element, or MASK, or PAD
    pointers[t, r, f]    the row whose content r needs as its f-th operand in step t, or NOBODY

A row that keeps one operand itself fetches one; a node of a tree fetches two.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unmask.weights.kinds import Kind

NOBODY = -1
MASK, PAD = -1, -2
"""In `states`, what is no element."""
FETCHES = 2  # of a product; a rule of a program may read more
MOST_FETCHES = 8
PLACE_BITS = 8
PLACES = 1 << PLACE_BITS
"""Rows that a code tells apart."""
LAST = (-1,)


class Layout(Protocol):
    """One framework at one length."""

    @property
    def kind(self) -> Kind:
        """Whose loop runs it."""
        ...

    @property
    def length(self) -> int: ...

    @property
    def padding(self) -> int:
        """P: slots or pads."""
        ...

    @property
    def steps(self) -> int:
        """T."""
        ...

    @property
    def pointers(self) -> np.ndarray:
        """[steps, rows, fetches], FETCHES of them at least."""
        ...

    @property
    def answer_slots(self) -> tuple[int, ...]:
        """Where the answers stand, among what the loop of its kind shows in the end."""
        ...

    def states(self, source: Any, words: np.ndarray, /) -> np.ndarray:
        """[batch, steps + 1, rows]."""
        ...


@dataclass(frozen=True)
class Rows:
    """N letters and P slots."""

    length: int
    padding: int
    steps: int

    @property
    def rows(self) -> int:
        return self.length + self.padding

    def nothing_fetched(self) -> np.ndarray:
        return np.full((self.steps, self.rows, FETCHES), NOBODY)

    def blank(self, words: np.ndarray) -> np.ndarray:
        """[batch, steps + 1, rows]: the letters, and masks in all slots."""
        states = np.full((len(words), self.steps + 1, self.rows), MASK)
        states[:, :, : self.length] = words[:, None]
        return states
