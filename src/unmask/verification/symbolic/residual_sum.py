"""G = (SUM over heads) + H, case by case, without cases of H that make no difference.

A head that reads its own row may take away what the row held (-x + x = 0, as far as no sum clips): the row has then
forgotten it, and cases that differ only there are one. Whether they make a difference is tried out, column by column,
for every value that the other heads can have.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unmask.numerics.compact import Compact
from unmask.verification.symbolic.network import Cases, Network
from unmask.verification.symbolic.partition import distinct
from unmask.verification.symbolic.row import SymbolicRow


class HeadOutput(NamedTuple):
    """What one head writes: columns of the residual stream, [columns, cases]."""

    cases: Cases
    columns: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class ResidualSum:
    """A row with the heads that follow from it, in fewer cases; and the other heads, by their place."""

    cases: Cases
    vectors: np.ndarray
    own: dict[int, tuple[np.ndarray, np.ndarray]]
    free: dict[int, HeadOutput]

    def of(self, compact: Compact, case_of: np.ndarray) -> np.ndarray:
        """G, [columns, combinations]; case_of[0] is the case of the row, then follow those of the free heads."""
        vectors = self.vectors[:, case_of[0]]
        total = np.zeros_like(vectors)
        place = iter(case_of[1:])
        for h in sorted({*self.own, *self.free}):
            if h in self.own:
                columns, values = self.own[h][0], self.own[h][1][:, case_of[0]]
            else:
                columns, values = self.free[h].columns, self.free[h].values[:, next(place)]
            total[columns] = compact.add(total[columns], values)
        return compact.add(total, vectors)


def residual_sum(
    own: SymbolicRow, heads: list[HeadOutput], live: np.ndarray, network: Network, compact: Compact
) -> ResidualSum:
    """The sum for a row and its heads; only `live` columns of it matter."""
    follows = {h: case for h, head in enumerate(heads) if (case := _follows(own, head, network)) is not None}
    decided = {h: (heads[h].columns, heads[h].values[:, case]) for h, case in follows.items()}
    free = {h: head for h, head in enumerate(heads) if h not in follows}
    if own.cases.constant or not decided:
        return ResidualSum(own.cases, own.vectors, decided, free)
    first, labels = distinct(_differences(own, heads, decided, live, compact))
    if first.size == own.cases.count:
        return ResidualSum(own.cases, own.vectors, decided, free)
    cases, order = network.cases(own.cases.variables, labels[own.cases.index])
    standing = first[order]
    merged = {h: (columns, values[:, standing]) for h, (columns, values) in decided.items()}
    return ResidualSum(cases, own.vectors[:, standing], merged, free)


def _follows(own: SymbolicRow, head: HeadOutput, network: Network) -> np.ndarray | None:
    """The head's case in each case of the row, if that decides it."""
    if head.cases.constant:
        return np.zeros(own.cases.count, dtype=np.int64)
    if not set(head.cases.variables) <= set(own.cases.variables):
        return None
    _, (mine, its) = network.join([own.cases, head.cases])
    case = np.zeros(own.cases.count, dtype=np.int64)
    case[mine] = its
    return case if np.array_equal(case[mine], its) else None


def _differences(
    own: SymbolicRow,
    heads: list[HeadOutput],
    decided: dict[int, tuple[np.ndarray, np.ndarray]],
    live: np.ndarray,
    compact: Compact,
) -> np.ndarray:
    """Per case of the row, a column of numbers: cases with equal columns lead to equal sums."""
    width, count = own.vectors.shape
    writers = np.zeros(width, dtype=np.int64)
    for h, head in enumerate(heads):
        if h not in decided:
            writers[head.columns] += 1
    known, several = live & (writers <= 1), live & (writers > 1)
    parts = [own.vectors[several]]
    parts += [values[several[columns]] for columns, values in decided.values()]
    possible = [np.unique(head.values[known[head.columns]]) for h, head in enumerate(heads) if h not in decided]
    for value in np.unique(np.concatenate([np.zeros(1, dtype=compact.narrow), *possible])):
        total = np.zeros((width, count), dtype=compact.narrow)
        for h, head in enumerate(heads):
            if h in decided:
                columns, values = decided[h]
                total[columns] = compact.add(total[columns], values)
            else:
                total[head.columns] = compact.add(total[head.columns], value)
        parts.append(compact.add(total, own.vectors)[known])
    return np.concatenate(parts)
