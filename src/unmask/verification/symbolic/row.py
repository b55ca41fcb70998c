"""SymbolicRow: what a row of the residual stream holds in each of its cases; columns that are equal are one case."""

from dataclasses import dataclass, field

import numpy as np

from unmask.verification.symbolic.network import Cases, Network
from unmask.verification.symbolic.partition import distinct


@dataclass(eq=False)
class SymbolicRow:
    """vectors [columns, cases]: what the row holds in each case; per head, the numbers of its queries and keys."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, tuple[int, np.ndarray, np.ndarray]] = field(default_factory=dict)
    asks: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    values: dict[int, np.ndarray] = field(default_factory=dict)
    seen_as: dict[tuple[int, int], "Seen"] = field(default_factory=dict)
    logits: np.ndarray | None = None
    alone: "SymbolicRow | None" = None  # the same over one variable


@dataclass(frozen=True, eq=False)
class Seen:
    """What a head takes from a row: values of its live columns, [columns, cases], their bytes; its key, if one."""

    values: np.ndarray
    content: bytes
    key: int | None


def merged(network: Network, cases: Cases, columns: np.ndarray) -> tuple[Cases, np.ndarray]:
    """(cases, columns): cases whose columns are equal are one."""
    first, labels = distinct(columns)
    fewer, order = network.cases(cases.variables, labels[cases.index])
    return fewer, columns[:, first][:, order]
