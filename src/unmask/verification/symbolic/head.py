"""A symbolic head: what one attention head gives to a row, over all cases of the rows that it reads.

for each query of the row, only the keys that it can have weight on (`key_scores`); these few rows are joined, and
each combination of their cases is one sum. Too many combinations: a row that reads one of many rows, as its query
says, chooses among them; else the sum is folded, key by key
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from unmask.engines.prepared_weights import SparseProduct
from unmask.engines.visible_keys import Places
from unmask.numerics.compact import Compact
from unmask.verification.symbolic.key_scores import KeyScores
from unmask.verification.symbolic.network import CERTAIN, MOST_ASSIGNMENTS, Cases, Network, TooManyCases
from unmask.verification.symbolic.partition import distinct
from unmask.verification.symbolic.renaming import Remembered, pattern_of
from unmask.verification.symbolic.row import Numbers, Seen, SymbolicRow, merged, stacked
from unmask.weights.transformer import Head

FOLDED_AT_ONCE = 1 << 12
FEW_COLUMNS = 2
JOINED_AT_ONCE = 1 << 14  # more assignments than this only where the query does not choose


class _Key(NamedTuple):
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

    def __init__(self, head: Head, places: Places, compact: Compact, network: Network, number: int) -> None:
        self._value = SparseProduct(head.wv, compact)
        self._compact, self._network, self.number = compact, network, number
        self.scores = KeyScores(places, compact)
        self.columns = self._value.columns
        self._sums, self._merged = Remembered(), Remembered()
        self._certain: dict[tuple[tuple[int, ...], bytes], _Key] = {}
        self._branches: dict[tuple, tuple[tuple[Cases, np.ndarray, np.ndarray] | None, object]] = {}

    def take_in(self, rows: list[SymbolicRow], Q: np.ndarray, K: np.ndarray) -> None:
        """Number the queries and keys of rows, which stand one after the other."""
        queries, keys = self.scores.queries(Q), self.scores.keys(K)
        for row, part in _places(rows):
            row.numbers[self.number] = Numbers(queries[part], keys[part])

    def see_all(self, rows: list[SymbolicRow], live: np.ndarray) -> None:
        """Take from rows what the head reads for its live columns, all at once."""
        place = self.number, id(live)
        fresh = [row for row in rows if place not in row.seen_as]
        if fresh:
            vectors = stacked(fresh)
            values = self._value(vectors, slice(0, vectors.shape[1]))[live]
            for row, part in _places(fresh):
                own = np.ascontiguousarray(values[:, part])
                row.seen_as[place] = Seen(own, own.tobytes(), row.numbers[self.number].keys)

    def queries(self, row: SymbolicRow) -> list[int]:
        """What the row asks in each case."""
        return self.scores.asked(row.numbers[self.number].queries)

    def asked(self, row: SymbolicRow) -> tuple[int, ...]:
        """All that a row asks, in order."""
        known = row.asks.get(self.number)
        if known is None or known[0] != self.scores.epoch:
            known = row.asks[self.number] = self.scores.epoch, tuple(sorted(set(self.queries(row))))
        return known[1]

    def keys(self, rows: list[SymbolicRow], queries: tuple[int, ...], live: np.ndarray) -> list[_Key]:
        """Rows as these queries see them: cases that they cannot tell apart are one."""
        place = self.number, id(live)
        self.see_all(rows, live)
        weights = [self.scores.weights(query) for query in queries]
        keys = []
        for row in rows:
            seen = row.seen_as[place]
            exps = tuple([known.get(key, 0) for known in weights for key in seen.keys])
            if row.cases.constant:
                keys.append(self._certain.get((exps, seen.content)) or self._certain_key(exps, seen))
            else:
                keys.append(self._key(row.cases, exps, seen))
        return keys

    def _certain_key(self, exps: tuple[int, ...], seen: Seen) -> _Key:
        column = np.array(exps, dtype=np.int64)[:, None]
        key = _Key(CERTAIN, column, seen.values if any(exps) else np.zeros_like(seen.values), len(self._certain))
        self._certain[exps, seen.content] = key
        return key

    def _key(self, cases: Cases, exps: tuple[int, ...], seen: Seen) -> _Key:
        """Cases of equal exponentials and values are one; the same for rows that differ in names alone."""
        signature = exps, seen.content, cases.content
        known = self._merged.known.get(signature)
        if known is None:
            table = np.array(exps, dtype=np.int64).reshape(-1, len(seen.keys))
            values = np.where(table.any(axis=0), seen.values, seen.values.dtype.type(0))
            fewer, both = merged(self._network, cases, np.vstack([table, values]))
            number = np.array(-1 - len(self._merged.known))
            self._merged.keep(signature, fewer, cases.variables, (both[: len(table)], both[len(table) :], number))
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
            for key in set(row.numbers[self.number].keys):
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
            basis, case_of = self._network.join([query_cases, *varying], most=self._most(query_cases, keys, columns))
        except TooManyCases:
            return self._folded(query_cases, order, keys, columns)
        combined = np.vstack(case_of)
        first, labels = distinct(combined)
        head, nothing = self._combined(order[combined[0, first]], iter(combined[1:, first]), keys, columns)
        cases, order = self._network.cases(basis, labels)
        return cases, head[:, order], nothing[order]

    def _most(self, query_cases: Cases, keys: list[_Key], columns: int) -> int:
        """A sum of few columns to which every row adds with a certain weight is folded before its table is large."""
        certain = query_cases.constant and all((key.exps == key.exps[:, :1]).all() for key in keys)
        return FOLDED_AT_ONCE if certain and columns <= FEW_COLUMNS else MOST_ASSIGNMENTS

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


def _places(rows: list[SymbolicRow]) -> Iterator[tuple[SymbolicRow, slice]]:
    """Where the cases of each row stand among those of all."""
    first = 0
    for row in rows:
        last = first + row.cases.count
        yield row, slice(first, last)
        first = last
