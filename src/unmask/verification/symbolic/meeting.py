"""Meeting: one head at one place of a run, and so which rows each row can have weight on."""

from dataclasses import dataclass, field

from unmask.verification.symbolic.head import SymbolicHead
from unmask.verification.symbolic.row import SymbolicRow


@dataclass(eq=False)
class Meeting:
    """One head at one place of a run: which rows hold which keys."""

    head: SymbolicHead
    epoch: int
    rows_of_key: dict[int, list[int]]
    keys_of_row: list[set[int]]
    _known: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _sure: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, head: SymbolicHead, rows: list[SymbolicRow]) -> "Meeting":
        """All rows before one layer, in order; their queries and keys have numbers."""
        rows_of_key: dict[int, list[int]] = {}
        keys_of_row: list[set[int]] = []
        for i, row in enumerate(rows):
            keys_of_row.append(set(row.numbers[head.number].keys))
            for key in keys_of_row[-1]:
                rows_of_key.setdefault(key, []).append(i)
        return cls(head, head.scores.epoch, rows_of_key, keys_of_row)

    def holds_still(self, rows: list[SymbolicRow], changed: set[int]) -> bool:
        """Have the changed rows the keys that stood in their places, and all queries their numbers?"""
        return self.epoch == self.head.scores.epoch and all(
            set(rows[k].numbers[self.head.number].keys) == self.keys_of_row[k] for k in changed
        )

    def reads(self, row: SymbolicRow, visible: int) -> list[int]:
        """The rows before `visible` that a row can have weight on, in order."""
        queries = self.head.asked(row)
        if len(queries) > 1:
            return sorted({i for query in queries for i in self._of_query(query) if i < visible})
        some = self._of_query(queries[0])
        return some if not some or some[-1] < visible else [i for i in some if i < visible]

    def attends(self, row: SymbolicRow, visible: int) -> bool:
        """In every case some row before `visible` certainly has weight: then Z is not 0."""
        return all(self._first_sure(query) < visible for query in self.head.asked(row))

    def _first_sure(self, query: int) -> int:
        """The first row on which a query has weight whatever the row holds."""
        key = self.head.scores.epoch, query
        if key not in self._sure:
            seen = set(self.head.scores.seen_by(query)[0].tolist())
            rows = (i for k in seen for i in self.rows_of_key.get(k, ()) if self.keys_of_row[i] <= seen)
            self._sure[key] = min(rows, default=len(self.keys_of_row))
        return self._sure[key]

    def _of_query(self, query: int) -> list[int]:
        key = self.head.scores.epoch, query
        if key not in self._known:
            keys, _ = self.head.scores.seen_by(query)
            self._known[key] = sorted({i for k in keys.tolist() for i in self.rows_of_key.get(k, ())})
        return self._known[key]
