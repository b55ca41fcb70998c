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
from unmask.engines.visible_keys import MOST_BITS, CodeIndex, Places, ValueRange, find_bits, prove_code, score_prefix
from unmask.numerics.compact import Compact
from unmask.verification.words.network import (
    CERTAIN,
    MOST_ASSIGNMENTS,
    Cases,
    Network,
    ResultCache,
    TooManyCases,
    column_bytes,
    distinct_columns,
    pattern_of,
)
from unmask.weights.transformer import Head


@dataclass(eq=False)
class SymbolicRow:
    """A row of the residual stream: vectors [columns, cases], and what each head has computed from it."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, "HeadNumbers"] = field(default_factory=dict)
    """number of a head → the numbers of the row's queries and keys"""
    effective_queries: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """number of a head → (epoch of its scores, effective queries of the row)"""
    head_inputs: dict[tuple[int, int], "HeadInput"] = field(default_factory=dict)
    """(number of a head, id of its live columns) → what the head reads from the row"""
    logits: np.ndarray | None = None
    cut_row: "SymbolicRow | None" = None
    """The same row, with cases of a single variable."""


class HeadNumbers(NamedTuple):
    """The numbers of a row's query and key for one head, in each case."""

    queries: list[int]
    keys: list[int]


@dataclass(frozen=True, eq=False)
class HeadInput:
    """What a head reads from a row: values of its live columns [columns, cases], their bytes, the key numbers."""

    values: np.ndarray
    content: bytes
    keys: list[int]


def stacked(rows: list[SymbolicRow]) -> np.ndarray:
    """Return the vectors of all rows in one array."""
    return np.concatenate([row.vectors for row in rows], axis=1)


def merge_equal_columns(network: Network, cases: Cases, columns: np.ndarray) -> tuple[Cases, np.ndarray]:
    """Return (cases, columns), with cases of equal columns merged."""
    first, labels = distinct_columns(columns)
    if first.size == cases.count:
        return cases, columns
    if first.size == 1:
        return CERTAIN, columns[:, :1]
    fewer, order = network.cases(cases.variables, labels[cases.index])
    return fewer, columns[:, first][:, order]


PAIRS_AT_ONCE = 1 << 20
FEW_PAIRS = 1 << 13  # up to here, computing all pairs is faster than excluding some by proof

WeightedKeys = tuple[np.ndarray, np.ndarray]
"""(numbers of keys, their exponentials)"""

NOTHING: WeightedKeys = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

Codes = tuple[np.ndarray, np.ndarray]
"""(codes, whether each is regular) of queries or of keys."""


@dataclass(eq=False)
class _Numbered:
    """Distinct columns of one type and size, numbered in the order in which they are added."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    empty: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, columns: np.ndarray) -> list[int]:
        """Return the number of each column of an array [entries, columns]."""
        self.empty = columns[:, :0]
        numbers = self.numbers
        return [numbers.setdefault(content, len(numbers)) for content in column_bytes(columns)]

    def array(self) -> np.ndarray:
        """Return all columns so far, [entries, columns]."""
        flat = np.frombuffer(b"".join(self.numbers), dtype=self.empty.dtype)
        return np.ascontiguousarray(flat.reshape(len(self), len(self.empty)).T)


class KeyScores:
    """The scores of one head. Queries that no key distinguishes form one effective query.

    The numbers of effective queries are valid as long as `epoch` does not change.
    """

    def __init__(self, score_rows: Places, compact: Compact) -> None:
        """`score_rows`: the rows of Q and of K whose products are added to a score."""
        self._score_rows, self._compact = score_rows, compact
        self._queries, self._keys, self._effective = _Numbered(), _Numbered(), _Numbered()
        self._range: ValueRange | None = None
        self._scored = (0, 0)  # the number of effective queries and of keys that were scored
        self._effective_query_of: list[int] = []  # query → effective query
        self._representative: list[int] = []
        self._visible: list[list[WeightedKeys]] = []
        self._weights: dict[int, dict[int, int]] = {}
        self.epoch = 0

    def keys(self, K: np.ndarray) -> list[int]:
        """Return the number of each key."""
        before = len(self._keys)
        numbers = self._keys.number(K)
        if len(self._keys) > before:
            new = ValueRange.of(K)
            if self._range is None or not self._range.covers(new):
                self._range = new if self._range is None else self._range.union(new)
                self._restart()
        return numbers

    def queries(self, Q: np.ndarray) -> list[int]:
        """Return the number of each query."""
        return self._queries.number(Q)

    def effective_queries(self, queries: Sequence[int]) -> list[int]:
        """Return the effective query of each query, with respect to all keys so far."""
        if len(self._effective_query_of) < len(self._queries):
            self._number_effective_queries()
        return [self._effective_query_of[query] for query in queries]

    def _number_effective_queries(self) -> None:
        """Assign effective queries to new queries, by the part of their columns that can change a score."""
        assert self._range is not None
        first = len(self._effective_query_of)
        Q = self._queries.array()[:, first:]
        since, score = score_prefix(Q, self._score_rows, self._range, self._compact)
        columns = np.where(np.arange(self._score_rows[0].size)[:, None] >= since, Q[self._score_rows[0]], 0)
        self._effective_query_of += self._effective.number(np.vstack([since, score, columns]))
        for query, number in enumerate(self._effective_query_of[first:], first):
            if number == len(self._representative):
                self._representative.append(query)
                self._visible.append([])

    def visible_keys(self, query: int) -> WeightedKeys:
        """Return the keys that an effective query has weight on, sorted by number."""
        if self._scored != (len(self._representative), len(self._keys)):
            self._score()
        blocks = self._visible[query]
        if len(blocks) > 1:  # new keys have larger numbers
            keys, exps = (np.concatenate(block) for block in zip(*blocks, strict=True))
            self._visible[query] = blocks = [(keys, exps)]
        return blocks[0] if blocks else NOTHING

    def weights(self, query: int) -> dict[int, int]:
        """Return `visible_keys` as a dictionary."""
        keys, exps = self.visible_keys(query)
        weight_of_key = self._weights.setdefault(query, {})
        if len(weight_of_key) < keys.size:  # new keys have larger numbers
            new = slice(len(weight_of_key), None)
            weight_of_key.update(zip(keys[new].tolist(), exps[new].tolist(), strict=True))
        return weight_of_key

    def _restart(self) -> None:
        self._effective, self._effective_query_of = _Numbered(), []
        self._representative, self._visible, self._weights = [], [], {}
        self._scored = (0, 0)
        self.epoch += 1

    def _score(self) -> None:
        """Score every new query with every key, and every old query with every new key."""
        queries, keys = self._scored
        Q, K = self._queries.array()[:, self._representative], self._keys.array()
        old, new = np.arange(queries), np.arange(queries, len(Q.T))
        for some_queries, some_keys in ((new, np.arange(len(K.T))), (old, np.arange(keys, len(K.T)))):
            if some_queries.size and some_keys.size:
                self._score_pairs(Q, K, some_queries, some_keys)
        self._scored = len(Q.T), len(K.T)

    def _score_pairs(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, keys: np.ndarray) -> None:
        """Score these queries with these keys, given by their numbers."""
        if queries.size * keys.size <= FEW_PAIRS:
            self._record_visible(Q, K, queries, [keys] * queries.size)
            return
        of_queries, of_keys = self._codes(Q, K)
        candidates = _candidates((of_queries[0][queries], of_queries[1][queries]), (of_keys[0][keys], of_keys[1][keys]))
        for first, last in _runs([indices.size for indices in candidates], PAIRS_AT_ONCE):
            self._record_visible(Q, K, queries[first:last], [keys[indices] for indices in candidates[first:last]])

    def _codes(self, Q: np.ndarray, K: np.ndarray) -> tuple[Codes, Codes]:
        """Return the codes of queries and of keys; if nothing could be proved, no query is regular."""
        assert self._range is not None
        bits = find_bits(Q, K, self._score_rows)
        code = prove_code(bits, self._score_rows, (ValueRange.of(Q), self._range), self._compact, Q, MOST_BITS)
        of_queries = code.of_queries(Q)
        if not code.deciding.size:
            of_queries[1][:] = False
        return of_queries, code.of_keys(K)

    def _record_visible(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, candidates: list[np.ndarray]) -> None:
        """Score each query with its candidates, and record the keys that it has weight on."""
        query_index = np.repeat(np.arange(queries.size), [keys.size for keys in candidates])
        key_numbers = np.concatenate(candidates)
        exps = self._exps(Q, K, queries[query_index], key_numbers)
        visible = np.flatnonzero(exps)
        visible = visible[np.lexsort((key_numbers[visible], query_index[visible]))]
        query_index, key_numbers, exps = query_index[visible], key_numbers[visible], exps[visible]
        edges = np.searchsorted(query_index, np.arange(queries.size + 1)).tolist()
        for query, first, last in zip(queries.tolist(), edges, edges[1:], strict=False):
            if last > first:
                self._visible[query].append((key_numbers[first:last], exps[first:last]))

    def _exps(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        compact = self._compact
        scores = np.zeros(queries.size, dtype=compact.wide)
        for query, key in zip(*self._score_rows, strict=True):
            scores = compact.add(scores, compact.multiply(Q[query].take(queries), K[key].take(keys)))
        return compact.exps[scores + compact.bound].astype(np.int64)


def _candidates(queries: Codes, keys: Codes) -> list[np.ndarray]:
    """Return, for each query, the indices of the keys that it may have weight on.

    These are the keys of the query's code and the irregular ones; for an irregular query, all keys.
    """
    coded, irregular = np.flatnonzero(keys[1]), np.flatnonzero(~keys[1])
    index = CodeIndex(keys[0][coded], coded, 1 << 62)
    start, count = index.find(queries[0])
    return [
        np.concatenate([index.rows[s : s + c], irregular]) if regular else np.arange(keys[0].size)
        for s, c, regular in zip(start.tolist(), count.tolist(), queries[1].tolist(), strict=True)
    ]


def _runs(sizes: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield runs [first, last) whose sizes sum to at most `most`; a single larger element is a run of its own."""
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
JOINED_AT_ONCE = 1 << 14  # above this, a switch by the query is tried first


Reading = list[list[int] | None]
"""Per head, the rows that matter to a row; None if the head does not matter."""


HeadSum = tuple[Cases, np.ndarray, np.ndarray]
"""(cases, output of the head [columns, cases], whether Z = 0 in each case)"""


class _Key(NamedTuple):
    """A row as a head sees it: in each case the exponential under each query, [queries, cases], and its value."""

    cases: Cases
    exps: np.ndarray
    values: np.ndarray
    number: int  # equal for keys with equal exponentials and values, even if their variables differ

    def for_weights(self) -> "_Key":
        """Return the key for sums of exponentials: with a single case if these are equal in all cases."""
        if self.cases.constant or (self.exps != self.exps[:, :1]).any():
            return self
        return _Key(CERTAIN, self.exps[:, :1], self.values[:, :1], self.number)


class SymbolicHead:
    """One head of one layer; it writes to `columns` of the residual stream."""

    def __init__(self, head: Head, score_rows: Places, compact: Compact, network: Network, number: int) -> None:
        self._value = SparseProduct(head.wv, compact)
        self._compact, self._network, self.number = compact, network, number
        self.scores = KeyScores(score_rows, compact)
        self.columns = self._value.columns
        self._sums, self._merged = ResultCache(), ResultCache()
        self._certain_keys: dict[tuple[tuple[int, ...], bytes], _Key] = {}
        self._branches: dict[tuple, tuple[HeadSum | None, object]] = {}

    def number_rows(self, rows: list[SymbolicRow], Q: np.ndarray, K: np.ndarray) -> None:
        """Number the queries and keys of rows; Q and K have the columns of all rows, one row after the other."""
        queries, keys = self.scores.queries(Q), self.scores.keys(K)
        for row, columns in case_ranges(rows):
            row.numbers[self.number] = HeadNumbers(queries[columns], keys[columns])

    def read_values(self, rows: list[SymbolicRow], live: np.ndarray) -> None:
        """Compute the values that the head reads in its live columns, for all rows at once."""
        key = self.number, id(live)
        new_rows = [row for row in rows if key not in row.head_inputs]
        if new_rows:
            vectors = stacked(new_rows)
            values = self._value(vectors, slice(0, vectors.shape[1]))[live]
            for row, columns in case_ranges(new_rows):
                row_values = np.ascontiguousarray(values[:, columns])
                row.head_inputs[key] = HeadInput(row_values, row_values.tobytes(), row.numbers[self.number].keys)

    def queries(self, row: SymbolicRow) -> list[int]:
        """Return the effective query of the row in each case."""
        return self.scores.effective_queries(row.numbers[self.number].queries)

    def effective_queries(self, row: SymbolicRow) -> tuple[int, ...]:
        """Return all effective queries of a row, in order."""
        cached = row.effective_queries.get(self.number)
        if cached is None or cached[0] != self.scores.epoch:
            cached = row.effective_queries[self.number] = self.scores.epoch, tuple(sorted(set(self.queries(row))))
        return cached[1]

    def keys(self, rows: list[SymbolicRow], queries: tuple[int, ...], live: np.ndarray) -> list[_Key]:
        """Return the rows as these queries see them; cases that they cannot distinguish are merged."""
        input_key = self.number, id(live)
        self.read_values(rows, live)
        weights = [self.scores.weights(query) for query in queries]
        keys = []
        for row in rows:
            head_input = row.head_inputs[input_key]
            exps = tuple([weight_of_key.get(key, 0) for weight_of_key in weights for key in head_input.keys])
            if row.cases.constant:
                keys.append(self._certain_keys.get((exps, head_input.content)) or self._certain_key(exps, head_input))
            else:
                keys.append(self._key(row.cases, exps, head_input))
        return keys

    def _certain_key(self, exps: tuple[int, ...], head_input: HeadInput) -> _Key:
        column = np.array(exps, dtype=np.int64)[:, None]
        values = head_input.values if any(exps) else np.zeros_like(head_input.values)
        key = _Key(CERTAIN, column, values, len(self._certain_keys))
        self._certain_keys[exps, head_input.content] = key
        return key

    def _key(self, cases: Cases, exps: tuple[int, ...], head_input: HeadInput) -> _Key:
        """Merge cases of equal exponentials and values; computed once for rows that differ only in their variables."""
        signature = exps, head_input.content, cases.content
        cached = self._merged.entries.get(signature)
        if cached is None:
            table = np.array(exps, dtype=np.int64).reshape(-1, len(head_input.keys))
            values = np.where(table.any(axis=0), head_input.values, head_input.values.dtype.type(0))
            fewer, columns = merge_equal_columns(self._network, cases, np.vstack([table, values]))
            number = np.array(-1 - len(self._merged.entries))
            exps_and_values = columns[: len(table)], columns[len(table) :]
            self._merged.store(signature, fewer, cases.variables, (*exps_and_values, number))
            cached = self._merged.entries[signature]
        return _Key(cached.over(cases.variables), *cached.results[:2], int(cached.results[2]))

    def output(self, row: SymbolicRow, read_rows: list[SymbolicRow], live: np.ndarray) -> HeadSum:
        """Return the head's output in a row that reads these rows, in order.

        `live`: the indices of those entries of `columns` that are needed.
        """
        queries = self.effective_queries(row)
        if len(queries) == 1:
            return self._sum_of_rows(CERTAIN, np.zeros(1, dtype=np.int64), queries, read_rows, live)
        query_index = np.searchsorted(queries, self.queries(row))
        query_cases, order = self._network.cases(row.cases.variables, query_index[row.cases.index])
        if self._has_many_combinations([row.cases, *(other.cases for other in read_rows)]):
            chosen = self._switched(query_cases, [queries[q] for q in order.tolist()], read_rows, live)
            return chosen or self._sum_of_rows(query_cases, order, queries, read_rows, live)
        result = self._sum_of_rows(query_cases, order, queries, read_rows, live)
        if self._network.disjoint(result[0].variables):
            return result
        # a table of variables that share letters is less precise than a switch
        return self._switched(query_cases, [queries[q] for q in order.tolist()], read_rows, live) or result

    def _sum_of_rows(
        self, query_cases: Cases, order: np.ndarray, queries: tuple[int, ...], rows: list[SymbolicRow], live: np.ndarray
    ) -> HeadSum:
        """Sum over all combinations of the query and the rows; once for rows that differ only in their variables."""
        keys = self.keys(rows, queries, live)
        pattern = pattern_of(self._network, [query_cases, *(key.cases for key in keys)])
        if pattern is None:
            return self._sum_of_keys(query_cases, order, keys, live.size)
        signature = pattern[1], order.tobytes(), live.size, len(queries), *(key.number for key in keys)
        cached = self._sums.entries.get(signature)
        if cached is None:
            cases, head, without_key = self._sum_of_keys(query_cases, order, keys, live.size)
            self._sums.store(signature, cases, pattern[0], (head, without_key))
            return cases, head, without_key
        head, without_key = cached.results
        return cached.over(pattern[0]), head, without_key

    def _has_many_combinations(self, parts: list[Cases]) -> bool:
        """Return whether these cases have too many combinations to enumerate."""
        variables = {v for part in parts for v in part.variables}
        return self._network.assignments(variables, JOINED_AT_ONCE) > JOINED_AT_ONCE

    def _switched(
        self, query_cases: Cases, queries: list[int], rows: list[SymbolicRow], live: np.ndarray
    ) -> HeadSum | None:
        """Return a switch: for each query, the sum over the rows that it has weight on.

        None if one of these sums has too many combinations as well.
        """
        rows_of_key: dict[int, list[int]] = {}
        for i, row in enumerate(rows):
            for key in set(row.numbers[self.number].keys):
                rows_of_key.setdefault(key, []).append(i)
        branches = []
        for query in queries:
            weighted_keys = set(self.scores.visible_keys(query)[0].tolist()) & rows_of_key.keys()
            read_rows = [rows[i] for i in sorted({i for key in weighted_keys for i in rows_of_key[key]})]
            branch = self._branch(query, read_rows, live) if len(read_rows) < len(rows) else None
            if branch is None:
                return None
            branches.append(branch)
        outputs = [np.vstack([head, without_key[None].astype(head.dtype)]) for _, head, without_key in branches]
        columns = np.hstack(outputs)
        first, labels = distinct_columns(columns)
        if first.size == 1:
            return CERTAIN, columns[:-1, first], columns[-1, first].astype(bool)
        ends = np.cumsum([output.shape[1] for output in outputs])
        tables = [
            Cases(cases.variables, labels[end - output.shape[1] : end].astype(np.int32)[cases.index], first.size)
            for (cases, _, _), output, end in zip(branches, outputs, ends.tolist(), strict=True)
        ]
        chosen = self._network.switch(query_cases, tables, first.size)
        return chosen, columns[:-1, first], columns[-1, first].astype(bool)

    def _branch(self, query: int, rows: list[SymbolicRow], live: np.ndarray) -> HeadSum | None:
        """Return the sum of one query, or None if it is large; cached, because many rows share a query and its rows."""
        key = self.scores.epoch, query, id(live), tuple(map(id, rows))
        if key not in self._branches:
            keys = self.keys(rows, (query,), live)
            too_many = self._has_many_combinations([key.cases for key in keys])
            result = None if too_many else self._sum_of_keys(CERTAIN, np.zeros(1, dtype=np.int64), keys, live.size)
            self._branches[key] = result, (live, rows)  # referenced, so that their ids stay unique
        return self._branches[key][0]

    def _sum_of_keys(self, query_cases: Cases, order: np.ndarray, keys: list[_Key], columns: int) -> HeadSum:
        varying = [key.cases for key in keys if not key.cases.constant]
        if not varying and query_cases.constant:
            query = order[0]
            head, without_key = self._sum([key.exps[query] for key in keys], [key.values for key in keys], 1, columns)
            return CERTAIN, head, without_key
        try:
            most = self._most_assignments(query_cases, keys, columns)
            basis, case_of = self._network.join([query_cases, *varying], most=most)
        except TooManyCases:
            return self._sum_by_key(query_cases, order, keys, columns)
        combined = np.vstack(case_of)
        first, labels = distinct_columns(combined)
        head, without_key = self._sum_of_combinations(
            order[combined[0, first]], iter(combined[1:, first]), keys, columns
        )
        cases, order = self._network.cases(basis, labels)
        return cases, head[:, order], without_key[order]

    def _most_assignments(self, query_cases: Cases, keys: list[_Key], columns: int) -> int:
        """Return the largest join for a sum; smaller for few columns and constant weights, where folding is cheap."""
        certain = query_cases.constant and all((key.exps == key.exps[:, :1]).all() for key in keys)
        return FOLDED_AT_ONCE if certain and columns <= FEW_COLUMNS else MOST_ASSIGNMENTS

    def _sum_of_combinations(
        self, query: np.ndarray, labels: Iterator[np.ndarray], keys: list[_Key], columns: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one sum per combination of a query and the cases of the keys that are not constant, in order."""
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

    def _sum_by_key(self, query_cases: Cases, order: np.ndarray, keys: list[_Key], columns: int) -> HeadSum:
        """Compute `_sum_of_keys` key by key: first (query, Z so far), then (query, Z, sum so far)."""
        compact = self._compact
        state, payload = query_cases, np.vstack([order, np.zeros(order.size, dtype=np.int64)])
        for key in map(_Key.for_weights, keys):

            def add(old: np.ndarray, label: np.ndarray, key: _Key = key) -> np.ndarray:
                return np.vstack([old[0], np.minimum(old[1] + key.exps[old[0], label], compact.bound)])

            state, payload = self._fold_step(state, payload, key, add)
        payload = np.vstack([payload, np.zeros((columns, payload.shape[1]), dtype=np.int64)])
        for key in keys if columns else ():

            def weigh(old: np.ndarray, label: np.ndarray, key: _Key = key) -> np.ndarray:
                e, Z = key.exps[old[0], label].astype(compact.wide), np.maximum(old[1], 1).astype(compact.wide)
                term = compact.multiply(compact.divide(e, Z), key.values[:, label])
                return np.vstack([old[:2], compact.add(old[2:].astype(compact.wide), term)])

            state, payload = self._fold_step(state, payload, key, weigh)
        return state, payload[2:].astype(compact.narrow), payload[1] == 0

    def _fold_step(self, state: Cases, payload: np.ndarray, key: _Key, step: Callable) -> tuple[Cases, np.ndarray]:
        network = self._network
        if key.cases.constant:
            return merge_equal_columns(network, state, step(payload, np.zeros(payload.shape[1], dtype=np.int64)))
        try:
            basis, (old, label) = network.join([state, key.cases], most=FOLDED_AT_ONCE)
        except TooManyCases:
            basis, (old, label) = network.join([network.cut(state), network.cut(key.cases)])
        new = step(payload[:, old], label)
        first, labels = distinct_columns(new)
        cases, order = network.cases(basis, labels)
        return cases, new[:, first][:, order]


def case_ranges(rows: list[SymbolicRow]) -> Iterator[tuple[SymbolicRow, slice]]:
    """Yield each row with the range of its cases among the cases of all rows."""
    first = 0
    for row in rows:
        last = first + row.cases.count
        yield row, slice(first, last)
        first = last


@dataclass(eq=False)
class HeadView:
    """One head at one layer of a run: which rows have which keys."""

    head: SymbolicHead
    epoch: int
    rows_of_key: dict[int, list[int]]
    keys_of_row: list[set[int]]
    _rows_of_query: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _first_certain_row: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, head: SymbolicHead, rows: list[SymbolicRow]) -> "HeadView":
        """Return the view of all rows before one layer, in order; their queries and keys must be numbered."""
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
        """Return the rows before `visible` that a row can have weight on, in order."""
        queries = self.head.effective_queries(row)
        if len(queries) > 1:
            return sorted({i for query in queries for i in self._rows_weighted_by(query) if i < visible})
        rows = self._rows_weighted_by(queries[0])
        return rows if not rows or rows[-1] < visible else [i for i in rows if i < visible]

    def attends(self, row: SymbolicRow, visible: int) -> bool:
        """Return whether in every case some row before `visible` certainly has weight, so that Z is not 0."""
        return all(self._certain_row(query) < visible for query in self.head.effective_queries(row))

    def _certain_row(self, query: int) -> int:
        """Return the first row on which a query has weight in every case of the row."""
        key = self.head.scores.epoch, query
        if key not in self._first_certain_row:
            visible = set(self.head.scores.visible_keys(query)[0].tolist())
            rows = (i for k in visible for i in self.rows_of_key.get(k, ()) if self.keys_of_row[i] <= visible)
            self._first_certain_row[key] = min(rows, default=len(self.keys_of_row))
        return self._first_certain_row[key]

    def _rows_weighted_by(self, query: int) -> list[int]:
        key = self.head.scores.epoch, query
        if key not in self._rows_of_query:
            keys, _ = self.head.scores.visible_keys(query)
            self._rows_of_query[key] = sorted({i for k in keys.tolist() for i in self.rows_of_key.get(k, ())})
        return self._rows_of_query[key]
