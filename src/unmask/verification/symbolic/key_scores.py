"""Which keys has a query weight on? The nonzero exponentials of one head, over distinct queries and keys.

    seen_by(q) = {(k, exp⟨q, k⟩) : exp⟨q, k⟩ ≠ 0}

The proof of the fast engine (`visible_keys`) tells which pairs need no look; all others are computed. Queries that
every key in sight leads to the same scores (BOOST) are one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.engines.visible_keys import MOST_BITS, CodeIndex, Places, ValueRange, find_bits, forgotten, prove_code
from unmask.numerics.compact import Compact
from unmask.verification.symbolic.partition import contents

PAIRS_AT_ONCE = 1 << 20
FEW_PAIRS = 1 << 13  # which are multiplied out sooner than anything is proved about them

Seen = tuple[np.ndarray, np.ndarray]
"""(numbers of keys, their exponentials)"""

NOTHING: Seen = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

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
    """One head. Queries that no key tells apart ask the same; what is asked has a number while `epoch` stays."""

    def __init__(self, places: Places, compact: Compact) -> None:
        """`places`: the rows of Q and of K that hold each column of a score."""
        self._places, self._compact = places, compact
        self._queries, self._keys, self._effective = _Numbered(), _Numbered(), _Numbered()
        self._range: ValueRange | None = None
        self._scored = (0, 0)  # how many effective queries and keys have met
        self._effective_of: list[int] = []  # per query, what is asked
        self._representative: list[int] = []
        self._seen: list[list[Seen]] = []
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
        """What each query asks, given all keys so far."""
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

    def seen_by(self, asked: int) -> Seen:
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
        """Some queries with some keys, by their numbers."""
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
