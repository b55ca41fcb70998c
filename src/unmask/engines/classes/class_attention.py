"""ClassAttention: rows of a head by what they see, class by class.

    queries   that have forgotten their differences, or never had any, are one query         (`visible_keys.forgotten`)
    keys      that are equal in all columns that such queries remember are one class         (`key_classes`)
    pairs     (query, class) that no sign excludes have a score, for any key of the class    (`opposites`, `signs`)

A row then sees, of every class with exp(score) > 0, the keys up to its own (all, if it is unmasked). If their
exponentials add up to B or more, Z is B and the weights do not depend on how many there are: where no two classes of a
row overlap, its sum goes through beginnings of classes, one after another (`numerics/run_sums`). Rows whose Z stays
below B see fewer than B keys, and are listed, as are those whose classes overlap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.budget import check
from unmask.engines.classes.key_classes import KeyClasses, Keys, by_kind
from unmask.engines.classes.opposites import Held, excluding
from unmask.engines.classes.signs import spread
from unmask.engines.shared.bit_codes import Range
from unmask.engines.shared.distinct import distinct
from unmask.engines.shared.grid import Grid
from unmask.engines.shared.visible_keys import Places, forgotten
from unmask.numerics.compact import Compact
from unmask.numerics.run_sums import Runs, run_sums

MOST_PROFILES = 16
MOST_PAIRS = 16  # of a query and a class, of a row and a class, of a row and a listed key: so many per row there is
MOST_WEIGHTS = 4
FEW = 8  # keys that are listed, whatever Z


@dataclass(frozen=True, eq=False)
class Listed:
    """rows[members[i]] has weight only on keys[start[i] : start[i] + count[i]], in order."""

    members: np.ndarray
    start: np.ndarray
    count: np.ndarray
    keys: np.ndarray


@dataclass(frozen=True, eq=False)
class _Part:
    """Different queries, [columns, queries], with one score each before `column`, whatever the key; `signs` exclude."""

    Q: np.ndarray
    score: np.ndarray
    word: np.ndarray
    column: int
    signs: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class _Seen:
    """What some rows see: members[i] has the runs heads[i] … heads[i + 1] - 1, maybe none.

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
        self.keys: Keys | None = None  # while none of them changes

    @cached_property
    def _sorts(self) -> tuple[int, ...]:
        """Columns of a score with the same queries and keys have one number."""
        return tuple(distinct(np.array(self._places))[1].tolist())

    def attend(
        self, rows: np.ndarray, grid: Grid, range_: Range, result: np.ndarray, Z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[Listed]]:
        """Fill result and Z at the rows that are summed by classes; (computed, inverse, lists).

        rows[i] has the output of rows[computed[inverse[i]]]. Of these, lists have those that are not summed; Z is -1
        where there would be too much to look at. `range_` is that of all keys.
        """
        if self.keys is None or self.keys.grid != grid:
            self.keys = Keys(self._K, self._places[1], grid)
        Q = np.take(self._Q, rows, axis=1)
        first, inverse = distinct(grid.word(rows)[None], Q)
        by_query, starts = by_kind(inverse, first.size)
        stands, lists = np.arange(first.size), []
        for part, which in self._parts(Q[:, first], grid.word(rows[first]), range_, self.keys):
            check()
            remembered = np.unique(self._places[0][part.column :])
            some, owner = distinct(part.word[None], part.score[None], part.Q[remembered])
            stands[which] = which[some][owner]
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
        return first, stands[inverse], lists

    def _parts(self, Q: np.ndarray, word: np.ndarray, range_: Range, keys: Keys) -> Iterator[tuple[_Part, np.ndarray]]:
        """Queries that have forgotten the same columns, of one profile each, for which signs are proved to exclude."""
        since, score = forgotten(Q, self._places, range_, self._compact)
        profiles = _profiles(Q)
        for profile in range(int(profiles.max(initial=-1)) + 1):
            own = profiles == profile
            signs = excluding(Held.of(Q[:, own], self._places[0]), keys.held, self._sorts, self._compact)
            for column in np.unique(since[own]).tolist():
                which = np.flatnonzero(own & (since == column))
                later = [j for j in signs if j >= column]  # others cannot tell
                sides = self._places[0][later], self._places[1][later]
                yield _Part(Q[:, which], score[which], word[which], column, sides), which

    def _pairs(
        self, part: _Part, some: np.ndarray, classes: KeyClasses
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """(query, class, exp > 0), query by query of some of a part, each in order; None if there are too many."""
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
    ) -> _Seen | None:
        """What the members see, which are these rows: what their queries do, up to themselves where it is causal.

        None if that is too much.
        """
        which, kind, exp = pairs
        heads = np.searchsorted(which, np.arange(int(owner.max(initial=-1)) + 2))
        if not self._causal:
            return _Seen(members, heads, kind, classes.counts[kind], exp)
        count = np.diff(heads)[owner]
        if count.sum() > MOST_PAIRS * classes.order.size:
            return None
        run, reader = spread(heads[owner], count), np.repeat(np.arange(members.size), count)
        visible = classes.up_to(kind[run], rows[reader])
        some = np.flatnonzero(visible)
        heads = np.searchsorted(reader[some], np.arange(members.size + 1))
        return _Seen(members, heads, kind[run][some], visible[some], exp[run][some])

    def _summed(self, seen: _Seen, classes: KeyClasses, result: np.ndarray, Z: np.ndarray) -> Iterator[Listed]:
        """Fill in what can be summed by classes, and list the others."""
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
        """The sums of weight × value, with the terms of every weight after those of the one before."""
        kinds, which = np.unique(weights, return_inverse=True)
        shift = which.reshape(-1) * classes.order.size
        runs = Runs(np.tile(classes.offset, kinds.size), begin + shift, end + shift, heads)
        V = np.take(self._V, classes.order, axis=1)
        terms = [self._compact.multiply(V, weight).astype(self._compact.narrow) for weight in kinds]
        return run_sums(np.concatenate(terms, axis=1), runs, self._compact)


def _profiles(Q: np.ndarray) -> np.ndarray:
    """Queries by what they hold where queries differ, but never in sign (BOOST); one for all if there are too many."""
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
    """(the runs of some rows, one row after another; where those of each begin)"""
    first, count = heads[:-1][some], np.diff(heads)[some]
    return spread(first, count), np.cumsum(count) - count
