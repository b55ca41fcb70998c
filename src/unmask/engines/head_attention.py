"""The output of one head at some rows: the keys that each row sees, scores, exponentials, weights and values."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from unmask.engines.class_attention import ClassAttention, Listed
from unmask.engines.prepared_weights import RowGrid
from unmask.engines.visible_keys import (
    CodeIndex,
    KeyCode,
    Shift,
    Steps,
    ValueRange,
    distinct_by_hash,
    score_prefix,
)
from unmask.limits import check
from unmask.numerics.compact import Compact

PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Operands:
    """Queries, keys and values of one head, [columns, rows]; column j of a score is Q[places[0][j]]·K[places[1][j]]."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    places: tuple[np.ndarray, np.ndarray]
    compact: Compact

    def attend(
        self, queries: np.ndarray, keys: np.ndarray | slice, visible: np.ndarray, steps: Steps
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (head [values, queries], weights [queries, keys], Z) of some queries.

        `keys` is one list for all queries, or one per query. If Z is 0, the other results are undefined.
        """
        compact = self.compact
        scores = self._scores(queries, keys, steps)
        exps = np.where(visible, compact.exps[scores + compact.bound], 0)
        Z = np.minimum(exps.sum(axis=1, dtype=np.int64), compact.bound).astype(compact.wide)
        weights = compact.divide(exps, np.maximum(Z, 1)[:, None])
        result = np.empty((len(self.V), len(queries)), dtype=compact.narrow)
        step = max(1, PAIRS_AT_ONCE // weights.size)
        for first in range(0, len(self.V), step):
            values = self.V[first : first + step, keys]
            if isinstance(keys, slice):
                values = values[:, None, :]
            result[first : first + step] = compact.total(compact.multiply(weights, values), 2)
        return result, weights, Z

    def _scores(self, queries: np.ndarray, keys: np.ndarray | slice, steps: Steps) -> np.ndarray:
        compact = self.compact
        scores = np.zeros((1, 1), dtype=compact.wide)
        for step in steps:
            if isinstance(step, Shift):
                scores = np.clip(scores.astype(np.int64) + step.by, step.low, step.high).astype(compact.wide)
            else:
                query, key = self.Q[self.places[0][step]], self.K[self.places[1][step]]
                scores = compact.add(scores, compact.multiply(query[queries][:, None], key[keys]))
        return scores

    def constant_exp(self, steps: Steps) -> int:
        """Return exp of the score that results from steps without columns."""
        score = int(self._scores(np.zeros(0, dtype=np.int64), slice(0, 0), steps)[0, 0])
        return int(self.compact.exps[score + self.compact.bound])


# HeadAttention: the output of one head at some rows, by the cheapest way that is proved to be exact.
#
#     one key of the same code, all with one score      a gather
#     several keys of the same code                     lists of nearly one length at a time
#     no code, or long lists, of many rows              by classes of queries and keys
#     no code                                           every key that the row may see, in blocks
#
# Rows of a word with equal effective queries have equal outputs if all of them see all keys.


COMPARED_AT_ONCE = 1 << 16
NONE = -1
LONG = 8  # keys per row from which it is worthwhile to search for work that rows share
CLASSED_FROM = 1 << 16  # pairs of a row and a key
CLASSED_KEYS = 128  # per word
CLASSED_ROWS = 1 << 16  # for all words, at most: memory for the computation of classes


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a head at some rows of a grid, to be filled in. The method depends on the code of the keys."""

    rows: np.ndarray
    grid: RowGrid
    code: KeyCode
    key_range: ValueRange
    """The range of all keys."""
    values: np.ndarray
    """[values, rows]"""
    Z: np.ndarray

    def of(self, members: np.ndarray) -> "Outputs":
        """Return outputs for some of the rows, to be filled in separately."""
        return replace(self, rows=self.rows[members], values=self.values[:, members], Z=self.Z[members])


Attend = Callable[[Outputs], None]


class AttendsNowhere(Exception):
    """Raised if Z = 0 at a row of the grid."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class HeadAttention:
    """One head of one session. The high bits of a code are the word; the code of an irregular row is NONE."""

    def __init__(self, operands: Operands, causal: bool, query_code: np.ndarray, key_code: np.ndarray) -> None:
        self._operands, self._compact, self._causal = operands, operands.compact, causal
        self._query_code, self._key_code = query_code, key_code
        self.classes = ClassAttention(operands.Q, operands.K, operands.V, operands.places, self._compact, causal)
        self.index: CodeIndex | None = None  # of all keys, while all of them have a code and none changes
        self.weights: np.ndarray | None = None  # [rows, positions], kept only for a watched run

    def attend(self, rows: np.ndarray, grid: RowGrid, code: KeyCode, key_range: ValueRange) -> np.ndarray:
        """Return the head's output at these rows, [values, rows]; `key_range` is the range of all keys."""
        Z = np.zeros(rows.size, dtype=self._compact.wide)
        values = np.zeros((len(self._operands.V), rows.size), dtype=self._compact.narrow)
        outputs = Outputs(rows, grid, code, key_range, values, Z)
        if self.weights is not None:
            self.weights[rows] = 0
        coded = self._have_code(rows, grid, code)
        for members, attend in ((coded, self._attend_by_code), (~coded, self._attend_without_code)):
            _fill(attend, members, outputs)
        if not Z.all():
            raise AttendsNowhere(int(rows[np.argmin(Z)]))
        return values

    def _have_code(self, rows: np.ndarray, grid: RowGrid, code: KeyCode) -> np.ndarray:
        """Return which rows have a code, in a word in which all keys have a code."""
        if not code.deciding.size:
            return np.zeros(rows.size, dtype=bool)
        regular = self._query_code[rows] != NONE
        keys = grid.existing(self._key_code)
        if self.index is None and keys.min(initial=0) == NONE:
            irregular = (keys.reshape(grid.batch, grid.length) == NONE).any(axis=1)
            regular &= ~irregular[grid.word(rows)]
        return regular

    def _attend_by_code(self, outputs: Outputs) -> None:
        """Compute the rows with a code."""
        start, count, keys = matches = self._matches(outputs)
        if outputs.code.constant and (count == 1).all():
            self._gather(outputs, keys[start])
        elif int(count.sum()) > LONG * outputs.rows.size and self._may_use_classes(int(count.sum()), outputs.grid):
            self._attend_by_classes(lambda subset: self._attend_to_code_lists(subset, self._matches(subset)), outputs)
        else:
            self._attend_to_code_lists(outputs, matches)

    def _attend_to_code_lists(self, outputs: Outputs, matches: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Compute rows from lists of all keys of the same code."""
        start, count, keys = matches
        if not self._causal and int(count.sum()) > LONG * outputs.rows.size:
            computed, inverse = self._distinct_queries(outputs)
        else:
            computed, inverse = np.arange(outputs.rows.size), None
        self._attend_to_lists(outputs, Listed(computed, start[computed], count[computed], keys), outputs.code.equal)
        self._copy_to_duplicates(outputs, computed, inverse)

    def _attend_to_lists(self, outputs: Outputs, listed: Listed, steps: Steps) -> None:
        """Compute rows from lists of keys; lists of similar length are processed together."""
        size = np.searchsorted(1 << np.arange(40), listed.count)
        for s in np.unique(size):
            members = np.flatnonzero((size == s) & (listed.count > 0))
            longest = int(listed.count[members].max(initial=0))
            for block in _blocks(members, longest):
                offset, start, queries = np.arange(longest), listed.start[block, None], listed.members[block]
                real = offset < listed.count[block, None]
                keys = listed.keys[np.where(real, start + offset, start)]
                visible = real & (keys <= outputs.rows[queries, None]) if self._causal else real
                self._attend_block(outputs, queries, keys, visible, steps)

    def _may_use_classes(self, pairs: int, grid: RowGrid) -> bool:
        """Return whether classes save enough work; a watched run needs every weight and never uses them."""
        many = pairs >= CLASSED_FROM and grid.length >= CLASSED_KEYS
        return many and grid.size <= CLASSED_ROWS and self.weights is None

    def _attend_without_code(self, outputs: Outputs) -> None:
        """Compute the rows without a code."""
        if self._may_use_classes(outputs.rows.size * outputs.grid.length, outputs.grid):
            self._attend_by_classes(self._attend_to_all, outputs)
        else:
            self._attend_to_all(outputs)

    def _attend_by_classes(self, attend: Attend, outputs: Outputs) -> None:
        """Compute rows by classes of queries and keys; `attend` computes the rows that see too many classes."""
        rows, grid, Z = outputs.rows, outputs.grid, outputs.Z
        computed, inverse, lists = self.classes.attend(rows, grid, outputs.key_range, outputs.values, Z)
        for listed in lists:
            self._attend_to_lists(outputs, listed, outputs.code.any)
        _fill(attend, Z < 0, outputs)
        self._copy_to_duplicates(outputs, computed, inverse)

    def _attend_to_all(self, outputs: Outputs) -> None:
        """Compute rows from every key that they may see."""
        rows, grid, steps = outputs.rows, outputs.grid, outputs.code.any
        computed, inverse = (np.arange(rows.size), None) if self._causal else self._distinct_queries(outputs)
        words = grid.word(rows[computed])
        position = np.arange(grid.length)
        if grid.length < 256 and words[0] != words[-1]:
            for block in _blocks(computed, grid.length):
                keys = grid.word(rows[block])[:, None] * grid.capacity + position
                visible = keys <= rows[block, None] if self._causal else np.ones_like(keys, dtype=bool)
                self._attend_block(outputs, block, keys, visible, steps)
        else:
            for word in np.unique(words):
                first = int(word) * grid.capacity
                for block in _blocks(computed[words == word], grid.length):
                    visible = np.ones((block.size, grid.length), dtype=bool)
                    if self._causal:
                        visible = position <= rows[block, None] - first
                    self._attend_block(outputs, block, slice(first, first + grid.length), visible, steps)
        self._copy_to_duplicates(outputs, computed, inverse)

    def _matches(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (start, count, keys): the keys of the code of rows[i] are keys[start[i] : start[i] + count[i]]."""
        rows, grid = outputs.rows, outputs.grid
        codes, index = self._query_code[rows], self.index
        if index is None and rows.size * grid.length > COMPARED_AT_ONCE:
            present = grid.rows[grid.existing(self._key_code) != NONE]
            index = CodeIndex(self._key_code[present], present, grid.batch << outputs.code.deciding.size)
            if present.size == grid.batch * grid.length:  # with irregular keys it is valid for this call only
                self.index = index
        if index is not None:
            return *index.find(codes), index.rows
        by_word = self._key_code.reshape(grid.batch, grid.capacity)[:, : grid.length]
        equal = (by_word if grid.batch == 1 else by_word[grid.word(rows)]) == codes[:, None]
        which, position = np.nonzero(equal)
        count = np.bincount(which, minlength=rows.size)
        return np.cumsum(count) - count, count, grid.word(rows)[which] * grid.capacity + position

    def _gather(self, outputs: Outputs, keys: np.ndarray) -> None:
        """Compute rows that see one key each, all with the same score."""
        compact, rows, grid = self._compact, outputs.rows, outputs.grid
        e = self._operands.constant_exp(outputs.code.equal)
        outputs.Z[:] = e if not self._causal else np.where(keys <= rows, e, 0)
        weight = int(compact.divide(np.array([e]), np.array([max(e, 1)], dtype=compact.wide))[0])
        for values, column in zip(outputs.values, self._operands.V, strict=True):
            values[:] = column.take(keys)
        if weight != compact.precision.one:
            outputs.values[:] = compact.multiply(outputs.values, np.array(weight, dtype=compact.wide))
        if self.weights is not None:
            self.weights[rows, keys - grid.word(rows) * grid.capacity] = weight

    def _attend_block(
        self, outputs: Outputs, block: np.ndarray, keys: np.ndarray | slice, visible: np.ndarray, steps: Steps
    ) -> None:
        """Compute a block of rows from these keys, and store their weights in a watched run."""
        check()
        rows, grid = outputs.rows[block], outputs.grid
        outputs.values[:, block], weights, outputs.Z[block] = self._operands.attend(rows, keys, visible, steps)
        if self.weights is None:
            return
        if isinstance(keys, slice):
            self.weights[rows, : grid.length] = weights
        else:
            position = keys - grid.word(rows)[:, None] * grid.capacity
            row = np.broadcast_to(rows[:, None], keys.shape)
            self.weights[row[visible], position[visible]] = weights[visible]

    def _distinct_queries(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Return (representatives, index of each row's): rows of a word with equal effective queries share one."""
        places = self._operands.places
        Q = np.take(self._operands.Q, outputs.rows, axis=1)
        since, score = score_prefix(Q, places, outputs.key_range, self._compact)
        columns = np.where(np.arange(places[0].size)[:, None] >= since, Q[places[0]], self._compact.narrow.type(0))
        return distinct_by_hash(np.vstack([outputs.grid.word(outputs.rows), since, score]), columns)

    def _copy_to_duplicates(self, outputs: Outputs, computed: np.ndarray, inverse: np.ndarray | None) -> None:
        """Copy the output of a representative to the rows that it represents."""
        if inverse is None:
            return
        source = computed[inverse]
        outputs.values[:] = np.take(outputs.values, source, axis=1)
        outputs.Z[:] = outputs.Z[source]
        if self.weights is not None:
            self.weights[outputs.rows] = self.weights[outputs.rows[source]]


def _fill(attend: Attend, members: np.ndarray, outputs: Outputs) -> None:
    """Compute the rows that are members by one method."""
    if members.all():
        attend(outputs)
    elif members.any():
        subset = outputs.of(members)
        attend(subset)
        outputs.values[:, members], outputs.Z[members] = subset.values, subset.Z


def _blocks(members: np.ndarray, keys: int) -> list[np.ndarray]:
    """Split a list of rows into blocks whose pairs of a row and a key fit into memory."""
    step = max(1, PAIRS_AT_ONCE // max(1, keys))
    return [members[first : first + step] for first in range(0, members.size, step)]
