"""HeadAttention: the output of one head at some rows, by the cheapest way that is proved to be exact.

    one key of the same code, all with one score      a gather
    several keys of the same code                     lists of nearly one length at a time
    no code, or long lists, of many rows              by classes of queries and keys
    no code                                           every key that the row may see, in blocks

Rows of a word with one effective query have one output where all of them see all keys.
"""

from collections.abc import Callable

import numpy as np

from unmask.budget import check
from unmask.engines.classes.class_attention import ClassAttention, Listed
from unmask.engines.scores import AT_ONCE, Operands
from unmask.engines.shared.bit_codes import Code, Range, Steps
from unmask.engines.shared.code_index import CodeIndex
from unmask.engines.shared.distinct import distinct
from unmask.engines.shared.grid import Grid
from unmask.engines.shared.visible_keys import forgotten

COMPARED_AT_ONCE = 1 << 16
NONE = -1
LONG = 8  # keys per row, from which it pays to look for what rows have in common
CLASSED_FROM = 1 << 16  # pairs of a row and a key
CLASSED_KEYS = 128  # of a word
CLASSED_ROWS = 1 << 16  # of all words, at most: what classes need while they are computed

Attend = Callable[[np.ndarray, Grid, Code, Range, np.ndarray, np.ndarray], None]
"""Rows, …, the output and Z to be filled in."""


class AttendsNowhere(Exception):
    """Z = 0 at a row of the grid."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class HeadAttention:
    """One head of one session; codes have the word before them, or are NONE."""

    def __init__(self, operands: Operands, causal: bool, query_code: np.ndarray, key_code: np.ndarray) -> None:
        self._operands, self._compact, self._causal = operands, operands.compact, causal
        self._query_code, self._key_code = query_code, key_code
        self.classes = ClassAttention(operands.Q, operands.K, operands.V, operands.places, self._compact, causal)
        self.index: CodeIndex | None = None  # of all keys, while none of them changes its code and all have one
        self.weights: np.ndarray | None = None  # [rows, positions], kept only while someone watches

    def attend(self, rows: np.ndarray, grid: Grid, code: Code, keys: Range) -> np.ndarray:
        """The head's output at the given rows, [values, rows]; `keys` is the range of all keys."""
        Z = np.zeros(rows.size, dtype=self._compact.wide)
        result = np.zeros((len(self._operands.V), rows.size), dtype=self._compact.narrow)
        if self.weights is not None:
            self.weights[rows] = 0
        joined = self._may_join(rows, grid, code)
        for members, attend in ((joined, self._joined), (~joined, self._others)):
            self._part(attend, members, rows, grid, code, keys, result, Z)
        if not Z.all():
            raise AttendsNowhere(int(rows[np.argmin(Z)]))
        return result

    def _part(
        self,
        attend: Attend,
        members: np.ndarray,
        rows: np.ndarray,
        grid: Grid,
        code: Code,
        keys: Range,
        result: np.ndarray,
        Z: np.ndarray,
    ) -> None:
        """The rows that are members, one way."""
        if members.all():
            attend(rows, grid, code, keys, result, Z)
        elif members.any():
            part, part_Z = result[:, members], Z[members]
            attend(rows[members], grid, code, keys, part, part_Z)
            result[:, members], Z[members] = part, part_Z

    def _may_join(self, rows: np.ndarray, grid: Grid, code: Code) -> np.ndarray:
        """Rows with a code, in words in which all keys have one."""
        if not code.deciding.size:
            return np.zeros(rows.size, dtype=bool)
        regular = self._query_code[rows] != NONE
        keys = grid.exists(self._key_code)
        if self.index is None and keys.min(initial=0) == NONE:
            irregular = (keys.reshape(grid.batch, grid.length) == NONE).any(axis=1)
            regular &= ~irregular[grid.word(rows)]
        return regular

    def _joined(
        self, rows: np.ndarray, grid: Grid, code: Code, range_: Range, result: np.ndarray, Z: np.ndarray
    ) -> None:
        start, count, keys = self._matches(rows, grid, code)
        if code.constant and (count == 1).all():
            self._gather(rows, keys[start], grid, code, result, Z)
        elif int(count.sum()) > LONG * rows.size and self._may_class(int(count.sum()), grid):
            self._classed(self._matched, rows, grid, code, range_, result, Z)
        else:
            self._listed_by_code(rows, grid, code, range_, (start, count, keys), result, Z)

    def _matched(
        self, rows: np.ndarray, grid: Grid, code: Code, range_: Range, result: np.ndarray, Z: np.ndarray
    ) -> None:
        self._listed_by_code(rows, grid, code, range_, self._matches(rows, grid, code), result, Z)

    def _listed_by_code(
        self,
        rows: np.ndarray,
        grid: Grid,
        code: Code,
        range_: Range,
        matches: tuple[np.ndarray, np.ndarray, np.ndarray],
        result: np.ndarray,
        Z: np.ndarray,
    ) -> None:
        """Every key of the same code."""
        start, count, keys = matches
        if not self._causal and int(count.sum()) > LONG * rows.size:
            computed, inverse = self._distinct(rows, grid, range_)
        else:
            computed, inverse = np.arange(rows.size), None
        self._listed(rows, Listed(computed, start[computed], count[computed], keys), code.equal, grid, result, Z)
        self._spread(rows, computed, inverse, result, Z)

    def _listed(
        self, rows: np.ndarray, listed: Listed, steps: Steps, grid: Grid, result: np.ndarray, Z: np.ndarray
    ) -> None:
        """Lists of nearly one length at a time."""
        size = np.searchsorted(1 << np.arange(40), listed.count)
        for s in np.unique(size):
            members = np.flatnonzero((size == s) & (listed.count > 0))
            longest = int(listed.count[members].max(initial=0))
            for block in _blocks(members, longest):
                offset, start, queries = np.arange(longest), listed.start[block, None], listed.members[block]
                real = offset < listed.count[block, None]
                keys = listed.keys[np.where(real, start + offset, start)]
                visible = real & (keys <= rows[queries, None]) if self._causal else real
                self._block(rows, queries, keys, visible, steps, grid, result, Z)

    def _may_class(self, pairs: int, grid: Grid) -> bool:
        """Is there enough to be gained? (Who watches is shown every weight.)"""
        many = pairs >= CLASSED_FROM and grid.length >= CLASSED_KEYS
        return many and grid.size <= CLASSED_ROWS and self.weights is None

    def _others(
        self, rows: np.ndarray, grid: Grid, code: Code, range_: Range, result: np.ndarray, Z: np.ndarray
    ) -> None:
        """Rows without a code."""
        if self._may_class(rows.size * grid.length, grid):
            self._classed(self._all, rows, grid, code, range_, result, Z)
        else:
            self._all(rows, grid, code, range_, result, Z)

    def _classed(
        self,
        attend: Attend,
        rows: np.ndarray,
        grid: Grid,
        code: Code,
        range_: Range,
        result: np.ndarray,
        Z: np.ndarray,
    ) -> None:
        """By classes of queries and keys, and those that see too much in another way."""
        computed, inverse, lists = self.classes.attend(rows, grid, range_, result, Z)
        for listed in lists:
            self._listed(rows, listed, code.any, grid, result, Z)
        self._part(attend, Z < 0, rows, grid, code, range_, result, Z)
        self._spread(rows, computed, inverse, result, Z)

    def _all(self, rows: np.ndarray, grid: Grid, code: Code, range_: Range, result: np.ndarray, Z: np.ndarray) -> None:
        """Every key that a row may see."""
        computed, inverse = (np.arange(rows.size), None) if self._causal else self._distinct(rows, grid, range_)
        words = grid.word(rows[computed])
        position = np.arange(grid.length)
        if grid.length < 256 and words[0] != words[-1]:
            for block in _blocks(computed, grid.length):
                keys = grid.word(rows[block])[:, None] * grid.capacity + position
                visible = keys <= rows[block, None] if self._causal else np.ones_like(keys, dtype=bool)
                self._block(rows, block, keys, visible, code.any, grid, result, Z)
        else:
            for word in np.unique(words):
                first = int(word) * grid.capacity
                for block in _blocks(computed[words == word], grid.length):
                    visible = np.ones((block.size, grid.length), dtype=bool)
                    if self._causal:
                        visible = position <= rows[block, None] - first
                    self._block(rows, block, slice(first, first + grid.length), visible, code.any, grid, result, Z)
        self._spread(rows, computed, inverse, result, Z)

    def _matches(self, rows: np.ndarray, grid: Grid, code: Code) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(start, count, keys): the keys of the code of rows[i] are keys[start[i] : start[i] + count[i]]."""
        codes, index = self._query_code[rows], self.index
        if index is None and rows.size * grid.length > COMPARED_AT_ONCE:
            present = grid.rows[grid.exists(self._key_code) != NONE]
            index = CodeIndex(self._key_code[present], present, grid.batch << code.deciding.size)
            if present.size == grid.batch * grid.length:  # with irregular keys it serves this call alone
                self.index = index
        if index is not None:
            return *index.find(codes), index.rows
        by_word = self._key_code.reshape(grid.batch, grid.capacity)[:, : grid.length]
        equal = (by_word if grid.batch == 1 else by_word[grid.word(rows)]) == codes[:, None]
        which, position = np.nonzero(equal)
        count = np.bincount(which, minlength=rows.size)
        return np.cumsum(count) - count, count, grid.word(rows)[which] * grid.capacity + position

    def _gather(
        self, rows: np.ndarray, keys: np.ndarray, grid: Grid, code: Code, result: np.ndarray, Z: np.ndarray
    ) -> None:
        """One key per row, all with one score."""
        compact = self._compact
        e = self._operands.constant_exp(code.equal)
        Z[:] = e if not self._causal else np.where(keys <= rows, e, 0)
        weight = int(compact.divide(np.array([e]), np.array([max(e, 1)], dtype=compact.wide))[0])
        for values, column in zip(result, self._operands.V, strict=True):
            values[:] = column.take(keys)
        if weight != compact.precision.one:
            result[:] = compact.multiply(result, np.array(weight, dtype=compact.wide))
        if self.weights is not None:
            self.weights[rows, keys - grid.word(rows) * grid.capacity] = weight

    def _block(
        self,
        rows: np.ndarray,
        block: np.ndarray,
        keys: np.ndarray | slice,
        visible: np.ndarray,
        steps: Steps,
        grid: Grid,
        result: np.ndarray,
        Z: np.ndarray,
    ) -> None:
        check()
        result[:, block], weights, Z[block] = self._operands.attend(rows[block], keys, visible, steps)
        if self.weights is None:
            return
        if isinstance(keys, slice):
            self.weights[rows[block], : grid.length] = weights
        else:
            place = keys - grid.word(rows[block])[:, None] * grid.capacity
            row = np.broadcast_to(rows[block, None], keys.shape)
            self.weights[row[visible], place[visible]] = weights[visible]

    def _distinct(self, rows: np.ndarray, grid: Grid, keys: Range) -> tuple[np.ndarray, np.ndarray]:
        """(representatives, which of them stands for each row): rows of one word with one effective query."""
        places = self._operands.places
        Q = np.take(self._operands.Q, rows, axis=1)
        since, score = forgotten(Q, places, keys, self._compact)
        columns = np.where(np.arange(places[0].size)[:, None] >= since, Q[places[0]], self._compact.narrow.type(0))
        return distinct(np.vstack([grid.word(rows), since, score]), columns)

    def _spread(
        self, rows: np.ndarray, computed: np.ndarray, inverse: np.ndarray | None, result: np.ndarray, Z: np.ndarray
    ) -> None:
        if inverse is None:
            return
        source = computed[inverse]
        result[:] = np.take(result, source, axis=1)
        Z[:] = Z[source]
        if self.weights is not None:
            self.weights[rows] = self.weights[rows[source]]


def _blocks(members: np.ndarray, keys: int) -> list[np.ndarray]:
    """Parts of a list of rows such that the pairs of each fit into memory."""
    step = max(1, AT_ONCE // max(1, keys))
    return [members[first : first + step] for first in range(0, members.size, step)]
