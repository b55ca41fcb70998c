"""SymbolicRow: what a row of the residual stream holds in each of its cases; columns that are equal are one case."""

from dataclasses import dataclass, field

import numpy as np

from unmask.verification.symbolic.network import Cases, Network


@dataclass(eq=False)
class SymbolicRow:
    """vectors [columns, cases]: what the row holds in each case; per head, the numbers of its queries and keys."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, tuple[int, np.ndarray, np.ndarray]] = field(default_factory=dict)
    asks: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    values: dict[int, np.ndarray] = field(default_factory=dict)
    seen_as: dict[tuple[int, int], tuple[np.ndarray, bytes]] = field(default_factory=dict)
    logits: np.ndarray | None = None
    alone: "SymbolicRow | None" = None  # the same over one variable


def merged(network: Network, cases: Cases, columns: np.ndarray) -> tuple[Cases, np.ndarray]:
    """(cases, columns): cases whose columns are equal are one."""
    first, labels = distinct(columns)
    fewer, order = network.cases(cases.variables, labels[cases.index])
    return fewer, columns[:, first][:, order]


def distinct(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first place of each distinct column, which one each column is)."""
    if columns.shape[1] == 1 or not columns.shape[0]:
        return np.zeros(1, dtype=np.int64), np.zeros(columns.shape[1], dtype=np.int64)
    rows = np.ascontiguousarray(columns.T)
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)
