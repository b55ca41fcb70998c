"""Rows that multiply what two other rows hold (mdm, smdm, topk, pcot): their tables, entry by entry.

    inner[x][y]   what a row takes that is not the last, for symbols x and y in the rows that it reads
    last[x][y]    what the last row takes
    taken         in diffusion: a slot takes its symbol if it is masked and neither of the rows that it reads is

each for all flags that these rows may have.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from unmask.checker.certificate import need
from unmask.checker.families.rows import Brought, Rows
from unmask.checker.tables import numbered

Flags = dict[str, list[list[int]]]
Decide = Callable[[np.ndarray], np.ndarray]
"""Logits [cases, outputs] → what follows from them."""


class Node:
    """Rows of one program that hold some tokens, and those who read them."""

    def __init__(self, rows: Rows, flags: Flags, tokens: Sequence[int]) -> None:
        rows.single_pass(2)
        self._rows, self._flags = rows, flags
        need(all(flags[region] for region in ("read", "inner", "last")), "a region of rows has no flags")
        starts = rows.start(tokens, flags["read"])
        self._sides = [_classes(*rows.brought(0, head, starts.reshape(-1, rows.width))) for head in (0, 1)]
        self._class = [which.reshape(len(tokens), -1) for _, which in self._sides]

    def table(self, token: int, region: str, decide: Decide) -> np.ndarray:
        """[tokens, tokens]: what a row with this token decides, if it does not depend on flags."""
        own = self._rows.start([token], self._flags[region])[0]
        found = {table.tobytes(): table for row in own for table in self._tables(row, decide)}
        need(len(found) == 1, "what a row takes depends on more than what it reads")
        return next(iter(found.values()))

    def taken(self, tokens: Sequence[int], masked: int, decide: Decide) -> None:
        """Of rows with these tokens, the masked one alone takes its symbol, and that where neither factor is masked;
        `masked` is its place here, and 0 that of m among the tokens that are read."""
        for region in ("inner", "last"):
            own = self._rows.start(tokens, self._flags[region])
            first, which = numbered(own.reshape(-1, self._rows.width)[:, self._rows.live()])
            classes = which.reshape(len(tokens), -1)
            waits = classes[masked]
            need(not np.isin(waits, np.delete(classes, masked, axis=0)).any(), "a masked row looks like a written one")
            for k, place in enumerate(first):
                for table in self._tables(own.reshape(-1, self._rows.width)[place], decide):
                    right = np.full_like(table, k in waits)
                    right[0], right[:, 0] = False, False
                    need(
                        np.array_equal(table, right), "a slot is not taken exactly where it is masked, its factors not"
                    )

    def _tables(self, own: np.ndarray, decide: Decide) -> Iterable[np.ndarray]:
        """[tokens, tokens] for every two flags of the rows that are read."""
        (left, right) = (brought for brought, _ in self._sides)
        counts = len(left[1]), len(right[1])
        i, j = (axis.ravel() for axis in np.indices(counts))
        decided = []
        for part in self._rows.parts(i.size):
            brought = [(left[0], left[1][i[part]]), (right[0], right[1][j[part]])]
            decided.append(decide(self._rows.logits(np.repeat(own[None], len(i[part]), axis=0), brought)))
        grid = np.concatenate(decided).reshape(counts)
        for f, g in np.ndindex(self._class[0].shape[1], self._class[1].shape[1]):
            yield grid[np.ix_(self._class[0][:, f], self._class[1][:, g])]


def _classes(columns: np.ndarray, values: np.ndarray) -> tuple[Brought, np.ndarray]:
    """(what is brought, each once; which of these each row brings)."""
    first, which = numbered(values)
    return (columns, values[first]), which
