"""HeadState: queries, keys, values and codes of one head, kept from call to call.

A row's head output depends on its query, on the keys of its code, and on their values. `update` takes in the rows
that changed and tells which outputs may have changed with them; `attend` computes outputs. Without a code (see
`shared/visible_keys`), a row depends on every row it may see.
"""

import numpy as np

from unmask.engines.attention import NONE, HeadAttention
from unmask.engines.scores import Operands
from unmask.engines.shared.bit_codes import BitColumns, Code, Range, find_bits
from unmask.engines.shared.grid import Grid, Span, span
from unmask.engines.shared.prepared import PreparedHead
from unmask.engines.shared.visible_keys import MOST_BITS, prove
from unmask.numerics.compact import Compact


class HeadState:
    """One head of one session."""

    def __init__(self, head: PreparedHead, compact: Compact, causal: bool, grid: Grid) -> None:
        self._head, self._compact, self._causal = head, compact, causal
        self._places = (head.query.place, head.key.place)
        self._Q, self._K, self._V = (
            np.zeros((size, grid.size), dtype=compact.narrow)
            for size in (head.query.size, head.key.size, head.value.size)
        )
        self._ranges: tuple[Range, Range] | None = None
        self._bits: BitColumns | None = None
        self._code: Code | None = None
        self._looked_at = 0  # how many rows there were when bits were last looked for
        # code with the word before it, or NONE for irregular rows and rows that do not exist
        self._query_code = np.full(grid.size, NONE, dtype=np.int64)
        self._key_code = np.full(grid.size, NONE, dtype=np.int64)
        operands = Operands(self._Q, self._K, self._V, self._places, compact)
        self.attention = HeadAttention(operands, causal, self._query_code, self._key_code)

    @property
    def code(self) -> Code:
        assert self._code is not None, "a head is asked after it has seen its rows"
        return self._code

    @property
    def coded(self) -> bool:
        return self._code is not None and self._code.deciding.size > 0

    def attend(self, rows: np.ndarray, grid: Grid) -> np.ndarray:
        """The head's output at the given rows, [values, rows]."""
        if not rows.size:
            return np.zeros((len(self._V), 0), dtype=self._compact.narrow)
        assert self._ranges is not None
        return self.attention.attend(rows, grid, self.code, self._ranges[1])

    def update(self, x: np.ndarray, rows: np.ndarray, new: np.ndarray, touched: np.ndarray, grid: Grid) -> np.ndarray:
        """Take in the changed rows of the store x; returns the rows that they affect.

        `new` are those that did not exist; the others changed only in the `touched` columns.
        """
        where = span(rows)
        moved = new.copy()
        if touched[self._head.value.used].any():
            moved |= _replace(self._V, where, self._head.value(x, where))
        if not (touched[self._head.query.used].any() or touched[self._head.key.used].any() or new.any()):
            return self._affected(rows[moved], self._key_code[rows[moved]], new[moved], grid)
        Q, K = self._head.query(x, where), self._head.key(x, where)
        self._Q[:, where] = Q
        differs = _replace(self._K, where, K)
        moved |= differs
        if new.any():
            self.attention.index = None
        if new.any() or differs.any():
            self.attention.classes.keys = None
        before = self._key_code[rows[moved]]
        if self._learn(Q, K, grid):
            if not new.all():
                return grid.rows
        elif self.coded:
            self._encode(rows, where, Q, K, grid)
        return self._affected(rows[moved], before, new[moved], grid)

    def _learn(self, Q: np.ndarray, K: np.ndarray, grid: Grid) -> bool:
        """Take in new queries and keys; True if codes mean something else now, so that all rows were encoded anew."""
        ranges, widened = self._widened(Q, K)
        bits, looked = self._looked_for_bits(grid)
        if not (widened or looked):
            return False
        most = MOST_BITS - grid.batch.bit_length()
        before, after = self._code, prove(bits, self._places, ranges, self._compact, grid.exists(self._Q), most)
        self._code = after
        if before is not None and not looked and _same_meaning(before, after):
            return False
        self._query_code[:] = self._key_code[:] = NONE
        self.attention.index = None
        if self.coded:
            where = span(grid.rows)
            self._encode(grid.rows, where, self._Q[:, where], self._K[:, where], grid)
        return True

    def _widened(self, Q: np.ndarray, K: np.ndarray) -> tuple[tuple[Range, Range], bool]:
        """(the ranges of all queries and keys, these among them; are they new?)"""
        known = self._ranges
        if known is not None and known[0].holds(Q) and known[1].holds(K):
            return known, False
        new = Range.of(Q), Range.of(K)
        self._ranges = new if known is None else (known[0].union(new[0]), known[1].union(new[1]))
        return self._ranges, True

    def _looked_for_bits(self, grid: Grid) -> tuple[BitColumns, bool]:
        """(the bits; were they looked for again?) Without a code, they are whenever the rows have doubled."""
        existing = grid.batch * grid.length
        if self._bits is not None and (self.coded or existing < 2 * self._looked_at):
            return self._bits, False
        self._looked_at = existing
        self._bits = find_bits(grid.exists(self._Q), grid.exists(self._K), self._places)
        return self._bits, True

    def _encode(self, rows: np.ndarray, where: Span, Q: np.ndarray, K: np.ndarray, grid: Grid) -> None:
        code = self.code
        word = grid.word(rows) << code.deciding.size if grid.batch > 1 else 0
        for known, (codes, regular) in (
            (self._query_code, code.of_queries(Q)),
            (self._key_code, code.of_keys(K)),
        ):
            codes = np.where(regular, codes + word, NONE)
            if known is self._key_code and not np.array_equal(codes, known[where]):
                self.attention.index = None
            known[where] = codes

    # which outputs may have changed

    def _affected(self, moved: np.ndarray, before: np.ndarray, new: np.ndarray, grid: Grid) -> np.ndarray:
        """The rows that read one of the moved keys; `before` are their codes before, where they are not new."""
        if not moved.size:
            return moved
        after = self._key_code[moved]
        if not self.coded or (after == NONE).any() or ((before == NONE) & ~new).any():
            return self._seeing(moved, grid)
        return self._joined(moved, np.concatenate([before[~new], after]), grid)

    def _seeing(self, moved: np.ndarray, grid: Grid) -> np.ndarray:
        """The rows that see one of the moved keys."""
        rows = grid.rows
        first = _first_moved(moved, grid)[grid.word(rows)]
        return rows[rows >= first] if self._causal else rows[first < grid.size]

    def _joined(self, moved: np.ndarray, codes: np.ndarray, grid: Grid) -> np.ndarray:
        """The rows with one of these codes, and irregular rows, which may see any key."""
        query_codes = grid.exists(self._query_code)
        space = grid.batch << self.code.deciding.size
        if codes.size <= 2:
            wanted = (query_codes == codes[0]) | (query_codes == codes[-1])
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
        return affected[affected >= _first_moved(moved, grid)[grid.word(affected)]] if self._causal else affected


def _same_meaning(before: Code, after: Code) -> bool:
    """Do two codes of the same bits give every row the same code? Not surely where one holds for some queries only."""
    return before.holds is None and after.holds is None and np.array_equal(before.deciding, after.deciding)


def _first_moved(moved: np.ndarray, grid: Grid) -> np.ndarray:
    """The first moved row of every word; beyond all rows where none moved."""
    first = np.full(grid.batch, grid.size)
    np.minimum.at(first, grid.word(moved), moved)
    return first


def _replace(known: np.ndarray, where: Span, values: np.ndarray) -> np.ndarray:
    """known[:, where] = values; tells which rows were not equal."""
    differs = (known[:, where] != values).any(axis=0)
    known[:, where] = values
    return differs
