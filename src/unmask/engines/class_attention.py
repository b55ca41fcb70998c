"""Attention by classes: equal queries, and keys that no query distinguishes, are computed once.

`SignIndex` finds, for each query, the keys that are opposite to it in no sign; a sign of 0 is opposite to none.
`exclusive_signs` proves in which columns opposite signs exclude a key. `KeyClasses` groups keys that are equal in all
columns that count. `ClassAttention` computes the rows of a head from these classes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from unmask.engines.prepared_weights import RowGrid
from unmask.engines.visible_keys import CodeIndex, Places, ValueRange, distinct_by_hash, score_prefix
from unmask.limits import check
from unmask.numerics.compact import Compact, Runs, run_sums

MOST_BITS = 62
MOST_MASKS = 128


def expand_ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the count[0] numbers from start[0] on, then the count[1] numbers from start[1] on, and so on."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum())) + np.repeat(start - before, count)


@dataclass(frozen=True, eq=False)
class SignCodes:
    """The signs of rows: a bit of `code` is [sign is +], the same bit of `mask` is [sign is not 0].

    `word` is the word of each row, shifted above the bits of the code.
    """

    code: np.ndarray
    mask: np.ndarray
    word: np.ndarray
    bits: int

    @classmethod
    def of(cls, signs: np.ndarray, word: np.ndarray) -> "SignCodes":
        """Return the codes of rows with these signs, [signs, rows]."""
        code, mask = (_pack_bits(x) for x in (signs > 0, signs != 0))
        return cls(code, mask, word.astype(np.int64) << len(signs), len(signs))

    def masked(self, mask: int, which: np.ndarray) -> np.ndarray:
        """Return the codes of some rows in the signs of the mask, below their words."""
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
        return np.repeat(self.which, self.count), self.keys[expand_ranges(self.start, self.count)]


class SignIndex:
    """Keys by their signs. Results are stored for later requests."""

    def __init__(self, keys: SignCodes, batch: int) -> None:
        self._keys, self._space = keys, batch << keys.bits
        self._masks = np.unique(keys.mask)
        self._indices: dict[int, list[tuple[int, CodeIndex]]] = {}

    def candidates(self, queries: SignCodes) -> Candidates | None:
        """Return all pairs of one word that are opposite in no sign; None if there are too many patterns of zeros."""
        query_masks = np.unique(queries.mask)
        if query_masks.size * self._masks.size > MOST_MASKS:
            return None
        runs = []
        for query_mask in query_masks.tolist():
            which = np.flatnonzero(queries.mask == query_mask)
            for mask, index in self._indices_for(query_mask):
                runs.append((which, *index.find(queries.masked(mask, which)), index.rows))
        offset = np.cumsum([0, *(rows.size for *_, rows in runs)])
        return Candidates(
            _concatenated(which for which, *_ in runs),
            _concatenated(start + shift for (_, start, _, _), shift in zip(runs, offset, strict=False)),
            _concatenated(count for _, _, count, _ in runs),
            _concatenated(rows for *_, rows in runs),
        )

    def _indices_for(self, query_mask: int) -> list[tuple[int, CodeIndex]]:
        """Return (mask, index) for queries with these signs: the keys that share exactly the signs of the mask."""
        if query_mask not in self._indices:
            common = self._keys.mask & query_mask
            self._indices[query_mask] = indices = []
            for mask in np.unique(self._masks & query_mask).tolist():
                keys = np.flatnonzero(common == mask)
                indices.append((mask, CodeIndex(self._keys.masked(mask, keys), keys, self._space)))
        return self._indices[query_mask]


def _pack_bits(bits: np.ndarray) -> np.ndarray:
    """[bits, rows] of booleans → a number for each row; at most 62 bits."""
    number = np.zeros(bits.shape[1], dtype=np.uint64)
    for byte in np.packbits(bits, axis=0):
        number <<= np.uint64(8)
        number |= byte
    return (number >> np.uint64(-len(bits) % 8)).astype(np.int64)


def _concatenated(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """Concatenate arrays of integers; without arrays, the result is empty."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


# Signs that exclude each other, with a proof from the values of queries and keys as in `visible_keys`; 0 is allowed.
#
# A column of a score is *pure* if Q_j is +c, -c or 0 in every query and K_j is +k, -k or 0 in every key. It is a *sign*
# if one of them takes both signs. Two rows are opposite in it if neither is 0 and their signs differ; a 0 is never
# opposite. With
#
#     U_s = the sum, in order, of the largest products, those of opposite rows in the columns of s
#
# exp(U_s) = 0 proves that opposite rows have no weight on each other, because clipped addition is monotone.
#
# The largest product of each column is not enough. For example, the columns (c·a ¦ b), (c·one ¦ -care) of a code that
# some keys ignore can add c and then -c, or 0 and then 0, but never c and then 0. So two adjacent pure columns are
# bounded together if this gives less: by the largest sum over the pairs of values that occur in queries and in keys.


Pair = tuple[int, int]
CACHED_EXCLUSIONS = 256
SIGNS = (-1, 0, 1)


@dataclass(frozen=True)
class SignValues:
    """The values of some rows in the columns of a score.

    size    c where it is ±c or 0, and not always 0; else 0
    ends    the least and the largest value
    pairs   the pairs of signs in a column and the next that occur: bit 3·(1 + sign) + (1 + sign of the next)
    """

    size: tuple[int, ...]
    ends: tuple[Pair, ...]
    pairs: tuple[int, ...]

    @classmethod
    def of(cls, x: np.ndarray, rows: np.ndarray) -> "SignValues":
        """Return the values of the columns; column j is row rows[j] of x, which is not empty."""
        low, high = x.min(axis=1).astype(np.int64), x.max(axis=1).astype(np.int64)
        size = np.maximum(-low, high)
        pure = ((x == 0) | (np.abs(x) == size[:, None].astype(x.dtype))).all(axis=1)
        signs = np.sign(x).astype(np.int8) + np.int8(1)
        codes = 3 * signs[rows[:-1]] + signs[rows[1:]]
        pairs = np.bitwise_or.reduce(np.left_shift(np.int16(1), codes, dtype=np.int16), axis=1)
        return cls(
            tuple(np.where(pure, size, 0)[rows].tolist()),
            tuple(zip(low[rows].tolist(), high[rows].tolist(), strict=True)),
            tuple(pairs.tolist()),
        )

    def values(self, j: int) -> list[Pair]:
        """Return the values of column j, each paired with 0; only the ends if the column is not pure."""
        low, high = self.ends[j]
        return [(x, 0) for x in {low, high, *((0,) if low < 0 < high and self.size[j] else ())}]

    def adjacent_values(self, j: int) -> list[Pair]:
        """Return the pairs of values of the pure columns j and j + 1."""
        a, b = self.size[j], self.size[j + 1]
        return [(a * s, b * t) for i, (s, t) in enumerate(product(SIGNS, SIGNS)) if self.pairs[j] >> i & 1]


@lru_cache(maxsize=CACHED_EXCLUSIONS)
def exclusive_signs(query: SignValues, key: SignValues, sort: tuple[int, ...], compact: Compact) -> tuple[int, ...]:
    """Return the columns of signs in which opposite rows have no weight on each other.

    Columns of one `sort` have the same queries and the same keys; the last one represents the sort.
    """
    pure = [bool(q and k) for q, k in zip(query.size, key.size, strict=True)]
    takes_both_signs = [
        any(values.ends[j][0] < 0 < values.ends[j][1] for values in (query, key)) for j in range(len(sort))
    ]
    last = {kind: j for j, kind in enumerate(sort) if pure[j] and takes_both_signs[j]}
    number = {kind: i for i, kind in enumerate(last)}
    bound, has_opposite = np.zeros(len(last), dtype=np.int64), np.zeros(len(last), dtype=bool)
    j = 0
    while j < len(sort):
        products = _all_products(query.values(j), key.values(j), compact)[:1]
        if j + 1 < len(sort) and pure[j] and pure[j + 1]:
            next_products = _all_products(query.values(j + 1), key.values(j + 1), compact)[:1]
            joint_products = _all_products(query.adjacent_values(j), key.adjacent_values(j), compact)
            if joint_products.sum(axis=0).max() < products.max() + next_products.max():
                products = joint_products
        sums = bound[:, None]
        for values in products:
            sums = compact.clip(sums + values)
        bound = sums.max(axis=1)
        for values, kind in zip(products, sort[j : j + 2], strict=False):
            if kind in number:
                i, opposite = number[kind], values < 0
                has_opposite[i] |= opposite.any()
                bound[i] = sums[i, opposite].max(initial=-compact.bound)
        j += len(products)
    vanishes = has_opposite & (compact.exps[bound + compact.bound] == 0)
    return tuple(j for i, j in enumerate(last.values()) if vanishes[i])


def _all_products(queries: list[Pair], keys: list[Pair], compact: Compact) -> np.ndarray:
    """Return the products of every query with every key, [2, pairs]."""
    q, k = np.array(queries).T, np.array(keys).T
    return compact.multiply(q[:, :, None], k[:, None, :]).reshape(2, -1).astype(np.int64)


# Keys that are equal in all columns of a score from some column on, for queries that have forgotten the earlier ones.


CACHED_CLASSES = 2


class KeyClasses:
    """All keys by class, in order within each class: class c is order[start[c]] … order[start[c + 1] - 1]."""

    def __init__(self, K: np.ndarray, remembered: np.ndarray, keys: np.ndarray, grid: RowGrid) -> None:
        """K is [columns, keys]. Keys of one word that agree in the `remembered` rows of K form a class."""
        word = grid.word(keys)
        first, kind = distinct_by_hash(word[None], K[remembered])
        order, self.start = group_by_kind(kind, first.size)
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
        """Return the number of keys of each class up to a row."""
        return np.searchsorted(self._rank, kind * self._grid.size + row, side="right") - self.start[kind]

    def candidates(self, Q: np.ndarray, word: np.ndarray, signs: tuple[np.ndarray, np.ndarray]) -> Candidates:
        """Return the classes that are opposite to a query in no sign; `signs` are their rows of Q and of K."""
        most = MOST_BITS - self._grid.batch.bit_length()
        query, key = (rows[:most] for rows in signs)
        candidates = self._index(key).candidates(SignCodes.of(Q[query], word))
        if candidates is None:  # only the signs that are never 0
            always = (Q[query] != 0).all(axis=1) & (self.K[key] != 0).all(axis=1)
            candidates = self._index(key[always]).candidates(SignCodes.of(Q[query[always]], word))
            assert candidates is not None
        return candidates

    def _index(self, signs: np.ndarray) -> SignIndex:
        name = signs.tobytes()
        if name not in self._indices:
            self._indices[name] = SignIndex(SignCodes.of(self.K[signs], self._word), self._grid.batch)
        return self._indices[name]


class Keys:
    """The keys of a head while none of them changes, [columns, keys], and the classes that were requested last.

    K may be the head's own array, so this object must be dropped when the array is written to.
    """

    def __init__(self, K: np.ndarray, key_rows: np.ndarray, grid: RowGrid) -> None:
        """Column j of the score reads row key_rows[j] of K."""
        self.grid, self._key_rows, self._rows = grid, key_rows, grid.rows
        self._K = grid.existing(K)
        self._classes: dict[int, KeyClasses] = {}

    @cached_property
    def sign_values(self) -> SignValues:
        return SignValues.of(self._K, self._key_rows)

    def classes(self, column: int) -> KeyClasses:
        """Return the classes of keys that are equal from this column on."""
        if column not in self._classes:
            if len(self._classes) == CACHED_CLASSES:
                del self._classes[next(iter(self._classes))]
            remembered = np.unique(self._key_rows[column:])
            self._classes[column] = KeyClasses(self._K, remembered, self._rows, self.grid)
        return self._classes[column]


def group_by_kind(kind: np.ndarray, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (order, start): the keys of kind k are order[start[k]] … order[start[k + 1] - 1], in increasing order."""
    return np.argsort(kind, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(kind, minlength=kinds))])


# ClassAttention: the rows of a head, computed by the classes of keys that they see.
#
#     queries   that have forgotten their differences, or are equal, are one query       (`score_prefix`)
#     keys      that are equal in all columns that such queries remember are one class   (`KeyClasses`)
#     pairs     (query, class) that no sign excludes have one score for the whole class  (`SignIndex`)
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
class _VisibleRuns:
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
        return tuple(distinct_by_hash(np.array(self._places))[1].tolist())

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
        first, inverse = distinct_by_hash(grid.word(rows)[None], Q)
        by_query, starts = group_by_kind(inverse, first.size)
        representative, lists = np.arange(first.size), []
        for group, which in self._query_groups(Q[:, first], grid.word(rows[first]), range_, self.keys):
            check()
            remembered = np.unique(self._places[0][group.column :])
            distinct_queries, owner = distinct_by_hash(group.word[None], group.score[None], group.Q[remembered])
            representative[which] = which[distinct_queries][owner]
            if self._causal:
                count = np.diff(starts)[which]
                members, owner = by_query[expand_ranges(starts[which], count)], np.repeat(owner, count)
            else:
                members, owner = first[which[distinct_queries]], np.arange(distinct_queries.size)
            classes = self.keys.classes(group.column)
            pairs = self._pairs(group, distinct_queries, classes)
            runs = pairs and self._visible_runs(pairs, members, owner, rows[members], classes)
            if runs is None:
                Z[members] = -1
            else:
                lists += self._sum_by_classes(runs, classes, result, Z)
        if self._causal:
            return np.arange(rows.size), np.arange(rows.size), lists
        return first, representative[inverse], lists

    def _query_groups(
        self, Q: np.ndarray, word: np.ndarray, range_: ValueRange, keys: Keys
    ) -> Iterator[tuple[_QueryGroup, np.ndarray]]:
        """Yield queries of one profile that have forgotten the same columns, with the signs proved to exclude."""
        since, score = score_prefix(Q, self._places, range_, self._compact)
        profiles = _profiles(Q)
        for profile in range(int(profiles.max(initial=-1)) + 1):
            in_profile = profiles == profile
            signs = exclusive_signs(
                SignValues.of(Q[:, in_profile], self._places[0]), keys.sign_values, self._sorts, self._compact
            )
            for column in np.unique(since[in_profile]).tolist():
                which = np.flatnonzero(in_profile & (since == column))
                later = [j for j in signs if j >= column]  # before `column` the score does not depend on the key
                sign_rows = self._places[0][later], self._places[1][later]
                yield _QueryGroup(Q[:, which], score[which], word[which], column, sign_rows), which

    def _pairs(
        self, group: _QueryGroup, queries: np.ndarray, classes: KeyClasses
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return (query, class, exp > 0) for some queries of a group, query by query; None if there are too many."""
        Q = group.Q[:, queries]
        candidates = classes.candidates(Q, group.word[queries], group.signs)
        if candidates.size > MOST_PAIRS * classes.order.size:
            return None
        which, kind = candidates.pairs()
        compact = self._compact
        scores = group.score[queries][which].astype(compact.wide)
        for q, k in zip(*(rows[group.column :] for rows in self._places), strict=True):
            scores = compact.add(scores, compact.multiply(Q[q].take(which), classes.K[k].take(kind)))
        exps = compact.exps[scores + compact.bound]
        weighty = np.flatnonzero(exps)
        which, kind = which[weighty], kind[weighty]
        order = np.lexsort((classes.order[classes.start[kind]], which))
        return which[order], kind[order], exps[weighty][order].astype(np.int64)

    def _visible_runs(
        self,
        pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
        members: np.ndarray,
        owner: np.ndarray,
        rows: np.ndarray,
        classes: KeyClasses,
    ) -> _VisibleRuns | None:
        """Return the runs that these rows see: those of their queries, up to the row itself if attention is causal.

        Return None if there are too many.
        """
        which, kind, exp = pairs
        heads = np.searchsorted(which, np.arange(int(owner.max(initial=-1)) + 2))
        if not self._causal:
            return _VisibleRuns(members, heads, kind, classes.counts[kind], exp)
        count = np.diff(heads)[owner]
        if count.sum() > MOST_PAIRS * classes.order.size:
            return None
        run, reader = expand_ranges(heads[owner], count), np.repeat(np.arange(members.size), count)
        visible = classes.up_to(kind[run], rows[reader])
        nonempty = np.flatnonzero(visible)
        heads = np.searchsorted(reader[nonempty], np.arange(members.size + 1))
        return _VisibleRuns(members, heads, kind[run][nonempty], visible[nonempty], exp[run][nonempty])

    def _sum_by_classes(
        self, runs: _VisibleRuns, classes: KeyClasses, result: np.ndarray, Z: np.ndarray
    ) -> Iterator[Listed]:
        """Fill in the rows that can be summed by classes, and list the others."""
        compact = self._compact
        keys, total = (_sums_per_row(x, runs.heads) for x in (runs.count, runs.count * runs.exp))
        Z[runs.members] = np.minimum(total, compact.bound)
        begin = classes.start[runs.kind]
        end = begin + runs.count
        overlaps = np.zeros(runs.kind.size, dtype=bool)
        overlaps[1:] = classes.order[begin[1:]] < classes.order[end[:-1] - 1]
        overlaps[runs.heads[:-1][np.diff(runs.heads) > 0]] = False
        ordered = _sums_per_row(overlaps, runs.heads) == 0
        weights = compact.divide(runs.exp, np.array(compact.bound, dtype=compact.wide))
        is_summed = (total >= compact.bound) & (keys > FEW) & ordered & (np.unique(weights).size <= MOST_WEIGHTS)
        if is_summed.any():
            selected, heads = _select_runs(runs.heads, is_summed)
            result[:, runs.members[is_summed]] = self._by_runs(
                begin[selected], end[selected], heads, weights[selected], classes
            )
        is_listed = ~is_summed & (keys > 0)
        if keys[is_listed].sum() > MOST_PAIRS * classes.order.size:
            Z[runs.members[is_listed]] = -1
        elif is_listed.any():
            selected, _ = _select_runs(runs.heads, is_listed)
            listed, count = classes.order[expand_ranges(begin[selected], runs.count[selected])], keys[is_listed]
            if not ordered[is_listed].all():
                listed = listed[np.lexsort((listed, np.repeat(np.arange(count.size), count)))]
            yield Listed(runs.members[is_listed], np.cumsum(count) - count, count, listed)

    def _by_runs(
        self, begin: np.ndarray, end: np.ndarray, heads: np.ndarray, weights: np.ndarray, classes: KeyClasses
    ) -> np.ndarray:
        """Return the sums of weight × value over runs."""
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
        first, inverse = distinct_by_hash(Q[flags])
        if first.size <= MOST_PROFILES:
            return inverse
    return np.zeros(Q.shape[1], dtype=np.int64)


def _sums_per_row(x: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return the sum of x over heads[i] … heads[i + 1] - 1, for every i."""
    before = np.concatenate([[0], np.cumsum(x, dtype=np.int64)])
    return before[heads[1:]] - before[heads[:-1]]


def _select_runs(heads: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (the runs of some rows, row by row; the start of each row's runs)."""
    first, count = heads[:-1][rows], np.diff(heads)[rows]
    return expand_ranges(first, count), np.cumsum(count) - count
