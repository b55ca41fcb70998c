"""Symbolic rows: a transformer over all words at once, row by row and case by case.

A row of the residual stream is a finite set of vectors, with `Cases` that say which one holds. A layer takes every
case through the very integers of the engine:

    head    for each query of the row, only the keys that it can have weight on (`key_scores`); these few rows are
            joined, and each combination is one sum. Too many combinations: the sum is folded key by key
    MLP     case by case
    merge   cases with equal vectors are one; columns that nothing reads any more are left out (`liveness`)

Scores are needed at every row, for a row that attends to nothing is an error; what else a row holds is computed
only when a logit depends on it.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from unmask.engines.prepared import PreparedHead, PreparedMlp
from unmask.numerics.arithmetic import weighted
from unmask.numerics.compact import Compact
from unmask.verification.key_scores import KeyScores
from unmask.verification.liveness import Live, live_for_all, live_for_scores
from unmask.verification.network import Cases, Network, TooManyCases
from unmask.weights.transformer import Transformer

FOLDED_AT_ONCE = 1 << 12


@dataclass(eq=False)
class Row:
    """vectors [columns, cases]: what the row holds in each case; per head, the numbers of its queries and keys."""

    cases: Cases
    vectors: np.ndarray
    numbers: dict[int, tuple[int, np.ndarray, np.ndarray]] = field(default_factory=dict)
    values: dict[int, np.ndarray] = field(default_factory=dict)
    logits: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Nothing:
    """In some cases a row attends to nothing: labels 1 in `cases`."""

    cases: Cases
    labels: np.ndarray
    layer: int
    head: int
    row: int


@dataclass(frozen=True, eq=False)
class _Key:
    """A row as a head sees it: per label the exponential under each query, [queries, labels], and its value."""

    cases: Cases
    exps: np.ndarray
    values: np.ndarray


class SymbolicHead:
    """One head of one layer; `columns` of the residual stream are what it writes."""

    def __init__(self, head, compact: Compact, width: int, network: Network, number: int) -> None:
        self._prepared = PreparedHead(head, compact, np.arange(width))
        self._compact, self._network, self.number = compact, network, number
        self.scores = KeyScores(self._prepared, compact)
        self.columns = self._prepared.value.columns

    def meet(self, rows: list[Row]) -> "Meeting":
        """Number the queries and keys of all rows of one layer, in order."""
        self.number_all(rows)
        rows_of_key: dict[int, list[int]] = {}
        for i, row in enumerate(rows):
            for key in np.unique(row.numbers[self.number][2]).tolist():
                rows_of_key.setdefault(key, []).append(i)
        return Meeting(self, rows_of_key)

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
        both = np.vstack([exps, values])
        distinct, labels = _distinct(both)
        both = both[:, distinct]
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
        try:
            basis, chosen = self._network.join([query_cases, *(key.cases for key in varying)])
        except TooManyCases:
            return self._folded(query_cases, order, keys, live.size)
        combined = np.vstack(chosen)
        distinct, labels = _distinct(combined)
        combined = combined[:, distinct]
        place = iter(range(1, len(chosen)))
        query = order[combined[0]]
        exps, values = [], []
        for key in keys:
            label = np.zeros(query.size, dtype=np.int64) if key.cases.constant else combined[next(place)]
            exps.append(key.exps[query, label])
            values.append(key.values[:, label])
        head, nothing = self._sum(exps, values, query.size, live.size)
        cases, first = self._network.cases(basis, labels)
        return cases, head[:, first], nothing[first]

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
            distinct, labels = _distinct(new)
            cases, first = network.cases(state.variables, labels[state.index])
            return cases, new[:, distinct][:, first]
        try:
            basis, (old, label) = network.join([state, key.cases], most=FOLDED_AT_ONCE)
        except TooManyCases:
            basis, (old, label) = network.join([network.cut(state), network.cut(key.cases)])
        new = step(payload[:, old], label)
        distinct, labels = _distinct(new)
        cases, first = network.cases(basis, labels)
        return cases, new[:, distinct][:, first]


@dataclass(eq=False)
class Meeting:
    """One head at one place of a run: which rows hold which keys."""

    head: SymbolicHead
    rows_of_key: dict[int, list[int]]
    _known: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def reads(self, row: Row, visible: int) -> list[int]:
        """The rows before `visible` that a row can have weight on, in order."""
        queries = np.unique(self.head.queries(row)).tolist()
        if len(queries) == 1:
            return [i for i in self._of_query(queries[0]) if i < visible]
        return sorted({i for query in queries for i in self._of_query(query) if i < visible})

    def _of_query(self, query: int) -> list[int]:
        key = self.head.scores.epoch, query
        if key not in self._known:
            keys, _ = self.head.scores.seen_by(query)
            self._known[key] = sorted({i for k in keys.tolist() for i in self.rows_of_key.get(k, ())})
        return self._known[key]


@dataclass(eq=False)
class _Memory:
    """What was computed for a row, and from which rows; their objects are kept so that their identity is."""

    sources: tuple[Row, ...]
    result: Row


class SymbolicTransformer:
    """Layers over symbolic rows."""

    def __init__(self, transformer: Transformer, network: Network) -> None:
        self.transformer, self._network = transformer, network
        self.compact = Compact(transformer.precision)
        width = transformer.width
        self.live: dict[bool, Live] = {False: live_for_scores(transformer), True: live_for_all(transformer)}
        self.heads, number = [], 0
        for layer in transformer.layers:
            self.heads.append([])
            for head in layer.heads:
                self.heads[-1].append(SymbolicHead(head, self.compact, width, network, number))
                number += 1
        self._mlps = [PreparedMlp(layer.mlp, self.compact, np.arange(width)) for layer in transformer.layers]
        self._memory: dict[tuple[bool, int, int], list[_Memory]] = {}
        self._embedded: dict[tuple[int, bool, int, bytes], tuple[Cases, Row]] = {}
        self._symbols = transformer.embed.take(np.arange(transformer.embed.shape[0]))
        self._out = list(transformer.out.transposed().rows())
        self.causal = transformer.attention == "causal"

    def embed(self, place: int, cases: Cases, tokens: np.ndarray, *, full: bool) -> Row:
        """H⁰ of one row whose token in each case is given."""
        key = place, full, id(cases), tokens.tobytes()
        if key not in self._embedded:
            vectors = self.compact.add(
                self._symbols[tokens].T, self.transformer.positions[place].astype(np.int64)[:, None]
            ).astype(self.compact.narrow)
            self._embedded[key] = cases, self._row(cases, vectors, self.live[full].before[0])
        return self._embedded[key][1]

    def meet(self, i: int, rows: list[Row]) -> list[Meeting]:
        """All rows before layer i, as its heads see them."""
        return [head.meet(rows) for head in self.heads[i]]

    def number(self, i: int, rows: list[Row]) -> None:
        """Prepare rows before layer i for its heads: one call for all is cheaper than one for each."""
        for head in self.heads[i]:
            head.number_all(rows)

    def reads(self, i: int, place: int, own: Row, meetings: list[Meeting], *, full: bool) -> list[list[int]]:
        """Per head of layer i, the rows that matter to a row; a head that writes nothing alive matters for its Z."""
        visible = place + 1 if self.causal else len(self.transformer.positions)
        within = self.live[full].within[i]
        return [
            meeting.reads(own, visible) if not full or within[meeting.head.columns].any() else []
            for meeting in meetings
        ]

    def layer(self, i: int, place: int, own: Row, read: list[list[Row]], *, full: bool, found: list[Nothing]) -> Row:
        """The row after layer i, given the rows that its heads read; `found` receives what attends to nothing."""
        sources = (own, *(row for rows in read for row in rows))
        kept = self._memory.setdefault((full, i, place), [])
        for memory in kept:
            if len(memory.sources) == len(sources) and all(map(operator.is_, memory.sources, sources)):
                return memory.result
        within, after = self.live[full].within[i], self.live[full].before[i + 1]
        parts, outputs = [own.cases], []
        for h, (head, rows) in enumerate(zip(self.heads[i], read, strict=True)):
            live = np.flatnonzero(within[head.columns])
            if full and not live.size:
                continue
            cases, output, nothing = head.output(own, rows, live)
            if not full and nothing.any():
                found.append(Nothing(cases, nothing, i, h, place))
            if live.size:
                parts.append(cases)
                outputs.append((head.columns[live], output))
        basis, labels, chosen = self._combined(parts)
        vectors = own.vectors[:, chosen[0]]
        total = np.zeros_like(vectors)
        for (columns, output), which in zip(outputs, chosen[1:], strict=True):
            total[columns] = self.compact.add(total[columns], output[:, which])
        vectors = self.compact.add(total, vectors)
        vectors[~within] = 0
        mlp = self._mlps[i]
        vectors[mlp.columns] = self.compact.add(vectors[mlp.columns], mlp(vectors, slice(0, vectors.shape[1])))
        cases, order = self._network.cases(basis, labels)
        result = self._row(cases, vectors[:, order], after)
        kept.append(_Memory(sources, result))
        del kept[:-4]
        return result

    def _combined(self, parts: list[Cases]) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """(basis, label per assignment, which case of each part a label stands for)."""
        try:
            basis, chosen = self._network.join(parts)
        except TooManyCases:
            parts = [parts[0], *(self._network.cut(part) for part in parts[1:])]
            try:
                basis, chosen = self._network.join(parts)
            except TooManyCases:
                basis, chosen = self._network.join([self._network.cut(part) for part in parts])
        combined = np.vstack(chosen)
        distinct, labels = _distinct(combined)
        return basis, labels, combined[:, distinct]

    def _row(self, cases: Cases, vectors: np.ndarray, live: np.ndarray) -> Row:
        """Cases with equal vectors are one; dead columns are 0."""
        vectors = vectors.copy()
        vectors[~live] = 0
        distinct, labels = _distinct(vectors)
        merged, order = self._network.cases(cases.variables, labels[cases.index])
        return Row(merged, np.ascontiguousarray(vectors[:, distinct][:, order]))

    def cut(self, row: Row) -> Row:
        """The row over one variable."""
        cases = self._network.cut(row.cases)
        return row if cases is row.cases else Row(cases, row.vectors, row.numbers)

    def logits(self, row: Row) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        if row.logits is None:
            wide = row.vectors.T.astype(np.int64)
            row.logits = weighted(wide, self._out, self.transformer.out.shape[0], self.transformer.precision)
        return row.logits


def _distinct(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
