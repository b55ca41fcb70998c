"""The fast engine: the same integers as `reference`, for any weights; the cost depends on what changes.

    prepared_weights   products with sparse weights, in small integers
    visible_keys       a proof, from the values of queries and keys, that most exponentials are 0
    head_attention     with this proof a head joins rows by codes and does not compare all pairs; the rest is exact
    class_attention    without a code: equal queries, equal keys, and sums that many rows share
    chain_kernel       a whole chain of thought, row after row, in a compiled kernel

It keeps its state from call to call: a row is computed again only if something that it reads has changed. It is
deliberately independent of `reference`, so that tests can compare the two.

Every shortcut is justified by a proof from the current values; otherwise the numbers are computed. After the last layer
in which rows read each other, only the requested rows are computed.
"""

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from unmask.engines.chain_kernel import run_chain
from unmask.engines.engine import Footprint, Watch
from unmask.engines.footprint import fast_footprint
from unmask.engines.head_attention import NONE, AttendsNowhere, HeadAttention, Operands
from unmask.engines.prepared_weights import (
    Prepared,
    PreparedHead,
    RowGrid,
    Span,
    as_slice,
    count_rows,
    gather,
    prepared,
    scatter,
)
from unmask.engines.reference import LARGEST_SCORES
from unmask.engines.visible_keys import MOST_BITS, BitColumns, KeyCode, ValueRange, find_bits, prove_code
from unmask.errors import AttendsToNothing, TooLarge
from unmask.limits import check
from unmask.numerics.array_types import Int
from unmask.numerics.compact import Compact
from unmask.weights.transformer import Transformer

# HeadState: queries, keys, values and codes of one head, kept from call to call.
#
# A row's head output depends on its query, on the keys of its code, and on their values. `update` receives the rows
# that changed and returns the rows whose outputs may have changed; `attend` computes outputs. Without a code (see
# `visible_keys`), a row depends on every row it may see.


class HeadState:
    """One head of one session."""

    def __init__(self, head: PreparedHead, compact: Compact, causal: bool, grid: RowGrid) -> None:
        self._head, self._compact, self._causal = head, compact, causal
        self._places = (head.query.score_rows, head.key.score_rows)
        self._Q, self._K, self._V = (
            np.zeros((size, grid.size), dtype=compact.narrow)
            for size in (head.query.size, head.key.size, head.value.size)
        )
        self._ranges: tuple[ValueRange, ValueRange] | None = None
        self._bits: BitColumns | None = None
        self._code: KeyCode | None = None
        self._searched_rows = 0  # the number of rows at the last search for bits
        # the word, then the code; NONE for irregular rows and rows that do not exist
        self._query_code = np.full(grid.size, NONE, dtype=np.int64)
        self._key_code = np.full(grid.size, NONE, dtype=np.int64)
        operands = Operands(self._Q, self._K, self._V, self._places, compact)
        self.attention = HeadAttention(operands, causal, self._query_code, self._key_code)

    @property
    def code(self) -> KeyCode:
        assert self._code is not None, "`update` must run before `attend`"
        return self._code

    @property
    def coded(self) -> bool:
        return self._code is not None and self._code.deciding.size > 0

    def attend(self, rows: np.ndarray, grid: RowGrid) -> np.ndarray:
        """Return the head's output at these rows, [values, rows]."""
        if not rows.size:
            return np.zeros((len(self._V), 0), dtype=self._compact.narrow)
        assert self._ranges is not None
        return self.attention.attend(rows, grid, self.code, self._ranges[1])

    def update(
        self, x: np.ndarray, rows: np.ndarray, new: np.ndarray, touched: np.ndarray, grid: RowGrid
    ) -> np.ndarray:
        """Read the changed rows of the store x. Return the rows that they affect.

        `new` are the rows that did not exist; the others changed only in the `touched` columns.
        """
        where = as_slice(rows)
        moved = new.copy()
        if touched[self._head.value.used].any():
            moved |= _replace(self._V, where, self._head.value(x, where))
        if not (touched[self._head.query.used].any() or touched[self._head.key.used].any() or new.any()):
            return self._affected_rows(rows[moved], self._key_code[rows[moved]], new[moved], grid)
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
        return self._affected_rows(rows[moved], before, new[moved], grid)

    def _learn(self, Q: np.ndarray, K: np.ndarray, grid: RowGrid) -> bool:
        """Update ranges, bits and code with new queries and keys. Return True if all rows were encoded again."""
        ranges, widened = self._widen_ranges(Q, K)
        bits, searched = self._search_bits(grid)
        if not (widened or searched):
            return False
        most = MOST_BITS - grid.batch.bit_length()
        before, after = self._code, prove_code(bits, self._places, ranges, self._compact, grid.existing(self._Q), most)
        self._code = after
        if before is not None and not searched and _same_meaning(before, after):
            return False
        self._query_code[:] = self._key_code[:] = NONE
        self.attention.index = None
        if self.coded:
            where = as_slice(grid.rows)
            self._encode(grid.rows, where, self._Q[:, where], self._K[:, where], grid)
        return True

    def _widen_ranges(self, Q: np.ndarray, K: np.ndarray) -> tuple[tuple[ValueRange, ValueRange], bool]:
        """Include these queries and keys in the ranges. Return (the ranges, whether they changed)."""
        ranges = self._ranges
        if ranges is not None and ranges[0].holds(Q) and ranges[1].holds(K):
            return ranges, False
        new = ValueRange.of(Q), ValueRange.of(K)
        self._ranges = new if ranges is None else (ranges[0].union(new[0]), ranges[1].union(new[1]))
        return self._ranges, True

    def _search_bits(self, grid: RowGrid) -> tuple[BitColumns, bool]:
        """Return (the bits, whether they were searched again). Without a code, search them when the rows double."""
        existing = grid.batch * grid.length
        if self._bits is not None and (self.coded or existing < 2 * self._searched_rows):
            return self._bits, False
        self._searched_rows = existing
        self._bits = find_bits(grid.existing(self._Q), grid.existing(self._K), self._places)
        return self._bits, True

    def _encode(self, rows: np.ndarray, where: Span, Q: np.ndarray, K: np.ndarray, grid: RowGrid) -> None:
        """Store the codes of these queries and keys."""
        code = self.code
        word = grid.word(rows) << code.deciding.size if grid.batch > 1 else 0
        for stored, (codes, regular) in (
            (self._query_code, code.of_queries(Q)),
            (self._key_code, code.of_keys(K)),
        ):
            codes = np.where(regular, codes + word, NONE)
            if stored is self._key_code and not np.array_equal(codes, stored[where]):
                self.attention.index = None
            stored[where] = codes

    # the rows whose outputs may have changed

    def _affected_rows(self, moved: np.ndarray, before: np.ndarray, new: np.ndarray, grid: RowGrid) -> np.ndarray:
        """Return the rows that read one of the moved keys; `before` are the earlier codes of keys that are not new."""
        if not moved.size:
            return moved
        after = self._key_code[moved]
        if not self.coded or (after == NONE).any() or ((before == NONE) & ~new).any():
            return self._rows_that_see(moved, grid)
        return self._rows_of_codes(moved, np.concatenate([before[~new], after]), grid)

    def _rows_that_see(self, moved: np.ndarray, grid: RowGrid) -> np.ndarray:
        """Return the rows that see one of the moved keys."""
        rows = grid.rows
        first = _first_moved(moved, grid)[grid.word(rows)]
        return rows[rows >= first] if self._causal else rows[first < grid.size]

    def _rows_of_codes(self, moved: np.ndarray, codes: np.ndarray, grid: RowGrid) -> np.ndarray:
        """Return the rows with one of these codes, and irregular rows, which may see any key."""
        query_codes = grid.existing(self._query_code)
        space = grid.batch << self.code.deciding.size
        if codes.size <= 2:
            selected = (query_codes == codes[0]) | (query_codes == codes[-1])
        elif space <= 4 * query_codes.size + 1024:
            marked = np.zeros(space + 1, dtype=bool)  # the last entry is for NONE
            marked[codes] = True
            selected = marked[query_codes]
        else:
            selected = np.isin(query_codes, codes)
        selected |= query_codes == NONE
        affected = np.flatnonzero(selected)
        if grid.length < grid.capacity and grid.batch > 1:
            affected = affected // grid.length * grid.capacity + affected % grid.length
        return affected[affected >= _first_moved(moved, grid)[grid.word(affected)]] if self._causal else affected


def _same_meaning(before: KeyCode, after: KeyCode) -> bool:
    """Return True if both codes hold for all queries and have the same bits, so that every row keeps its code."""
    return before.holds is None and after.holds is None and np.array_equal(before.deciding, after.deciding)


def _first_moved(moved: np.ndarray, grid: RowGrid) -> np.ndarray:
    """Return the first moved row of every word; a number beyond all rows if no row moved."""
    first = np.full(grid.batch, grid.size)
    np.minimum.at(first, grid.word(moved), moved)
    return first


def _replace(stored: np.ndarray, where: Span, values: np.ndarray) -> np.ndarray:
    """Store values in some rows, and return which of these rows changed."""
    differs = (stored[:, where] != values).any(axis=0)
    stored[:, where] = values
    return differs


# LayerState: one layer over the store of a session; only what changed is computed again.


HIDDEN_AT_ONCE = 1 << 20


class LayerState:
    """The state of one layer. The store x, [columns, rows], holds its input, the sum of its heads, its output."""

    def __init__(self, prepared: Prepared, number: int, name: str, grid: RowGrid, *, watched: bool) -> None:
        self._compact, self._layer = prepared.compact, prepared.layers[number]
        self._number, self._name = number, name
        self._heads = [HeadState(head, prepared.compact, prepared.causal, grid) for head in self._layer.heads]
        for head in self._heads if watched else ():
            head.attention.weights = np.zeros((grid.size, grid.capacity), dtype=prepared.compact.narrow)
        self.processed = np.zeros(grid.size, dtype=bool)  # rows that have been processed
        self._pending = np.zeros(grid.size, dtype=bool)  # rows whose MLP was not needed when they changed

    def run(
        self,
        x: np.ndarray,
        rows: np.ndarray,
        touched: np.ndarray,
        grid: RowGrid,
        *,
        requested: np.ndarray | None = None,
        watch: Watch | None = None,
    ) -> np.ndarray:
        """Process the rows that changed in the `touched` columns of the store. Return the rows computed.

        With `requested`, only the outputs of these rows are needed. The MLP of the other rows waits until it is needed.
        Attention is still computed everywhere, because a row that attends to nothing is an error in any row.
        """
        new = ~self.processed[rows]
        self.processed[rows] = True
        changed = np.zeros(grid.size, dtype=bool)
        changed[rows] = True
        if self._heads:
            self._attend(x, rows, new, touched, changed, grid, watch)
        self._pending |= changed
        todo = np.flatnonzero(self._pending) if requested is None else requested[self._pending[requested]]
        self._pending[todo] = False
        self._multiply(x, todo, touched)
        return todo

    def _attend(
        self,
        x: np.ndarray,
        rows: np.ndarray,
        new: np.ndarray,
        touched: np.ndarray,
        changed: np.ndarray,
        grid: RowGrid,
        watch: Watch | None,
    ) -> None:
        """Sum the heads in order, then add the residual. Mark the rows and columns that change."""
        layer, compact = self._layer, self._compact
        affected = changed.copy()
        for head in self._heads if rows.size else ():
            affected[head.update(x, rows, new, touched, grid)] = True
        todo = np.flatnonzero(affected)
        where = as_slice(todo)
        total = np.zeros((layer.after.size, todo.size), dtype=compact.narrow)
        for i, (head, target) in enumerate(zip(self._heads, layer.targets, strict=True)):
            try:
                values = head.attend(todo, grid)
            except AttendsNowhere as error:
                word, row = divmod(error.row, grid.capacity)
                raise AttendsToNothing(layer=self._number, head=i, row=row, word=word, transformer=self._name) from None
            if watch:
                assert head.attention.weights is not None
                every = head.attention.weights.reshape(grid.batch, grid.capacity, grid.capacity)
                watch(
                    f"layers.{self._number}.heads.{i}.weights", every[:, : grid.length, : grid.length].astype(np.int64)
                )
            total[target] = compact.add(total[target], values)
        after = compact.add(gather(x, layer.before, where), total)
        differs = after != gather(x, layer.after, where)
        changed[todo] |= differs.any(axis=0)
        touched[layer.after] |= differs.any(axis=1)
        scatter(x, layer.after, where, after)

    def _multiply(self, x: np.ndarray, rows: np.ndarray, touched: np.ndarray) -> None:
        """Compute G + MLP(G) at these rows."""
        layer, compact = self._layer, self._compact
        touched[layer.mlp_after] = True
        if not layer.mlp_after.size:
            return
        step = max(16, HIDDEN_AT_ONCE // layer.mlp.size)
        for first in range(0, rows.size, step):
            check()
            where = as_slice(rows[first : first + step])
            G = gather(x, layer.mlp_before, where)
            scatter(x, layer.mlp_after, where, compact.add(G, layer.mlp(x, where)))


LONG_CHAIN = 256  # the number of symbols from which a compiled kernel is worthwhile


class FastEngine:
    """The engine that runs use by default: exact, and fast."""

    name = "fast"

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        return fast_footprint(transformer, batch, watched=watched)

    def session(self, transformer: Transformer, *, name: str = "model") -> "FastSession":
        return FastSession(transformer, name)


class FastSession:
    """One transformer during a run, and everything that was computed for it."""

    def __init__(self, transformer: Transformer, name: str = "model") -> None:
        self._transformer, self._name = transformer, name
        self._weights: Prepared = prepared(transformer, every=transformer.loop is not None)
        self._reset(RowGrid(0, self._weights.capacity, 0))

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> np.ndarray:
        self._use_weights(every=False)
        with self._allocated(tokens.shape, watch) as grid:
            if self._ends is None:
                self._reset(grid, watched=self._watched)
                self._ends = _Ends(self._weights, grid)
            changed, touched = self._ends.embed_changed(self._store, tokens, grid)
            if watch:
                watch("embed", self._residual(0))
            requested = None if watch else grid.rows_between(*rows)
            for i in range(len(self._layers)):
                last = requested if i >= self._weights.last_head else None
                changed = self._step(i, changed, touched, last, watch)
            return self._ends.logits(self._store, changed, rows, grid)

    def embed(
        self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None
    ) -> Int[np.ndarray, "batch seq width"]:
        weights = prepared(self._transformer, every=True)
        grid = RowGrid(tokens.shape[0], weights.capacity, tokens.shape[1])
        store = np.zeros((weights.width, grid.size), dtype=weights.compact.narrow)
        _Ends(weights, grid).embed_changed(store, tokens, grid)
        if watch:
            watch("embed", grid.matrix(store).astype(np.int64))
        return grid.matrix(store)

    def layers(
        self,
        residual: Int[np.ndarray, "batch seq width"],
        first: int,
        last: int,
        *,
        watch: Watch | None = None,
    ) -> Int[np.ndarray, "batch seq width"]:
        if first >= last:
            return residual
        self._use_weights(every=True)
        with self._allocated(residual.shape[:2], watch) as grid:
            if self._ends is not None:
                self._reset(grid, watched=self._watched)
            # the store keeps one value per column: layers outside this call may have read another value
            for i in (*range(first), *range(last, len(self._layers))):
                self._layers[i] = None
            changed, touched = self._replace(first, residual)
            for i in range(first, last):
                if self._layers[i] is None:
                    changed = grid.rows
                changed = self._step(i, changed, touched, None, watch)
            return self._residual(last)

    def logits(self, residual: Int[np.ndarray, "batch rows width"]) -> Int[np.ndarray, "batch rows outputs"]:
        weights = prepared(self._transformer, every=True)
        store = np.zeros((weights.columns, residual.shape[0] * residual.shape[1]), dtype=weights.compact.narrow)
        store[weights.store_columns[-1]] = residual.reshape(-1, weights.width).T
        result = readout(weights, store, slice(0, store.shape[1]))
        return np.ascontiguousarray(result.T).reshape(*residual.shape[:2], weights.outputs)

    def continued(self, tokens: Int[np.ndarray, "batch seq"], steps: int) -> np.ndarray | None:
        if not self._weights.causal or len(tokens) * steps < LONG_CHAIN:
            return None
        return run_chain(self._transformer, tokens, steps)

    def _use_weights(self, *, every: bool) -> None:
        """Prepare the weights in the form that the call needs."""
        weights = prepared(self._transformer, every=every)
        if weights is not self._weights:
            self._weights = weights
            self._reset(RowGrid(0, weights.capacity, 0))

    def _reset(self, grid: RowGrid, *, watched: bool = False) -> None:
        self._grid = grid
        self._store = np.zeros((self._weights.columns, grid.size), dtype=self._weights.compact.narrow)
        self._layers: list[LayerState | None] = [None] * len(self._weights.layers)
        self._ends: _Ends | None = None
        self._watched = watched

    @contextmanager
    def _allocated(self, shape: tuple[int, ...], watch: Watch | None) -> Generator[RowGrid]:
        """Allocate memory for words of this shape. After an error all results are dropped: some may be incomplete."""
        batch, length = shape
        if watch and batch * length * length > LARGEST_SCORES:
            raise TooLarge(
                f"the trace would hold {batch} × {length} × {length} attention weights; "
                "run without a trace, or with fewer or shorter words"
            )
        grid = RowGrid(batch, self._weights.capacity, length)
        if batch != self._grid.batch or length < self._grid.length or (watch and not self._watched):
            self._reset(grid, watched=watch is not None)
        self._grid = grid
        try:
            yield grid
        except BaseException:
            self._reset(RowGrid(0, self._weights.capacity, 0))
            raise

    def _replace(self, i: int, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make this the input of layer i. Return the (rows, columns of the store) that changed."""
        grid, columns = self._grid, self._weights.store_columns[i]
        stream = np.zeros((self._weights.width, grid.size), dtype=self._store.dtype)
        grid.matrix(stream)[:] = residual
        differs = stream != self._store[columns]
        self._store[columns] = stream
        touched = np.zeros(self._weights.columns, dtype=bool)
        touched[columns] = differs.any(axis=1)
        return grid.rows[grid.existing(differs.any(axis=0) | ~self._state(i).processed)], touched

    def _state(self, i: int) -> LayerState:
        state = self._layers[i]
        if state is None:
            state = self._layers[i] = LayerState(self._weights, i, self._name, self._grid, watched=self._watched)
        return state

    def _step(
        self, i: int, changed: np.ndarray, touched: np.ndarray, requested: np.ndarray | None, watch: Watch | None
    ) -> np.ndarray:
        """Run layer i on the changed rows."""
        check()
        state = self._state(i)
        if not state.processed[changed].all():
            touched[:] = True
        changed = state.run(self._store, changed, touched, self._grid, requested=requested, watch=watch)
        if watch:
            watch(f"layers.{i}.residual", self._residual(i + 1))
        return changed

    def _residual(self, i: int) -> np.ndarray:
        """Return a copy of the residual stream before layer i."""
        return self._grid.matrix(self._store[self._weights.store_columns[i]])


class _Ends:
    """Tokens in, logits out: the two ends of a transformer, kept from call to call."""

    def __init__(self, weights: Prepared, grid: RowGrid) -> None:
        self._weights = weights
        self._tokens = np.full((grid.batch, grid.capacity), -1, dtype=np.int64)
        self._logits = np.zeros((weights.outputs, grid.size), dtype=weights.compact.narrow)

    def embed_changed(self, store: np.ndarray, tokens: np.ndarray, grid: RowGrid) -> tuple[np.ndarray, np.ndarray]:
        """Embed the tokens that changed. Return (their rows, the columns of the store that may have changed)."""
        weights = self._weights
        stored = self._tokens[:, : grid.length]
        word, position = np.nonzero(stored != tokens)
        changed = word * grid.capacity + position
        where = as_slice(changed)
        at = where if grid.batch == 1 else position
        touched = np.zeros(weights.columns, dtype=bool)
        if (stored[word, position] < 0).any():
            touched[:] = True
            every = np.arange(weights.initial_columns.size)
            scatter(store, every, where, gather(weights.positions, every, at))
        else:
            touched[weights.embedded] = True
        symbols = gather(weights.symbols, np.arange(weights.embedded.size), tokens[word, position])
        positions = gather(weights.positions, weights.embedded, at)
        scatter(store, weights.embedded, where, weights.compact.add(positions, symbols))
        stored[:] = tokens
        return changed, touched

    def logits(self, store: np.ndarray, changed: np.ndarray, rows: tuple[int, int], grid: RowGrid) -> np.ndarray:
        if changed.size:
            where = as_slice(changed)
            self._logits[:, where] = readout(self._weights, store, where)
        every = self._logits.reshape(self._weights.outputs, grid.batch, grid.capacity)
        return np.ascontiguousarray(np.moveaxis(every[..., rows[0] : rows[1]], 0, -1))


def readout(weights: Prepared, store: np.ndarray, where: Span) -> np.ndarray:
    """Return out·h, [outputs, rows]."""
    result = np.zeros((weights.outputs, count_rows(where)), dtype=weights.compact.narrow)
    result[weights.out.columns] = weights.out(store, where)
    return result
