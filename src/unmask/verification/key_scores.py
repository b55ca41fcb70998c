"""Which keys has a query weight on? The nonzero exponentials of one head, over distinct queries and keys.

    seen_by(q) = {(k, exp⟨q, k⟩) : exp⟨q, k⟩ ≠ 0}

The proof of the fast engine (`engines.proof`) tells which pairs need no look; all others are computed. Queries that
every key in sight leads to the same scores (BOOST) are one.
"""

from dataclasses import dataclass, field

import numpy as np

from unmask.engines.bit_codes import Range, find_bits
from unmask.engines.code_index import CodeIndex
from unmask.engines.prepared import PreparedHead
from unmask.engines.proof import MOST_BITS, forgotten, prove
from unmask.numerics.compact import Compact

PAIRS_AT_ONCE = 1 << 20

Seen = tuple[np.ndarray, np.ndarray]
"""(numbers of keys, their exponentials)"""


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
            found = self.numbers.get(key)
            if found is None:
                found = self.numbers[key] = len(self.columns)
                self.columns.append(row)
            result[i] = found
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

    def _restart(self) -> None:
        self._effective, self._representative, self._seen = _Numbered(), [], []
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
        if not code.chosen.size:
            of_queries[1][:] = False
        old, new = np.arange(queries), np.arange(queries, len(Q.T))
        for some, chosen in ((new, np.arange(len(K.T))), (old, np.arange(keys, len(K.T)))):
            if some.size and chosen.size:
                self._meet(Q, K, some, chosen, of_queries, of_keys)
        self._scored = len(Q.T), len(K.T)

    def _meet(self, Q, K, queries: np.ndarray, keys: np.ndarray, of_queries, of_keys) -> None:
        codes, regular = of_queries[0][queries], of_queries[1][queries]
        key_codes, key_regular = of_keys[0][keys], of_keys[1][keys]
        coded = np.flatnonzero(key_regular)
        index = CodeIndex(key_codes[coded], coded, 1 << 62)
        start, count = index.find(codes)
        others = np.flatnonzero(~key_regular)
        lists = [
            np.concatenate([index.rows[s : s + c], others]) if ok else np.arange(keys.size)
            for s, c, ok in zip(start.tolist(), count.tolist(), regular.tolist(), strict=True)
        ]
        first = 0
        while first < len(lists):
            last, size = first, 0
            while last < len(lists) and (size == 0 or size + lists[last].size <= PAIRS_AT_ONCE):
                size += lists[last].size
                last += 1
            which = np.repeat(np.arange(first, last), [part.size for part in lists[first:last]])
            met = keys[np.concatenate(lists[first:last])] if size else np.zeros(0, dtype=np.int64)
            exps = self._exps(Q, K, queries[which], met)
            kept = np.flatnonzero(exps)
            which, met, exps = which[kept], met[kept], exps[kept]
            edges = np.searchsorted(which, np.arange(first, last + 1))
            for i in range(first, last):
                part = slice(edges[i - first], edges[i - first + 1])
                if part.stop > part.start:
                    order = np.argsort(met[part], kind="stable")
                    self._seen[queries[i]].append((met[part][order], exps[part][order]))
            first = last

    def _exps(self, Q: np.ndarray, K: np.ndarray, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        compact = self._compact
        scores = np.zeros(queries.size, dtype=compact.wide)
        for query, key in zip(*self._places, strict=True):
            scores = compact.add(scores, compact.multiply(Q[query].take(queries), K[key].take(keys)))
        return compact.exps[scores + compact.bound].astype(np.int64)
