"""One attention head over symbolic rows: its output in all cases of the rows that it reads.

A `SymbolicRow` stores one vector per case. For each query of a row, only the keys with a nonzero exponential matter
(`KeyScores`); the proof of the fast engine (`visible_keys`) excludes most pairs, and the others are computed. Those few
rows are joined, and each combination of their cases is one sum. If there are too many combinations, the row either
selects among the rows by its query (a switch), or the sum is folded, key by key.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unmask.engines.prepared_weights import SparseProduct
from unmask.engines.visible_keys import MOST_BITS, CodeIndex, Places, ValueRange, find_bits, forgotten, prove_code
from unmask.numerics.compact import Compact
from unmask.verification.words.network import (
    CERTAIN,
    MOST_ASSIGNMENTS,
    Cases,
    Network,
    ResultCache,
    TooManyCases,
    contents,
    distinct,
    pattern_of,
)
from unmask.weights.transformer import Head


@dataclass(eq=False)
class SymbolicRow:
    """vectors [columns, cases]: what the row holds in each case; per head, the numbers of its queries and keys."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, "HeadNumbers"] = field(default_factory=dict)
    asks: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    seen_as: dict[tuple[int, int], "HeadInput"] = field(default_factory=dict)
    logits: np.ndarray | None = None
    alone: "SymbolicRow | None" = None  # the same over one variable


class HeadNumbers(NamedTuple):
    """The numbers of a row's queries and keys for one head, case by case."""

    queries: list[int]
    keys: list[int]


@dataclass(frozen=True, eq=False)
class HeadInput:
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


PAIRS_AT_ONCE = 1 << 20
FEW_PAIRS = 1 << 13  # for which computing all pairs is faster than proving something about them

WeightedKeys = tuple[np.ndarray, np.ndarray]
"""(numbers of keys, their exponentials)"""

NOTHING: WeightedKeys = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

Codes = tuple[np.ndarray, np.ndarray]
"""(code, is it regular) of queries or of keys."""


@dataclass(eq=False)
class _Numbered:
    """Distinct columns, numbered as they come; all of one type and size."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    empty: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, columns: np.ndarray) -> list[int]:
        """The number of each column of [entries, columns]."""
        self.empty = columns[:, :0]
        known = self.numbers
        return [known.setdefault(content, len(known)) for content in contents(columns)]

    def array(self) -> np.ndarray:
        """[entries, columns]: all so far."""
        flat = np.frombuffer(b"".join(self.numbers), dtype=self.empty.dtype)
        return np.ascontiguousarray(flat.reshape(len(self), len(self.empty)).T)


class KeyScores:
    """One head. Queries that no key distinguishes are one effective query, numbered while `epoch` stays."""

    def __init__(self, places: Places, compact: Compact) -> None:
        """`places`: the rows of Q and of K that hold each column of a score."""
        self._places, self._compact = places, compact
        self._queries, self._keys, self._effective = _Numbered(), _Numbered(), _Numbered()
        self._range: ValueRange | None = None
        self._scored = (0, 0)  # how many effective queries and keys have met
        self._effective_of: list[int] = []  # per query, what is asked
        self._representative: list[int] = []
        self._seen: list[list[WeightedKeys]] = []
        self._weights: dict[int, dict[int, int]] = {}
        self.epoch = 0

    def keys(self, K: np.ndarray) -> list[int]:
        """The number of each key."""
        before = len(self._keys)
        numbers = self._keys.number(K)
        if len(self._keys) > before:
            new = ValueRange.of(K)
            if self._range is None or not self._range.covers(new):
                self._range = new if self._range is None else self._range.union(new)
                self._restart()
        return numbers

    def queries(self, Q: np.ndarray) -> list[int]:
        """The number of each query."""
        return self._queries.number(Q)

    def asked(self, queries: Sequence[int]) -> list[int]:
        """The effective query of each query, given all keys so far."""
        if len(self._effective_of) < len(self._queries):
            self._take_in_queries()
        return [self._effective_of[query] for query in queries]

    def _take_in_queries(self) -> None:
        """Number queries that are new by what they remember of their columns."""
        assert self._range is not None
        first = len(self._effective_of)
        Q = self._queries.array()[:, first:]
        since, score = forgotten(Q, self._places, self._range, self._compact)
        columns = np.where(np.arange(self._places[0].size)[:, None] >= since, Q[self._places[0]], 0)
        self._effective_of += self._effective.number(np.vstack([since, score, columns]))
        for query, number in enumerate(self._effective_of[first:], first):
            if number == len(self._representative):
                self._representative.append(query)
                self._seen.append([])

    def seen_by(self, asked: int) -> WeightedKeys:
        """The keys that a query has weight on, sorted by number."""
        if self._scored != (len(self._representative), len(self._keys)):
            self._score()
        parts = self._seen[asked]
        if len(parts) > 1:  # keys come later with larger numbers
            keys, exps = (np.concatenate(part) for part in zip(*parts, strict=True))
            self._seen[asked] = parts = [(keys, exps)]
        return parts[0] if parts else NOTHING

    def weights(self, asked: int) -> dict[int, int]:
        """The same as `seen_by`, to look up one key after the other."""
        keys, exps = self.seen_by(asked)
        known = self._weights.setdefault(asked, {})
        if len(known) < keys.size:  # keys come later with larger numbers
            known.update(zip(keys[len(known) :].tolist(), exps[len(known) :].tolist(), strict=True))
        return known

    def _restart(self) -> None:
        self._effective, self._effective_of = _Numbered(), []
        self._representative, self._seen, self._weights = [], [], {}
        self._scored = (0, 0)
        self.epoch += 1

    def _score(self) -> None:
        """Every new query with every key, every old query with every new key."""
        queries, keys = self._scored
        Q, K = self._queries.array()[:, self._representative], self._keys.array()
        old, new = np.arange(queries), np.arange(queries, len(Q.T))
        for some, others in ((new, np.arange(len(K.T))), (old, np.arange(keys, len(K.T)))):
            if some.size and others.size:
                self._meet(Q, K, some, others)
        self._scored = len(Q.T), len(K.T)

    def _meet(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, keys: np.ndarray) -> None:
        """Score some queries with some keys, by their numbers."""
        if queries.size * keys.size <= FEW_PAIRS:
            self._take_in(Q, K, queries, [keys] * queries.size)
            return
        of_queries, of_keys = self._codes(Q, K)
        candidates = _candidates((of_queries[0][queries], of_queries[1][queries]), (of_keys[0][keys], of_keys[1][keys]))
        for first, last in _runs([some.size for some in candidates], PAIRS_AT_ONCE):
            self._take_in(Q, K, queries[first:last], [keys[some] for some in candidates[first:last]])

    def _codes(self, Q: np.ndarray, K: np.ndarray) -> tuple[Codes, Codes]:
        """Of queries and of keys; where nothing is proved, no query is regular."""
        assert self._range is not None
        bits = find_bits(Q, K, self._places)
        code = prove_code(bits, self._places, (ValueRange.of(Q), self._range), self._compact, Q, MOST_BITS)
        of_queries = code.of_queries(Q)
        if not code.deciding.size:
            of_queries[1][:] = False
        return of_queries, code.of_keys(K)

    def _take_in(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, candidates: list[np.ndarray]) -> None:
        """Score each query with its candidates, and keep what it has weight on."""
        which = np.repeat(np.arange(queries.size), [some.size for some in candidates])
        met = np.concatenate(candidates)
        exps = self._exps(Q, K, queries[which], met)
        seen = np.flatnonzero(exps)
        seen = seen[np.lexsort((met[seen], which[seen]))]
        which, met, exps = which[seen], met[seen], exps[seen]
        edges = np.searchsorted(which, np.arange(queries.size + 1)).tolist()
        for query, first, last in zip(queries.tolist(), edges, edges[1:], strict=False):
            if last > first:
                self._seen[query].append((met[first:last], exps[first:last]))

    def _exps(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        compact = self._compact
        scores = np.zeros(queries.size, dtype=compact.wide)
        for query, key in zip(*self._places, strict=True):
            scores = compact.add(scores, compact.multiply(Q[query].take(queries), K[key].take(keys)))
        return compact.exps[scores + compact.bound].astype(np.int64)


def _candidates(queries: Codes, keys: Codes) -> list[np.ndarray]:
    """Per query, the places of the keys that it may have weight on: of its code, or irregular; else all of them."""
    coded, irregular = np.flatnonzero(keys[1]), np.flatnonzero(~keys[1])
    index = CodeIndex(keys[0][coded], coded, 1 << 62)
    start, count = index.find(queries[0])
    return [
        np.concatenate([index.rows[s : s + c], irregular]) if regular else np.arange(keys[0].size)
        for s, c, regular in zip(start.tolist(), count.tolist(), queries[1].tolist(), strict=True)
    ]


def _runs(sizes: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Runs [first, last) whose sizes sum to at most `most`, or of one that is larger."""
    first, total = 0, 0
    for last, size in enumerate(sizes):
        if total and total + size > most:
            yield first, last
            first, total = last, 0
        total += size
    if sizes:
        yield first, len(sizes)


FOLDED_AT_ONCE = 1 << 12
FEW_COLUMNS = 2
JOINED_AT_ONCE = 1 << 14  # more assignments than this only where the query does not choose


Reading = list[list[int] | None]
"""Per head, the rows that matter to a row; None if the head does not matter."""


class _Key(NamedTuple):
    """A row as a head sees it: per label the exponential under each query, [queries, labels], and its value."""

    cases: Cases
    exps: np.ndarray
    values: np.ndarray
    number: int  # of equal exponentials and values, up to names

    def for_weights(self) -> "_Key":
        """The same key for sums of exponentials: one case if these are equal in all cases."""
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
        self._sums, self._merged = ResultCache(), ResultCache()
        self._certain: dict[tuple[tuple[int, ...], bytes], _Key] = {}
        self._branches: dict[tuple, tuple[tuple[Cases, np.ndarray, np.ndarray] | None, object]] = {}

    def take_in(self, rows: list[SymbolicRow], Q: np.ndarray, K: np.ndarray) -> None:
        """Number the queries and keys of rows, which are one after the other."""
        queries, keys = self.scores.queries(Q), self.scores.keys(K)
        for row, part in _places(rows):
            row.numbers[self.number] = HeadNumbers(queries[part], keys[part])

    def see_all(self, rows: list[SymbolicRow], live: np.ndarray) -> None:
        """Take from rows what the head reads for its live columns, all at once."""
        place = self.number, id(live)
        fresh = [row for row in rows if place not in row.seen_as]
        if fresh:
            vectors = stacked(fresh)
            values = self._value(vectors, slice(0, vectors.shape[1]))[live]
            for row, part in _places(fresh):
                own = np.ascontiguousarray(values[:, part])
                row.seen_as[place] = HeadInput(own, own.tobytes(), row.numbers[self.number].keys)

    def queries(self, row: SymbolicRow) -> list[int]:
        """The query of the row in each case."""
        return self.scores.asked(row.numbers[self.number].queries)

    def asked(self, row: SymbolicRow) -> tuple[int, ...]:
        """All effective queries of a row, in order."""
        known = row.asks.get(self.number)
        if known is None or known[0] != self.scores.epoch:
            known = row.asks[self.number] = self.scores.epoch, tuple(sorted(set(self.queries(row))))
        return known[1]

    def keys(self, rows: list[SymbolicRow], queries: tuple[int, ...], live: np.ndarray) -> list[_Key]:
        """Rows as these queries see them; cases that they cannot distinguish are merged."""
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

    def _certain_key(self, exps: tuple[int, ...], seen: HeadInput) -> _Key:
        column = np.array(exps, dtype=np.int64)[:, None]
        key = _Key(CERTAIN, column, seen.values if any(exps) else np.zeros_like(seen.values), len(self._certain))
        self._certain[exps, seen.content] = key
        return key

    def _key(self, cases: Cases, exps: tuple[int, ...], seen: HeadInput) -> _Key:
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
        # a table of variables that share letters is less precise than a choice among them
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
        """Return whether these cases have too many combinations to enumerate."""
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
        """The sum of one query, None if it is large; kept, because many rows share the query and what it reads."""
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
    """Where the cases of each row are among those of all."""
    first = 0
    for row in rows:
        last = first + row.cases.count
        yield row, slice(first, last)
        first = last


@dataclass(eq=False)
class HeadView:
    """One head at one place of a run: which rows hold which keys."""

    head: SymbolicHead
    epoch: int
    rows_of_key: dict[int, list[int]]
    keys_of_row: list[set[int]]
    _known: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _sure: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, head: SymbolicHead, rows: list[SymbolicRow]) -> "HeadView":
        """All rows before one layer, in order; their queries and keys have numbers."""
        rows_of_key: dict[int, list[int]] = {}
        keys_of_row: list[set[int]] = []
        for i, row in enumerate(rows):
            keys_of_row.append(set(row.numbers[head.number].keys))
            for key in keys_of_row[-1]:
                rows_of_key.setdefault(key, []).append(i)
        return cls(head, head.scores.epoch, rows_of_key, keys_of_row)

    def unchanged(self, rows: list[SymbolicRow], changed: set[int]) -> bool:
        """Return whether the changed rows have the same keys as before, and all queries the same numbers."""
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
