"""Readers: which rows read a row? The other way round than a `Reading`, kept while rows come to read others.

Many rows may read the same list of rows, which is gone through once. Who reads a row no longer is still listed: to look
at a row that has not changed is a loss of time, not to look at one that has would be wrong.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

Reading = list[list[int] | None]
"""Per head, the rows that matter to a row; None where the head does not."""


@dataclass(eq=False)
class Readers:
    """Lists of rows by identity, with the rows that read each; the lists that hold a row."""

    _lists: dict[int, tuple[list[int], set[int]]] = field(default_factory=dict)  # a list is kept, and so its identity
    _holding: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, readings: Iterable[tuple[int, Reading]]) -> "Readers":
        readers = cls()
        for row, reading in readings:
            readers.add(row, reading)
        return readers

    def add(self, row: int, reading: Reading) -> None:
        for rows in reading:
            if rows is None:
                continue
            if id(rows) not in self._lists:
                self._lists[id(rows)] = rows, set()
                for read in rows:
                    self._holding.setdefault(read, []).append(id(rows))
            self._lists[id(rows)][1].add(row)

    def of_any(self, rows: Iterable[int]) -> set[int]:
        """All rows that read, or once read, one of these."""
        lists = {name for row in rows for name in self._holding.get(row, ())}
        return set().union(*(self._lists[name][1] for name in lists))
