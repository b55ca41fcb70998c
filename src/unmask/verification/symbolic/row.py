"""SymbolicRow: what a row of the residual stream holds in each of its cases; columns that are equal are one case."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unmask.verification.symbolic.network import CERTAIN, Cases, Network
from unmask.verification.symbolic.partition import distinct


@dataclass(eq=False)
class SymbolicRow:
    """vectors [columns, cases]: what the row holds in each case; per head, the numbers of its queries and keys."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, "Numbers"] = field(default_factory=dict)
    asks: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    seen_as: dict[tuple[int, int], "Seen"] = field(default_factory=dict)
    logits: np.ndarray | None = None
    alone: "SymbolicRow | None" = None  # the same over one variable


class Numbers(NamedTuple):
    """What one head calls the queries and the keys of a row, case by case."""

    queries: list[int]
    keys: list[int]


@dataclass(frozen=True, eq=False)
class Seen:
    """What a head takes from a row: values of its live columns, [columns, cases], their bytes; its keys by number."""

    values: np.ndarray
    content: bytes
    keys: list[int]


def stacked(rows: list[SymbolicRow]) -> np.ndarray:
    """The vectors of rows, one beside the other."""
    return np.concatenate([row.vectors for row in rows], axis=1)


def merged(network: Network, cases: Cases, columns: np.ndarray) -> tuple[Cases, np.ndarray]:
    """(cases, columns): cases whose columns are equal are one."""
    first, labels = distinct(columns)
    if first.size == cases.count:
        return cases, columns
    if first.size == 1:
        return CERTAIN, columns[:, :1]
    fewer, order = network.cases(cases.variables, labels[cases.index])
    return fewer, columns[:, first][:, order]
