"""Which keys has a query weight on? The nonzero exponentials of one head, over distinct queries and keys.

    seen_by(q) = {(k, exp⟨q, k⟩) : exp⟨q, k⟩ ≠ 0}

The proof of the fast engine (`visible_keys`) tells which pairs need no look; all others are computed. Queries that
every key in sight leads to the same scores (BOOST) are one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.engines.shared.bit_codes import Range, find_bits
from unmask.engines.shared.code_index import CodeIndex
from unmask.engines.shared.prepared import PreparedHead
from unmask.engines.shared.visible_keys import MOST_BITS, forgotten, prove
from unmask.numerics.compact import Compact

PAIRS_AT_ONCE = 1 << 20

Seen = tuple[np.ndarray, np.ndarray]
"""(numbers of keys, their exponentials)"""

Codes = tuple[np.ndarray, np.ndarray]
"""(code, is it regular) of queries or of keys."""


@dataclass(eq=False)
class _Numbered:
    """Distinct columns of an array, numbered as they come."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    columns: list[np.ndarray] = field(default_factory=list)

    def number(self, columns: np.ndarray) -> np.ndarray:
        """The number of each column of [entries, columns]."""
        rows = np.ascontiguousarray(columns.T)
        result = np.empty(len(rows), dtype=np.int64)
        for i, row in enumerate(rows):
            key = row.tobytes()
            number = self.numbers.get(key)
            if number is None:
                number = self.numbers[key] = len(self.columns)
                self.columns.append(row)
            result[i] = number
        return result

    def array(self, first: int = 0) -> np.ndarray:
        return np.stack(self.columns[first:], axis=1)


class KeyScores:
    """One head. Numbers of queries are valid while `epoch` does not change."""

    def __init__(self, head: PreparedHead, compact: Compact) -> None:
        self._places, self._compact = (head.query.place, head.key.place), compact
        self._queries, self._keys, self._effective = _Numbered(), _Numbered(), _Numbered()
        self._range: Range | None = None
        self._scored = (0, 0)  # how many effective queries and keys have met
        self._representative: list[int] = []
        self._seen: list[list[Seen]] = []
        self._weights: dict[int, dict[int, int]] = {}
        self.epoch = 0

    def keys(self, K: np.ndarray) -> np.ndarray:
        """The number of each key."""
        if K.shape[1]:
            new = Range.of(K)
            if self._range is None or not self._range.holds(K):
                self._range = new if self._range is None else self._range.union(new)
                self._restart()
        return self._keys.number(K)

    def queries(self, Q: np.ndarray) -> np.ndarray:
        """The number of each query, given all keys so far."""
        assert self._range is not None
        since, score = forgotten(Q, self._places, self._range, self._compact)
        columns = np.where(np.arange(self._places[0].size)[:, None] >= since, Q[self._places[0]], 0)
        numbers = self._effective.number(np.vstack([since, score, columns]))
        raw = self._queries.number(Q)
        for number, query in zip(numbers.tolist(), raw.tolist(), strict=True):
            if number == len(self._representative):
                self._representative.append(query)
                self._seen.append([])
        return numbers

    def seen_by(self, query: int) -> Seen:
        """The keys that a query has weight on, sorted by number."""
        if self._scored != (len(self._representative), len(self._keys.columns)):
            self._score()
        parts = self._seen[query]
        if len(parts) != 1:  # keys come later with larger numbers
            nothing = np.zeros(0, dtype=np.int64)
            keys = np.concatenate([nothing, *(keys for keys, _ in parts)])
            exps = np.concatenate([nothing, *(exps for _, exps in parts)])
            self._seen[query] = parts = [(keys, exps)]
        return parts[0]

    def exps(self, queries: Sequence[int], keys: np.ndarray) -> np.ndarray:
        """exp⟨q, k⟩ of some queries and keys by their numbers, [queries, keys]."""
        result = np.zeros((len(queries), keys.size), dtype=np.int64)
        for q, query in enumerate(queries):
            seen, values = self.seen_by(query)
            if seen.size:
                place = np.minimum(np.searchsorted(seen, keys), seen.size - 1)
                result[q] = np.where(seen[place] == keys, values[place], 0)
        return result

    def weights(self, query: int) -> dict[int, int]:
        """The same as `seen_by`, to look up one key after the other."""
        keys, exps = self.seen_by(query)
        known = self._weights.setdefault(query, {})
        if len(known) < keys.size:  # keys come later with larger numbers
            known.update(zip(keys[len(known) :].tolist(), exps[len(known) :].tolist(), strict=True))
        return known

    def _restart(self) -> None:
        self._effective, self._representative, self._seen, self._weights = _Numbered(), [], [], {}
        self._scored = (0, 0)
        self.epoch += 1

    def _score(self) -> None:
        """Every new query with every key, every old query with every new key."""
        assert self._range is not None
        queries, keys = self._scored
        every = self._queries.array()
        Q, K = every[:, self._representative], self._keys.array()
        bits = find_bits(Q, K, self._places)
        code = prove(bits, self._places, (Range.of(every), self._range), self._compact, Q, MOST_BITS)
        of_queries, of_keys = (side(x) for side, x in ((code.of_queries, Q), (code.of_keys, K)))
        if not code.deciding.size:
            of_queries[1][:] = False
        old, new = np.arange(queries), np.arange(queries, len(Q.T))
        for some, others in ((new, np.arange(len(K.T))), (old, np.arange(keys, len(K.T)))):
            if some.size and others.size:
                self._meet(Q, K, some, others, of_queries, of_keys)
        self._scored = len(Q.T), len(K.T)

    def _meet(
        self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, keys: np.ndarray, of_queries: Codes, of_keys: Codes
    ) -> None:
        """Some queries with some keys, by their numbers."""
        candidates = _candidates((of_queries[0][queries], of_queries[1][queries]), (of_keys[0][keys], of_keys[1][keys]))
        for first, last in _runs([some.size for some in candidates], PAIRS_AT_ONCE):
            self._take_in(Q, K, queries[first:last], [keys[some] for some in candidates[first:last]])

    def _take_in(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, candidates: list[np.ndarray]) -> None:
        """Score each query with its candidates, and keep what it has weight on."""
        which = np.repeat(np.arange(queries.size), [some.size for some in candidates])
        met = np.concatenate(candidates)
        exps = self._exps(Q, K, queries[which], met)
        seen = np.flatnonzero(exps)
        which, met, exps = which[seen], met[seen], exps[seen]
        edges = np.searchsorted(which, np.arange(queries.size + 1))
        for i, query in enumerate(queries.tolist()):
            part = slice(edges[i], edges[i + 1])
            if part.stop > part.start:
                order = np.argsort(met[part], kind="stable")
                self._seen[query].append((met[part][order], exps[part][order]))

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
