"""HeadState: queries, keys, values and codes of one head, kept from call to call.

A row's head output depends on its query, on the keys of its code, and on their values. `update` takes in the rows
that changed and tells which outputs may have changed with them; `attend` computes outputs. Without a code (see
`bit_codes`), a row depends on every row it may see.
"""

import numpy as np

from unmask.engines.bit_codes import MOST_BITS, Bits, Code, Range, find_bits, prove
from unmask.engines.code_index import CodeIndex
from unmask.engines.grid import Grid, Span, span
from unmask.engines.prepared import PreparedHead
from unmask.engines.scores import AT_ONCE, Operands
from unmask.numerics.compact import Compact

COMPARED_AT_ONCE = 1 << 16
NONE = -1


class AttendsNowhere(Exception):
    """Z = 0 at a row of the grid."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class HeadState:
    """One head of one session."""

    def __init__(self, head: PreparedHead, compact: Compact, causal: bool, grid: Grid) -> None:
        self._head, self._compact, self._causal = head, compact, causal
        self._places = (head.query.place, head.key.place)
        self._Q, self._K, self._V = (
            np.zeros((size, grid.size), dtype=compact.narrow)
            for size in (head.query.size, head.key.size, head.value.size)
        )
        self._operands = Operands(self._Q, self._K, self._V, self._places, compact)
        self._ranges: tuple[Range, Range] | None = None
        self._bits: Bits | None = None
        self._code: Code | None = None
        self._looked_at = 0  # how many rows there were when bits were last looked for
        # code with the word before it, or NONE for irregular rows and rows that do not exist
        self._query_code = np.full(grid.size, NONE, dtype=np.int64)
        self._key_code = np.full(grid.size, NONE, dtype=np.int64)
        self._index: CodeIndex | None = None
        self.weights: np.ndarray | None = None  # [rows, positions], kept only while someone watches

    @property
    def coded(self) -> bool:
        return self._code is not None and self._code.chosen.size > 0

    def update(self, x: np.ndarray, rows: np.ndarray, new: np.ndarray, touched: np.ndarray, grid: Grid) -> np.ndarray:
        """Take in the changed rows of the store x; returns the rows that they affect.

        `new` are those that did not exist; the others changed only in the `touched` columns.
        """
        where = span(rows)
        moved = new.copy()
        if touched[self._head.value.used].any():
            moved |= _replace(self._V, where, self._head.value(x, where))
        known = self._code is not None  # a head without queries or keys touches nothing, and must be learnt once
        if known and not (touched[self._head.query.used].any() or touched[self._head.key.used].any()):
            return self._affected(rows[moved], self._key_code[rows[moved]], new[moved], grid)
        Q, K = self._head.query(x, where), self._head.key(x, where)
        self._Q[:, where] = Q
        moved |= _replace(self._K, where, K)
        if new.any():
            self._index = None
        before = self._key_code[rows[moved]]
        if self._learn(Q, K, grid):
            if not new.all():
                return grid.rows
        elif self.coded:
            self._encode(rows, where, Q, K, grid)
        return self._affected(rows[moved], before, new[moved], grid)

    def attend(self, rows: np.ndarray, grid: Grid) -> np.ndarray:
        """The head's output at the given rows, [values, rows]."""
        Z = np.zeros(rows.size, dtype=self._compact.wide)
        result = np.zeros((len(self._V), rows.size), dtype=self._compact.narrow)
        if self.weights is not None:
            self.weights[rows] = 0
        if not rows.size:
            return result
        joined = self._may_join(rows, grid)
        if joined.all():
            self._attend_joined(rows, grid, result, Z)
        elif not joined.any():
            self._attend_all(rows, grid, result, Z)
        else:
            for chosen, attend in ((joined, self._attend_joined), (~joined, self._attend_all)):
                part, part_Z = result[:, chosen], Z[chosen]
                attend(rows[chosen], grid, part, part_Z)
                result[:, chosen], Z[chosen] = part, part_Z
        if not Z.all():
            raise AttendsNowhere(int(rows[np.argmin(Z)]))
        return result

    # what is known of the values

    def _learn(self, Q: np.ndarray, K: np.ndarray, grid: Grid) -> bool:
        """Widen the ranges; True if codes mean something else now, so that all rows were encoded anew."""
        ranges, before = self._ranges, self._code
        if ranges is None:
            self._ranges = (Range.of(Q), Range.of(K))
        elif not (ranges[0].holds(Q) and ranges[1].holds(K)):
            self._ranges = (ranges[0].union(Range.of(Q)), ranges[1].union(Range.of(K)))
        existing = grid.batch * grid.length
        look = self._bits is None or (existing >= 2 * self._looked_at and not self.coded)
        if look:
            self._looked_at = existing
            self._bits = find_bits(grid.exists(self._Q), grid.exists(self._K), self._places)
        if self._ranges is ranges and not look:
            return False
        assert self._bits is not None
        assert self._ranges is not None
        most = MOST_BITS - grid.batch.bit_length()
        self._code = prove(self._bits, self._places, self._ranges, self._compact, most)
        if before is not None and not look and np.array_equal(before.chosen, self._code.chosen):
            return False
        self._query_code[:] = self._key_code[:] = NONE
        self._index = None
        if self.coded:
            rows = grid.rows
            where = span(rows)
            self._encode(rows, where, self._Q[:, where], self._K[:, where], grid)
        return True

    def _encode(self, rows: np.ndarray, where: Span, Q: np.ndarray, K: np.ndarray, grid: Grid) -> None:
        code = self._code
        assert code is not None
        word = grid.word(rows) << code.chosen.size if grid.batch > 1 else 0
        for kept, (codes, regular) in (
            (self._query_code, code.of_queries(Q)),
            (self._key_code, code.of_keys(K)),
        ):
            codes = np.where(regular, codes + word, NONE)
            if kept is self._key_code and not np.array_equal(codes, kept[where]):
                self._index = None
            kept[where] = codes

    # which outputs may have changed

    def _affected(self, moved: np.ndarray, before: np.ndarray, new: np.ndarray, grid: Grid) -> np.ndarray:
        if not moved.size:
            return moved
        return self._joined(moved, before, new, grid) if self.coded else self._seeing(moved, grid)

    def _seeing(self, moved: np.ndarray, grid: Grid) -> np.ndarray:
        """The rows that see one of the moved keys."""
        rows = grid.rows
        first = np.full(grid.batch, grid.size)
        np.minimum.at(first, grid.word(moved), moved)
        first = first[grid.word(rows)]
        return rows[rows >= first] if self._causal else rows[first < grid.size]

    def _joined(self, moved: np.ndarray, before: np.ndarray, new: np.ndarray, grid: Grid) -> np.ndarray:
        """The rows whose code is that of a moved key, before or now; irregular rows and keys concern all."""
        after = self._key_code[moved]
        irregular = moved[(after == NONE) | ((before == NONE) & ~new)]
        if irregular.size:
            return self._seeing(moved, grid)
        codes = np.concatenate([before[~new], after])
        query_codes = grid.exists(self._query_code)
        space = grid.batch << self._code.chosen.size if self._code is not None else 0
        if codes.size <= 2:
            wanted = np.zeros(query_codes.size, dtype=bool)
            for c in codes:
                wanted |= query_codes == c
        elif space <= 4 * query_codes.size + 1024:
            marked = np.zeros(space + 1, dtype=bool)  # the last entry answers for NONE
            marked[codes] = True
            wanted = marked[query_codes]
        else:
            wanted = np.isin(query_codes, codes)
        wanted |= query_codes == NONE
        affected = np.flatnonzero(wanted)
        if grid.length < grid.capacity and grid.batch > 1:
            affected = affected // grid.length * grid.capacity + affected % grid.length
        if self._causal and grid.batch == 1:
            affected = affected[affected >= moved[0]]
        return affected

    # outputs

    def _may_join(self, rows: np.ndarray, grid: Grid) -> np.ndarray:
        """Rows with a code, in words in which all keys have one."""
        if not self.coded:
            return np.zeros(rows.size, dtype=bool)
        regular = self._query_code[rows] != NONE
        if self._index is not None:
            return regular  # an index is made of regular keys only
        keys = grid.exists(self._key_code)
        if keys.min(initial=0) == NONE:
            irregular = (keys.reshape(grid.batch, grid.length) == NONE).any(axis=1)
            regular &= ~irregular[grid.word(rows)]
        return regular

    def _attend_joined(self, rows: np.ndarray, grid: Grid, result: np.ndarray, Z: np.ndarray) -> None:
        code = self._code
        assert code is not None
        start, count, keys = self._matches(rows, grid)
        if code.constant and (count == 1).all():
            self._gather(rows, keys[start], grid, result, Z)
            return
        if not self._causal and int(count.sum()) > 8 * rows.size:
            chosen, inverse = self._distinct(rows, grid)
        else:
            chosen, inverse = np.arange(rows.size), None
        # lists of nearly one length at a time
        size = np.searchsorted(1 << np.arange(40), count[chosen])
        for s in np.unique(size):
            members = chosen[(size == s) & (count[chosen] > 0)]
            longest = int(count[members].max(initial=0))
            for block in _blocks(members, longest):
                offset = np.arange(longest)
                real = offset < count[block, None]
                listed = keys[np.where(real, start[block, None] + offset, start[block, None])]
                visible = real & (listed <= rows[block, None]) if self._causal else real
                self._block(rows, block, listed, visible, code.equal, grid, result, Z)
        self._spread(rows, chosen, inverse, result, Z)

    def _attend_all(self, rows: np.ndarray, grid: Grid, result: np.ndarray, Z: np.ndarray) -> None:
        """Every key that a row may see."""
        code = self._code
        assert code is not None
        chosen, inverse = (np.arange(rows.size), None) if self._causal else self._distinct(rows, grid)
        words = grid.word(rows[chosen])
        position = np.arange(grid.length)
        if grid.length < 256 and words.size and words[0] != words[-1]:
            for block in _blocks(chosen, grid.length):
                keys = grid.word(rows[block])[:, None] * grid.capacity + position
                visible = keys <= rows[block, None] if self._causal else np.ones_like(keys, dtype=bool)
                self._block(rows, block, keys, visible, code.any, grid, result, Z)
        else:
            for word in np.unique(words):
                first = int(word) * grid.capacity
                for block in _blocks(chosen[words == word], grid.length):
                    visible = np.ones((block.size, grid.length), dtype=bool)
                    if self._causal:
                        visible = position <= rows[block, None] - first
                    self._block(rows, block, slice(first, first + grid.length), visible, code.any, grid, result, Z)
        self._spread(rows, chosen, inverse, result, Z)

    def _matches(self, rows: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(start, count, keys): the keys of the code of rows[i] are keys[start[i] : start[i] + count[i]]."""
        codes = self._query_code[rows]
        if self._index is None and rows.size * grid.length > COMPARED_AT_ONCE:
            present = grid.rows
            present = present[self._key_code[present] != NONE]
            space = grid.batch << self._code.chosen.size if self._code is not None else 0
            if present.size == grid.batch * grid.length:
                self._index = CodeIndex(self._key_code[present], present, space)
            else:  # some keys are irregular: this index serves this call alone
                index = CodeIndex(self._key_code[present], present, space)
                return *index.find(codes), index.rows
        if self._index is not None:
            return *self._index.find(codes), self._index.rows
        by_word = self._key_code.reshape(grid.batch, grid.capacity)[:, : grid.length]
        equal = (by_word if grid.batch == 1 else by_word[grid.word(rows)]) == codes[:, None]
        which, position = np.nonzero(equal)
        count = np.bincount(which, minlength=rows.size)
        return np.cumsum(count) - count, count, grid.word(rows)[which] * grid.capacity + position

    def _gather(self, rows: np.ndarray, keys: np.ndarray, grid: Grid, result: np.ndarray, Z: np.ndarray) -> None:
        """One key per row, all with one score."""
        compact, code = self._compact, self._code
        assert code is not None
        e = self._operands.constant_exp(code.equal)
        Z[:] = e if not self._causal else np.where(keys <= rows, e, 0)
        weight = int(compact.divide(np.array([e]), np.array([max(e, 1)], dtype=compact.wide))[0])
        for values, kept in zip(result, self._V, strict=True):
            values[:] = kept.take(keys)
        if weight != compact.precision.one:
            result[:] = compact.multiply(result, np.array(weight, dtype=compact.wide))
        if self.weights is not None:
            self.weights[rows, keys - grid.word(rows) * grid.capacity] = weight

    def _block(self, rows, block, keys, visible, steps, grid: Grid, result: np.ndarray, Z: np.ndarray) -> None:
        result[:, block], weights, Z[block] = self._operands.attend(rows[block], keys, visible, steps)
        if self.weights is not None:
            if isinstance(keys, slice):
                self.weights[rows[block], : grid.length] = weights
            else:
                place = keys - grid.word(rows[block])[:, None] * grid.capacity
                row = np.broadcast_to(rows[block, None], keys.shape)
                self.weights[row[visible], place[visible]] = weights[visible]

    def _distinct(self, rows: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """Rows of one word with one query have one output: (representatives, which one stands for each row)."""
        parts = [np.take(self._Q, rows, axis=1).astype(np.int64), grid.word(rows)[None]]
        keys = np.ascontiguousarray(np.concatenate(parts).T)
        keys = keys.view(np.dtype((np.void, keys.itemsize * keys.shape[1]))).ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        return first[order], rank[inverse.reshape(-1)]

    def _spread(self, rows, chosen: np.ndarray, inverse: np.ndarray | None, result: np.ndarray, Z: np.ndarray) -> None:
        if inverse is None:
            return
        result[:] = result[:, chosen[inverse]]
        Z[:] = Z[chosen[inverse]]
        if self.weights is not None:
            self.weights[rows] = self.weights[rows[chosen[inverse]]]


def _replace(kept: np.ndarray, where: Span, values: np.ndarray) -> np.ndarray:
    """kept[:, where] = values; tells which rows were not equal."""
    differs = (kept[:, where] != values).any(axis=0)
    kept[:, where] = values
    return differs


def _blocks(members: np.ndarray, keys: int) -> list[np.ndarray]:
    """Parts of a list of rows such that the pairs of each fit into memory."""
    step = max(1, AT_ONCE // max(1, keys))
    return [members[first : first + step] for first in range(0, members.size, step)]
