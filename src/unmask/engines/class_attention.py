"""Attention by classes: equal queries, and keys that no query distinguishes, are computed once.

`SignIndex` finds, for each query, the keys that are opposite to it in no sign; a sign of 0 is opposite to none.
`KeyClasses` groups keys that are equal in all columns that count. `ClassAttention` computes the rows of a head from
these classes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.engines.opposite_signs import SignValues, excluding
from unmask.engines.prepared_weights import RowGrid
from unmask.engines.visible_keys import CodeIndex, Places, ValueRange, distinct, forgotten
from unmask.limits import check
from unmask.numerics.compact import Compact, Runs, run_sums

MOST_BITS = 62
MOST_MASKS = 128


def spread(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The count[0] numbers from start[0] on, then the count[1] numbers from start[1] on, and so on."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum())) + np.repeat(start - before, count)


@dataclass(frozen=True, eq=False)
class Coded:
    """The signs of rows: a bit of `code` is [sign is +], the same bit of `mask` [sign is not 0]; `word`: high bits."""

    code: np.ndarray
    mask: np.ndarray
    word: np.ndarray
    bits: int

    @classmethod
    def of(cls, signs: np.ndarray, word: np.ndarray) -> "Coded":
        """Return the codes of rows with these signs, [signs, rows]."""
        code, mask = (_number(x) for x in (signs > 0, signs != 0))
        return cls(code, mask, word.astype(np.int64) << len(signs), len(signs))

    def within(self, mask: int, which: np.ndarray) -> np.ndarray:
        return (self.code[which] & mask) + self.word[which]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Runs of `keys` for queries: query which[i] has keys[start[i] : start[i] + count[i]]."""

    which: np.ndarray
    start: np.ndarray
    count: np.ndarray
    keys: np.ndarray

    @property
    def size(self) -> int:
        return int(self.count.sum())

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(query, key) of every candidate."""
        return np.repeat(self.which, self.count), self.keys[spread(self.start, self.count)]


class SignIndex:
    """Keys by their signs. The results of earlier requests are kept."""

    def __init__(self, keys: Coded, batch: int) -> None:
        self._keys, self._space = keys, batch << keys.bits
        self._masks = np.unique(keys.mask)
        self._indices: dict[int, list[tuple[int, CodeIndex]]] = {}

    def candidates(self, queries: Coded) -> Candidates | None:
        """All pairs within one word that are opposite in no sign; None if there are too many patterns of zeros."""
        asked = np.unique(queries.mask)
        if asked.size * self._masks.size > MOST_MASKS:
            return None
        found = []
        for own in asked.tolist():
            which = np.flatnonzero(queries.mask == own)
            for mask, index in self._asked(own):
                found.append((which, *index.find(queries.within(mask, which)), index.rows))
        offset = np.cumsum([0, *(rows.size for *_, rows in found)])
        return Candidates(
            _all(which for which, *_ in found),
            _all(start + shift for (_, start, _, _), shift in zip(found, offset, strict=False)),
            _all(count for _, _, count, _ in found),
            _all(rows for *_, rows in found),
        )

    def _asked(self, own: int) -> list[tuple[int, CodeIndex]]:
        """Return the keys for queries that have these signs, sorted by the signs that both have."""
        if own not in self._indices:
            common = self._keys.mask & own
            self._indices[own] = parts = []
            for mask in np.unique(self._masks & own).tolist():
                keys = np.flatnonzero(common == mask)
                parts.append((mask, CodeIndex(self._keys.within(mask, keys), keys, self._space)))
        return self._indices[own]


def _number(bits: np.ndarray) -> np.ndarray:
    """[bits, rows] of booleans → a number for each row; at most 62 bits."""
    number = np.zeros(bits.shape[1], dtype=np.uint64)
    for byte in np.packbits(bits, axis=0):
        number <<= np.uint64(8)
        number |= byte
    return (number >> np.uint64(-len(bits) % 8)).astype(np.int64)


def _all(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


# Keys that are equal in all columns of a score from some column on, for queries that have forgotten the earlier ones.


KEPT = 2


class KeyClasses:
    """All keys by class, in order within each class: class c is order[start[c]] … order[start[c + 1] - 1]."""

    def __init__(self, K: np.ndarray, remembered: np.ndarray, keys: np.ndarray, grid: RowGrid) -> None:
        """K is [columns, keys]. Keys of one word that agree in the `remembered` rows of K form a class."""
        word = grid.word(keys)
        first, kind = distinct(word[None], K[remembered])
        order, self.start = by_kind(kind, first.size)
        self.order, self._word, self._grid = keys[order], word[first], grid
        self.K = K if first.size == keys.size else K[:, first]
        self._indices: dict[bytes, SignIndex] = {}

    @property
    def size(self) -> int:
        return self.K.shape[1]

    @cached_property
    def counts(self) -> np.ndarray:
        return np.diff(self.start)

    @cached_property
    def offset(self) -> np.ndarray:
        """For each key of `order`, the number of earlier keys of its class."""
        return np.arange(self.order.size) - np.repeat(self.start[:-1], self.counts)

    @cached_property
    def _rank(self) -> np.ndarray:
        """class·size + key for the keys of `order`; it is increasing."""
        return np.repeat(np.arange(self.size), self.counts) * self._grid.size + self.order

    def up_to(self, kind: np.ndarray, row: np.ndarray) -> np.ndarray:
        """The number of keys of a class that are not after a row."""
        return np.searchsorted(self._rank, kind * self._grid.size + row, side="right") - self.start[kind]

    def candidates(self, Q: np.ndarray, word: np.ndarray, signs: tuple[np.ndarray, np.ndarray]) -> Candidates:
        """The classes that are opposite to a query in no sign; the signs are given by their rows of Q and of K."""
        most = MOST_BITS - self._grid.batch.bit_length()
        query, key = (side[:most] for side in signs)
        candidates = self._index(key).candidates(Coded.of(Q[query], word))
        if candidates is None:  # only the signs that are never 0
            always = (Q[query] != 0).all(axis=1) & (self.K[key] != 0).all(axis=1)
            candidates = self._index(key[always]).candidates(Coded.of(Q[query[always]], word))
            assert candidates is not None
        return candidates

    def _index(self, signs: np.ndarray) -> SignIndex:
        name = signs.tobytes()
        if name not in self._indices:
            self._indices[name] = SignIndex(Coded.of(self.K[signs], self._word), self._grid.batch)
        return self._indices[name]


class Keys:
    """The keys of a head while none of them changes, [columns, keys], and the classes that were requested last.

    K may be the head's own array, so this object must be dropped when the array is written to.
    """

    def __init__(self, K: np.ndarray, place: np.ndarray, grid: RowGrid) -> None:
        """`place` says which row of K a column of the score reads."""
        self.grid, self._place, self._rows = grid, place, grid.rows
        self._K = grid.exists(K)
        self._classes: dict[int, KeyClasses] = {}

    @cached_property
    def sign_values(self) -> SignValues:
        return SignValues.of(self._K, self._place)

    def classes(self, column: int) -> KeyClasses:
        """The classes of keys that are equal from this column on."""
        if column not in self._classes:
            if len(self._classes) == KEPT:
                del self._classes[next(iter(self._classes))]
            remembered = np.unique(self._place[column:])
            self._classes[column] = KeyClasses(self._K, remembered, self._rows, self.grid)
        return self._classes[column]


def by_kind(kind: np.ndarray, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """(order, start): the keys of kind k are order[start[k]] … order[start[k + 1] - 1], in increasing order."""
    return np.argsort(kind, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(kind, minlength=kinds))])


# ClassAttention: the rows of a head, computed by the classes of keys that they see.
#
#     queries   that have forgotten their differences, or never had any, are one query
# (`visible_keys.forgotten`)
#     keys      that are equal in all columns that such queries remember are one class         (`KeyClasses`)
#     pairs     (query, class) that no sign excludes have a score, for any key of the class    (`SignIndex`)
#
# Of every class with exp(score) > 0, a row sees the keys up to its own position (all keys, if attention is unmasked).
# If their exponentials add up to B or more, Z is B and the weights do not depend on the number of keys. If no two
# classes of such a row overlap, its sum adds prefixes of classes, one after another (`numerics/compact`). Rows whose Z
# stays below B see fewer than B keys. Their keys are listed, as are those of rows whose classes overlap.


MOST_PROFILES = 16
MOST_PAIRS = 16  # per row: pairs of a query and a class, of a row and a class, of a row and a listed key
MOST_WEIGHTS = 4
FEW = 8  # the number of keys that are listed for any Z


@dataclass(frozen=True, eq=False)
class Listed:
    """rows[members[i]] has weight only on keys[start[i] : start[i] + count[i]], in order."""

    members: np.ndarray
    start: np.ndarray
    count: np.ndarray
    keys: np.ndarray


@dataclass(frozen=True, eq=False)
class _QueryGroup:
    """Distinct queries, [columns, queries]. Before `column`, a query has one score for all keys. `signs` exclude."""

    Q: np.ndarray
    score: np.ndarray
    word: np.ndarray
    column: int
    signs: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class _SeenRuns:
    """The runs that rows see: members[i] sees the runs heads[i] … heads[i + 1] - 1, possibly none.

    Run r is the first count[r] keys of the class kind[r], each of which has the exponential exp[r].
    """

    members: np.ndarray
    heads: np.ndarray
    kind: np.ndarray
    count: np.ndarray
    exp: np.ndarray


class ClassAttention:
    """One head of one session, [columns, rows] each."""

    def __init__(
        self, Q: np.ndarray, K: np.ndarray, V: np.ndarray, places: Places, compact: Compact, causal: bool
    ) -> None:
        self._Q, self._K, self._V, self._places = Q, K, V, places
        self._compact, self._causal = compact, causal
        self.keys: Keys | None = None  # valid while no key changes

    @cached_property
    def _sorts(self) -> tuple[int, ...]:
        """Number the columns of a score; columns with the same queries and keys have the same number."""
        return tuple(distinct(np.array(self._places))[1].tolist())

    def attend(
        self, rows: np.ndarray, grid: RowGrid, range_: ValueRange, result: np.ndarray, Z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[Listed]]:
        """Fill result and Z at the rows that are summed by classes. Return (computed, inverse, lists).

        rows[i] has the output of rows[computed[inverse[i]]]. Of the computed rows, `lists` contains those that are not
        summed. Z is -1 where the work would be too large. `range_` is the range of all keys.
        """
        if self.keys is None or self.keys.grid != grid:
            self.keys = Keys(self._K, self._places[1], grid)
        Q = np.take(self._Q, rows, axis=1)
        first, inverse = distinct(grid.word(rows)[None], Q)
        by_query, starts = by_kind(inverse, first.size)
        representative, lists = np.arange(first.size), []
        for part, which in self._parts(Q[:, first], grid.word(rows[first]), range_, self.keys):
            check()
            remembered = np.unique(self._places[0][part.column :])
            some, owner = distinct(part.word[None], part.score[None], part.Q[remembered])
            representative[which] = which[some][owner]
            if self._causal:
                count = np.diff(starts)[which]
                members, owner = by_query[spread(starts[which], count)], np.repeat(owner, count)
            else:
                members, owner = first[which[some]], np.arange(some.size)
            classes = self.keys.classes(part.column)
            pairs = self._pairs(part, some, classes)
            seen = pairs and self._seen(pairs, members, owner, rows[members], classes)
            if seen is None:
                Z[members] = -1
            else:
                lists += self._summed(seen, classes, result, Z)
        if self._causal:
            return np.arange(rows.size), np.arange(rows.size), lists
        return first, representative[inverse], lists

    def _parts(
        self, Q: np.ndarray, word: np.ndarray, range_: ValueRange, keys: Keys
    ) -> Iterator[tuple[_QueryGroup, np.ndarray]]:
        """Yield queries of one profile that have forgotten the same columns, with the signs proved to exclude."""
        since, score = forgotten(Q, self._places, range_, self._compact)
        profiles = _profiles(Q)
        for profile in range(int(profiles.max(initial=-1)) + 1):
            own = profiles == profile
            signs = excluding(SignValues.of(Q[:, own], self._places[0]), keys.sign_values, self._sorts, self._compact)
            for column in np.unique(since[own]).tolist():
                which = np.flatnonzero(own & (since == column))
                later = [j for j in signs if j >= column]  # before `column` the score does not depend on the key
                sides = self._places[0][later], self._places[1][later]
                yield _QueryGroup(Q[:, which], score[which], word[which], column, sides), which

    def _pairs(
        self, part: _QueryGroup, some: np.ndarray, classes: KeyClasses
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """(query, class, exp > 0) for some queries of a group, one query after another; None if there are too many."""
        Q = part.Q[:, some]
        candidates = classes.candidates(Q, part.word[some], part.signs)
        if candidates.size > MOST_PAIRS * classes.order.size:
            return None
        which, kind = candidates.pairs()
        compact = self._compact
        scores = part.score[some][which].astype(compact.wide)
        for q, k in zip(*(place[part.column :] for place in self._places), strict=True):
            scores = compact.add(scores, compact.multiply(Q[q].take(which), classes.K[k].take(kind)))
        exps = compact.exps[scores + compact.bound]
        weighty = np.flatnonzero(exps)
        which, kind = which[weighty], kind[weighty]
        order = np.lexsort((classes.order[classes.start[kind]], which))
        return which[order], kind[order], exps[weighty][order].astype(np.int64)

    def _seen(
        self,
        pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
        members: np.ndarray,
        owner: np.ndarray,
        rows: np.ndarray,
        classes: KeyClasses,
    ) -> _SeenRuns | None:
        """The runs that these rows see: those of their queries, up to the row itself if attention is causal.

        Return None if there are too many.
        """
        which, kind, exp = pairs
        heads = np.searchsorted(which, np.arange(int(owner.max(initial=-1)) + 2))
        if not self._causal:
            return _SeenRuns(members, heads, kind, classes.counts[kind], exp)
        count = np.diff(heads)[owner]
        if count.sum() > MOST_PAIRS * classes.order.size:
            return None
        run, reader = spread(heads[owner], count), np.repeat(np.arange(members.size), count)
        visible = classes.up_to(kind[run], rows[reader])
        some = np.flatnonzero(visible)
        heads = np.searchsorted(reader[some], np.arange(members.size + 1))
        return _SeenRuns(members, heads, kind[run][some], visible[some], exp[run][some])

    def _summed(self, seen: _SeenRuns, classes: KeyClasses, result: np.ndarray, Z: np.ndarray) -> Iterator[Listed]:
        """Fill in the rows that can be summed by classes, and list the others."""
        compact = self._compact
        keys, total = (_sums(x, seen.heads) for x in (seen.count, seen.count * seen.exp))
        Z[seen.members] = np.minimum(total, compact.bound)
        begin = classes.start[seen.kind]
        end = begin + seen.count
        overlaps = np.zeros(seen.kind.size, dtype=bool)
        overlaps[1:] = classes.order[begin[1:]] < classes.order[end[:-1] - 1]
        overlaps[seen.heads[:-1][np.diff(seen.heads) > 0]] = False
        ordered = _sums(overlaps, seen.heads) == 0
        weights = compact.divide(seen.exp, np.array(compact.bound, dtype=compact.wide))
        folded = (total >= compact.bound) & (keys > FEW) & ordered & (np.unique(weights).size <= MOST_WEIGHTS)
        if folded.any():
            some, heads = _chosen(seen.heads, folded)
            result[:, seen.members[folded]] = self._by_runs(begin[some], end[some], heads, weights[some], classes)
        left = ~folded & (keys > 0)
        if keys[left].sum() > MOST_PAIRS * classes.order.size:
            Z[seen.members[left]] = -1
        elif left.any():
            some, _ = _chosen(seen.heads, left)
            listed, count = classes.order[spread(begin[some], seen.count[some])], keys[left]
            if not ordered[left].all():
                listed = listed[np.lexsort((listed, np.repeat(np.arange(count.size), count)))]
            yield Listed(seen.members[left], np.cumsum(count) - count, count, listed)

    def _by_runs(
        self, begin: np.ndarray, end: np.ndarray, heads: np.ndarray, weights: np.ndarray, classes: KeyClasses
    ) -> np.ndarray:
        """The sums of weight × value, one weight after another."""
        kinds, which = np.unique(weights, return_inverse=True)
        shift = which.reshape(-1) * classes.order.size
        runs = Runs(np.tile(classes.offset, kinds.size), begin + shift, end + shift, heads)
        V = np.take(self._V, classes.order, axis=1)
        terms = [self._compact.multiply(V, weight).astype(self._compact.narrow) for weight in kinds]
        return run_sums(np.concatenate(terms, axis=1), runs, self._compact)


def _profiles(Q: np.ndarray) -> np.ndarray:
    """Number queries by their values in columns that differ, but never in sign (BOOST); all 0 if there are too many."""
    low, high = Q.min(axis=1), Q.max(axis=1)
    flags = np.flatnonzero((low < high) & ((low >= 0) | (high <= 0)))
    if flags.size:
        first, inverse = distinct(Q[flags])
        if first.size <= MOST_PROFILES:
            return inverse
    return np.zeros(Q.shape[1], dtype=np.int64)


def _sums(x: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The sum of x over heads[i] … heads[i + 1] - 1, for every i."""
    before = np.concatenate([[0], np.cumsum(x, dtype=np.int64)])
    return before[heads[1:]] - before[heads[:-1]]


def _chosen(heads: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the runs of some rows, one row after another; the start of each row's runs)"""
    first, count = heads[:-1][some], np.diff(heads)[some]
    return spread(first, count), np.cumsum(count) - count
