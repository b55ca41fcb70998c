"""Up to names: what is computed over cases depends on their tables, not on what their variables are called.

    parts over variables v < w < …   ──pattern──▶   the same parts over 0 < 1 < …

Rows of one kind (nodes of a level, gates of one fan-in) differ in the names of what they read. The pattern of some
parts is their tables over numbered variables; two computations with equal patterns and equal integers have the same
result, over other variables. A pattern is only made where no variable follows from the others: else the network has
more to say about these variables than the tables do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmask.verification.symbolic.network import CERTAIN, Cases, Network

Pattern = tuple[tuple[Any, ...], ...]


def pattern_of(network: Network, parts: Sequence[Cases]) -> tuple[tuple[int, ...], Pattern] | None:
    """(the variables in order, the pattern); None where some variable follows from others."""
    varying = [part for part in parts if part.variables]
    if not varying:
        return (), tuple(() for _ in parts)
    if len(varying) == 1:
        wanted = varying[0].variables
    else:
        wanted = tuple(sorted({v for part in varying for v in part.variables}))
    if network.basis(wanted) != wanted:
        return None
    place = {v: i for i, v in enumerate(wanted)}
    return wanted, tuple(
        (tuple(place[v] for v in part.variables), part.content) if part.variables else () for part in parts
    )


@dataclass(frozen=True, eq=False)
class Nameless:
    """Cases over numbered variables, and what was computed for each."""

    places: tuple[int, ...]
    index: np.ndarray
    count: int
    results: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, cases: Cases, wanted: Sequence[int], results: tuple[np.ndarray, ...]) -> "Nameless | None":
        """None where the cases are over other variables."""
        place = {v: i for i, v in enumerate(wanted)}
        if not set(cases.variables) <= set(place):
            return None
        return cls(tuple(place[v] for v in cases.variables), cases.index, cases.count, results)

    def over(self, variables: Sequence[int]) -> Cases:
        if not self.places:
            return CERTAIN
        return Cases(tuple(variables[i] for i in self.places), self.index, self.count)


@dataclass(eq=False)
class Remembered:
    """Results by pattern and integers."""

    known: dict[Any, Nameless] = field(default_factory=dict)

    def keep(self, key: Any, cases: Cases, wanted: Sequence[int], results: tuple[np.ndarray, ...]) -> None:
        nameless = Nameless.of(cases, wanted, results)
        if nameless is not None:
            self.known[key] = nameless
