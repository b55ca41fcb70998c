"""A symbolic head: what one attention head gives to a row, over all cases of the rows that it reads.

for each query of the row, only the keys that it can have weight on (`key_scores`); these few rows are joined, and
each combination of their cases is one sum. Too many combinations: the sum is folded, key by key
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from unmask.engines.prepared import PreparedHead
from unmask.numerics.compact import Compact
from unmask.verification.key_scores import KeyScores
from unmask.verification.network import CERTAIN, Cases, Network, TooManyCases
from unmask.weights.transformer import Head

FOLDED_AT_ONCE = 1 << 12


@dataclass(eq=False)
class Row:
    """vectors [columns, cases]: what the row holds in each case; per head, the numbers of its queries and keys."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, tuple[int, np.ndarray, np.ndarray]] = field(default_factory=dict)
    values: dict[int, np.ndarray] = field(default_factory=dict)
    logits: np.ndarray | None = None
    alone: "Row | None" = None  # the same over one variable


@dataclass(frozen=True, eq=False)
class _Key:
    """A row as a head sees it: per label the exponential under each query, [queries, labels], and its value."""

    cases: Cases
    exps: np.ndarray
    values: np.ndarray


class SymbolicHead:
    """One head of one layer; `columns` of the residual stream are what it writes."""

    def __init__(self, head: Head, compact: Compact, width: int, network: Network, number: int) -> None:
        self._prepared = PreparedHead(head, compact, np.arange(width))
        self._compact, self._network, self.number = compact, network, number
        self.scores = KeyScores(self._prepared, compact)
        self.columns = self._prepared.value.columns

    def meet(self, rows: list[Row]) -> "Meeting":
        """Number the queries and keys of all rows of one layer, in order."""
        self.number_all(rows)
        rows_of_key: dict[int, list[int]] = {}
        keys_of_row: list[set[int]] = []
        for i, row in enumerate(rows):
            keys_of_row.append(set(row.numbers[self.number][2].tolist()))
            for key in keys_of_row[-1]:
                rows_of_key.setdefault(key, []).append(i)
        return Meeting(self, rows_of_key, keys_of_row)

    def number_all(self, rows: list[Row]) -> None:
        """Number the queries and keys of rows, all at once."""
        fresh = [row for row in rows if self.number not in row.numbers]
        if fresh:
            K = self._prepared.key(*_stacked(fresh))
            numbers = self.scores.keys(K)
            for row, part in _split(fresh, numbers):
                row.numbers[self.number] = -1, part, part
        stale = [row for row in rows if row.numbers[self.number][0] != self.scores.epoch]
        if stale:
            Q = self._prepared.query(*_stacked(stale))
            for row, part in _split(stale, self.scores.queries(Q)):
                row.numbers[self.number] = self.scores.epoch, part, row.numbers[self.number][2]

    def queries(self, row: Row) -> np.ndarray:
        """The number of the query in each case."""
        if row.numbers.get(self.number, (-1,))[0] != self.scores.epoch:
            self.number_all([row])
        return row.numbers[self.number][1]

    def key(self, row: Row, queries: tuple[int, ...], live: np.ndarray) -> _Key:
        """A row as these queries see it: cases that they cannot tell apart are one."""
        if self.number not in row.numbers:
            self.number_all([row])
        keys = row.numbers[self.number][2]
        exps = np.zeros((len(queries), keys.size), dtype=np.int64)
        for q, query in enumerate(queries):
            seen, values = self.scores.seen_by(query)
            if seen.size:
                place = np.minimum(np.searchsorted(seen, keys), seen.size - 1)
                exps[q] = np.where(seen[place] == keys, values[place], 0)
        count = row.vectors.shape[1]
        values = np.zeros((live.size, count), dtype=self._compact.narrow)
        if live.size:
            if self.number not in row.values:
                row.values[self.number] = self._prepared.value(row.vectors, slice(0, count))
            values[:] = row.values[self.number][live]
        values[:, ~exps.any(axis=0)] = 0
        if count == 1:
            return _Key(CERTAIN, exps, values)
        both = np.vstack([exps, values])
        kept, labels = distinct(both)
        both = both[:, kept]
        cases, order = self._network.cases(row.cases.variables, labels[row.cases.index])
        return _Key(cases, both[: len(queries), order], both[len(queries) :, order])

    def output(self, own: Row, read: list[Row], live: np.ndarray) -> tuple[Cases, np.ndarray, np.ndarray]:
        """(cases, head [live columns, cases], Z = 0 in this case?) of a row that reads these rows, in order.

        `live` are the entries of `columns` that are asked for.
        """
        numbers = self.queries(own)
        queries, which = np.unique(numbers, return_inverse=True)
        asked = tuple(queries.tolist())
        query_cases, order = self._network.cases(own.cases.variables, which[own.cases.index])
        keys = [self.key(row, asked, live) for row in read]
        varying = [key for key in keys if not key.cases.constant]
        if not varying and len(asked) == 1:
            head, nothing = self._sum([key.exps[0] for key in keys], [key.values for key in keys], 1, live.size)
            return CERTAIN, head, nothing
        try:
            basis, chosen = self._network.join([query_cases, *(key.cases for key in varying)])
        except TooManyCases:
            return self._folded(query_cases, order, keys, live.size)
        combined = np.vstack(chosen)
        kept, labels = distinct(combined)
        combined = combined[:, kept]
        place = iter(range(1, len(chosen)))
        query = order[combined[0]]
        exps, values = [], []
        for key in keys:
            label = np.zeros(query.size, dtype=np.int64) if key.cases.constant else combined[next(place)]
            exps.append(key.exps[query, label])
            values.append(key.values[:, label])
        head, nothing = self._sum(exps, values, query.size, live.size)
        cases, order = self._network.cases(basis, labels)
        return cases, head[:, order], nothing[order]

    def _sum(self, exps: list, values: list, count: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        compact = self._compact
        Z = np.minimum(sum(exps, np.zeros(count, dtype=np.int64)), compact.bound).astype(compact.wide)
        head = np.zeros((columns, count), dtype=compact.wide)
        if columns:
            for e, value in zip(exps, values, strict=True):
                if e.any():
                    weight = compact.divide(e.astype(compact.wide), np.maximum(Z, 1))
                    head = compact.add(head, compact.multiply(weight, value))
        return head.astype(compact.narrow), Z == 0

    def _folded(
        self, query_cases: Cases, order: np.ndarray, keys: list[_Key], columns: int
    ) -> tuple[Cases, np.ndarray, np.ndarray]:
        """The same, key by key: first (query, Z so far), then (query, Z, sum so far)."""
        compact = self._compact
        state, payload = query_cases, np.vstack([order, np.zeros(order.size, dtype=np.int64)])
        for key in keys:

            def add(old: np.ndarray, label: np.ndarray, key: _Key = key) -> np.ndarray:
                return np.vstack([old[0], np.minimum(old[1] + key.exps[old[0], label], compact.bound)])

            state, payload = self._step(state, payload, key, add)
        payload = np.vstack([payload, np.zeros((columns, payload.shape[1]), dtype=np.int64)])
        for key in keys if columns else ():

            def weigh(old: np.ndarray, label: np.ndarray, key: _Key = key) -> np.ndarray:
                e, Z = key.exps[old[0], label].astype(compact.wide), np.maximum(old[1], 1).astype(compact.wide)
                term = compact.multiply(compact.divide(e, Z), key.values[:, label])
                return np.vstack([old[:2], compact.add(old[2:].astype(compact.wide), term)])

            state, payload = self._step(state, payload, key, weigh)
        return state, payload[2:].astype(compact.narrow), payload[1] == 0

    def _step(self, state: Cases, payload: np.ndarray, key: _Key, step: Callable) -> tuple[Cases, np.ndarray]:
        network = self._network
        if key.cases.constant:
            new = step(payload, np.zeros(payload.shape[1], dtype=np.int64))
            kept, labels = distinct(new)
            cases, order = network.cases(state.variables, labels[state.index])
            return cases, new[:, kept][:, order]
        try:
            basis, (old, label) = network.join([state, key.cases], most=FOLDED_AT_ONCE)
        except TooManyCases:
            basis, (old, label) = network.join([network.cut(state), network.cut(key.cases)])
        new = step(payload[:, old], label)
        kept, labels = distinct(new)
        cases, order = network.cases(basis, labels)
        return cases, new[:, kept][:, order]


@dataclass(eq=False)
class Meeting:
    """One head at one place of a run: which rows hold which keys."""

    head: SymbolicHead
    rows_of_key: dict[int, list[int]]
    keys_of_row: list[set[int]]
    _known: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _sure: dict[tuple[int, int], int] = field(default_factory=dict)

    def reads(self, row: Row, visible: int) -> list[int]:
        """The rows before `visible` that a row can have weight on, in order."""
        queries = np.unique(self.head.queries(row)).tolist()
        if len(queries) == 1:
            return [i for i in self._of_query(queries[0]) if i < visible]
        return sorted({i for query in queries for i in self._of_query(query) if i < visible})

    def attends(self, row: Row, visible: int) -> bool:
        """In every case some row before `visible` certainly has weight: then Z is not 0."""
        return all(self._first_sure(query) < visible for query in np.unique(self.head.queries(row)).tolist())

    def _first_sure(self, query: int) -> int:
        """The first row on which a query has weight whatever the row holds."""
        key = self.head.scores.epoch, query
        if key not in self._sure:
            seen = set(self.head.scores.seen_by(query)[0].tolist())
            rows = (i for i in self._of_query(query) if self.keys_of_row[i] <= seen)
            self._sure[key] = next(rows, len(self.keys_of_row))
        return self._sure[key]

    def _of_query(self, query: int) -> list[int]:
        key = self.head.scores.epoch, query
        if key not in self._known:
            keys, _ = self.head.scores.seen_by(query)
            self._known[key] = sorted({i for k in keys.tolist() for i in self.rows_of_key.get(k, ())})
        return self._known[key]


def distinct(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first place of each distinct column, which one each column is)."""
    if columns.shape[1] == 1 or not columns.shape[0]:
        return np.zeros(1, dtype=np.int64), np.zeros(columns.shape[1], dtype=np.int64)
    rows = np.ascontiguousarray(columns.T)
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def _stacked(rows: list[Row]) -> tuple[np.ndarray, slice]:
    stacked = np.concatenate([row.vectors for row in rows], axis=1)
    return stacked, slice(0, stacked.shape[1])


def _split(rows: list[Row], numbers: np.ndarray) -> Iterator[tuple[Row, np.ndarray]]:
    first = 0
    for row in rows:
        last = first + row.vectors.shape[1]
        yield row, numbers[first:last]
        first = last
