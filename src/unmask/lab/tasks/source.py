"""Source: what the symbols of a task are, which of them are letters, and what the answer to a word is."""

from collections.abc import Collection
from typing import Protocol

import numpy as np


class Source(Protocol):
    """An algebra, or a program. Symbols are numbered from 0; a word is an array of the numbers of its letters."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all symbols that a row may hold, but for mask and pad."""
        ...

    @property
    def letters(self) -> np.ndarray:
        """The symbols that a word is drawn from."""
        ...

    @property
    def verdicts(self) -> dict[str, bool]:
        """Which names say that a word is accepted, and which that it is not."""
        ...

    def answers(self, words: np.ndarray) -> np.ndarray:
        """[batch, answers]."""
        ...

    def chance(self, length: int) -> float:
        """How often the best constant guess is right about a word of uniform letters."""
        ...


def unlike(name: str, names: Collection[str]) -> str:
    """A name that none of them is."""
    while name in names:
        name += "'"
    return name
