"""A symbolic head: what one attention head gives to a row, over all cases of the rows that it reads.

for each query of the row, only the keys that it can have weight on (`key_scores`); these few rows are joined, and
each combination of their cases is one sum. Too many combinations: a row that reads one of many rows, as its query
says, chooses among them; else the sum is folded, key by key
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from unmask.engines.shared.prepared import PreparedHead
from unmask.numerics.compact import Compact
from unmask.verification.symbolic.key_scores import KeyScores
from unmask.verification.symbolic.network import CERTAIN, Cases, Network, TooManyCases
from unmask.verification.symbolic.partition import distinct
from unmask.verification.symbolic.renaming import Remembered, pattern_of
from unmask.verification.symbolic.row import Seen, SymbolicRow, merged
from unmask.weights.transformer import Head

FOLDED_AT_ONCE = 1 << 12
JOINED_AT_ONCE = 1 << 14  # more assignments than this only where the query does not choose


@dataclass(frozen=True, eq=False)
class _Key:
    """A row as a head sees it: per label the exponential under each query, [queries, labels], and its value."""

    cases: Cases
    exps: np.ndarray
    values: np.ndarray
    number: int  # of equal exponentials and values, up to names

    def for_weights(self) -> "_Key":
        """The same for who looks at exponentials alone: one case, where these are the same in all."""
        if self.cases.constant or (self.exps != self.exps[:, :1]).any():
            return self
        return _Key(CERTAIN, self.exps[:, :1], self.values[:, :1], self.number)


class SymbolicHead:
    """One head of one layer; `columns` of the residual stream are what it writes."""

    def __init__(self, head: Head, compact: Compact, width: int, network: Network, number: int) -> None:
        self._prepared = PreparedHead(head, compact, np.arange(width))
        self._compact, self._network, self.number = compact, network, number
        self.scores = KeyScores(self._prepared, compact)
        self.columns = self._prepared.value.columns
        self._sums, self._merged = Remembered(), Remembered()
        self._certain: dict[tuple[tuple[int, ...], bytes], _Key] = {}
        self._branches: dict[tuple, tuple[tuple[Cases, np.ndarray, np.ndarray] | None, object]] = {}

    def number_all(self, rows: list[SymbolicRow]) -> None:
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

    def queries(self, row: SymbolicRow) -> np.ndarray:
        """The number of the query in each case."""
        if row.numbers.get(self.number, (-1,))[0] != self.scores.epoch:
            self.number_all([row])
        return row.numbers[self.number][1]

    def asked(self, row: SymbolicRow) -> tuple[int, ...]:
        """The distinct queries of a row, in order."""
        known = row.asks.get(self.number)
        if known is None or known[0] != self.scores.epoch:
            number = self.queries(row)
            distinct_queries = number if number.size == 1 else np.unique(number)
            known = row.asks[self.number] = self.scores.epoch, tuple(distinct_queries.tolist())
        return known[1]

    def keys(self, rows: list[SymbolicRow], queries: tuple[int, ...], live: np.ndarray) -> list[_Key]:
        """Rows as these queries see them: cases that they cannot tell apart are one."""
        place = self.number, id(live)
        weights = [self.scores.weights(query) for query in queries]
        keys = []
        for row in rows:
            seen = row.seen_as.get(place) or self._seen(row, live)
            if seen.key is None:
                exps = self.scores.exps(queries, row.numbers[self.number][2])
                keys.append(self._key(row.cases, exps, seen.values))
                continue
            signature = tuple(known.get(seen.key, 0) for known in weights), seen.content
            keys.append(self._certain.get(signature) or self._certain_key(signature, seen.values))
        return keys

    def _seen(self, row: SymbolicRow, live: np.ndarray) -> Seen:
        if self.number not in row.numbers:
            self.number_all([row])
        keys = row.numbers[self.number][2]
        if not live.size:
            values = np.zeros((0, keys.size), dtype=self._compact.narrow)
        else:
            if self.number not in row.values:
                row.values[self.number] = self._prepared.value(row.vectors, slice(0, keys.size))
            values = row.values[self.number][live]
        seen = Seen(values, values.tobytes(), int(keys[0]) if keys.size == 1 else None)
        row.seen_as[self.number, id(live)] = seen
        return seen

    def _certain_key(self, signature: tuple[tuple[int, ...], bytes], values: np.ndarray) -> _Key:
        exps = signature[0]
        column = np.array(exps, dtype=np.int64)[:, None]
        key = _Key(CERTAIN, column, values if any(exps) else np.zeros_like(values), len(self._certain))
        self._certain[signature] = key
        return key

    def _key(self, cases: Cases, exps: np.ndarray, values: np.ndarray) -> _Key:
        """Cases of equal exponentials and values are one; the same for rows that differ in names alone."""
        signature = exps.tobytes(), exps.shape, values.tobytes(), cases.index.shape, cases.index.tobytes()
        known = self._merged.known.get(signature)
        if known is None:
            seen = np.where(exps.any(axis=0), values, values.dtype.type(0))
            fewer, both = merged(self._network, cases, np.vstack([exps, seen]))
            number = np.array(-1 - len(self._merged.known))
            self._merged.keep(signature, fewer, cases.variables, (both[: len(exps)], both[len(exps) :], number))
            known = self._merged.known[signature]
        return _Key(known.over(cases.variables), *known.results[:2], int(known.results[2]))

    def output(
        self, own: SymbolicRow, read: list[SymbolicRow], live: np.ndarray
    ) -> tuple[Cases, np.ndarray, np.ndarray]:
        """(cases, head [live columns, cases], Z = 0 in this case?) of a row that reads these rows, in order.

        `live` are the entries of `columns` that are asked for.
        """
        asked = self.asked(own)
        if len(asked) == 1:
            return self._joined(CERTAIN, np.zeros(1, dtype=np.int64), asked, read, live)
        which = np.searchsorted(asked, self.queries(own))
        query_cases, order = self._network.cases(own.cases.variables, which[own.cases.index])
        if self._many([own.cases, *(row.cases for row in read)]):
            chosen = self._chosen(query_cases, [asked[q] for q in order.tolist()], read, live)
            return chosen or self._joined(query_cases, order, asked, read, live)
        result = self._joined(query_cases, order, asked, read, live)
        if self._network.disjoint(result[0].variables):
            return result
        # a table of variables that share letters tells less than a choice among them
        return self._chosen(query_cases, [asked[q] for q in order.tolist()], read, live) or result

    def _joined(
        self, query_cases: Cases, order: np.ndarray, asked: tuple[int, ...], read: list[SymbolicRow], live: np.ndarray
    ) -> tuple[Cases, np.ndarray, np.ndarray]:
        """All combinations of the query and the rows read; once for all rows that differ in names alone."""
        keys = self.keys(read, asked, live)
        pattern = pattern_of(self._network, [query_cases, *(key.cases for key in keys)])
        if pattern is None:
            return self._summed(query_cases, order, keys, live.size)
        signature = pattern[1], order.tobytes(), live.size, len(asked), *(key.number for key in keys)
        known = self._sums.known.get(signature)
        if known is None:
            cases, head, nothing = self._summed(query_cases, order, keys, live.size)
            self._sums.keep(signature, cases, pattern[0], (head, nothing))
            return cases, head, nothing
        head, nothing = known.results
        return known.over(pattern[0]), head, nothing

    def _many(self, parts: list[Cases]) -> bool:
        """Have these cases too many combinations to go through them all?"""
        variables = {v for part in parts for v in part.variables}
        return self._network.assignments(variables, JOINED_AT_ONCE) > JOINED_AT_ONCE

    def _chosen(
        self, query_cases: Cases, queries: list[int], read: list[SymbolicRow], live: np.ndarray
    ) -> tuple[Cases, np.ndarray, np.ndarray] | None:
        """A switch: for each query, the sum over the rows that it has weight on. None where these are many, too."""
        rows_of_key: dict[int, list[int]] = {}
        for i, row in enumerate(read):
            for key in set(row.numbers[self.number][2].tolist()):
                rows_of_key.setdefault(key, []).append(i)
        branches = []
        for query in queries:
            seen = set(self.scores.seen_by(query)[0].tolist()) & rows_of_key.keys()
            rows = [read[i] for i in sorted({i for key in seen for i in rows_of_key[key]})]
            branch = self._branch(query, rows, live) if len(rows) < len(read) else None
            if branch is None:
                return None
            branches.append(branch)
        parts = [np.vstack([head, nothing[None].astype(head.dtype)]) for _, head, nothing in branches]
        whole = np.hstack(parts)
        first, labels = distinct(whole)
        if first.size == 1:
            return CERTAIN, whole[:-1, first], whole[-1, first].astype(bool)
        ends = np.cumsum([part.shape[1] for part in parts])
        tables = [
            Cases(cases.variables, labels[end - part.shape[1] : end].astype(np.int32)[cases.index], first.size)
            for (cases, _, _), part, end in zip(branches, parts, ends.tolist(), strict=True)
        ]
        chosen = self._network.switch(query_cases, tables, first.size)
        return chosen, whole[:-1, first], whole[-1, first].astype(bool)

    def _branch(
        self, query: int, rows: list[SymbolicRow], live: np.ndarray
    ) -> tuple[Cases, np.ndarray, np.ndarray] | None:
        """What one query brings, where that is no large sum; many rows may ask it of the same rows."""
        key = self.scores.epoch, query, id(live), tuple(map(id, rows))
        if key not in self._branches:
            keys = self.keys(rows, (query,), live)
            none = self._many([key.cases for key in keys])
            result = None if none else self._summed(CERTAIN, np.zeros(1, dtype=np.int64), keys, live.size)
            self._branches[key] = result, (live, rows)  # kept, so that no other has their names
        return self._branches[key][0]

    def _summed(
        self, query_cases: Cases, order: np.ndarray, keys: list[_Key], columns: int
    ) -> tuple[Cases, np.ndarray, np.ndarray]:
        varying = [key.cases for key in keys if not key.cases.constant]
        if not varying and query_cases.constant:
            query = order[0]
            head, nothing = self._sum([key.exps[query] for key in keys], [key.values for key in keys], 1, columns)
            return CERTAIN, head, nothing
        try:
            basis, case_of = self._network.join([query_cases, *varying])
        except TooManyCases:
            return self._folded(query_cases, order, keys, columns)
        combined = np.vstack(case_of)
        first, labels = distinct(combined)
        head, nothing = self._combined(order[combined[0, first]], iter(combined[1:, first]), keys, columns)
        cases, order = self._network.cases(basis, labels)
        return cases, head[:, order], nothing[order]

    def _combined(
        self, query: np.ndarray, labels: Iterator[np.ndarray], keys: list[_Key], columns: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """One sum per combination: its query, and the label of each key that is not constant, in order."""
        exps, values = [], []
        for key in keys:
            label = np.zeros(query.size, dtype=np.int64) if key.cases.constant else next(labels)
            exps.append(key.exps[query, label])
            values.append(key.values[:, label])
        return self._sum(exps, values, query.size, columns)

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
        for key in map(_Key.for_weights, keys):

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
            return merged(network, state, step(payload, np.zeros(payload.shape[1], dtype=np.int64)))
        try:
            basis, (old, label) = network.join([state, key.cases], most=FOLDED_AT_ONCE)
        except TooManyCases:
            basis, (old, label) = network.join([network.cut(state), network.cut(key.cases)])
        new = step(payload[:, old], label)
        first, labels = distinct(new)
        cases, order = network.cases(basis, labels)
        return cases, new[:, first][:, order]


def _stacked(rows: list[SymbolicRow]) -> tuple[np.ndarray, slice]:
    stacked = np.concatenate([row.vectors for row in rows], axis=1)
    return stacked, slice(0, stacked.shape[1])


def _split(rows: list[SymbolicRow], numbers: np.ndarray) -> Iterator[tuple[SymbolicRow, np.ndarray]]:
    first = 0
    for row in rows:
        last = first + row.vectors.shape[1]
        yield row, numbers[first:last]
        first = last
