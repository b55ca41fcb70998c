"""The fast engine: the same integers as `reference`, for any weights, at the price of what changes.

    sparse_product   products with few weights, in small integers
    bit_codes,       a proof, from the values of queries and keys, that most exponentials are 0
    visible_keys
    code_index,      then a head is a join of codes, not a comparison of all pairs
    attention
    classes/         without a code: queries that are alike, keys that are alike, and sums that many rows share
    scores           the exact attention of what is left
    head_state,      what is kept from call to call: a row is computed again only if something it reads
    layer_state      changed
    chains/          a whole chain of thought, row after row, in a compiled kernel

Everything is detected from values; what cannot be proved is computed. Where no row reads another any more, only the
rows that were asked for are computed.
"""

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from unmask.budget import check
from unmask.engines.chains.chain import chain
from unmask.engines.engine import Footprint, Watch
from unmask.engines.footprint import fast_footprint
from unmask.engines.layer_state import LayerState
from unmask.engines.reference import LARGEST_SCORES
from unmask.engines.shared.grid import Grid, Span, count, gather, put, span
from unmask.engines.shared.prepared import Prepared, prepared
from unmask.errors import TooLarge
from unmask.numerics.array_types import Int
from unmask.weights.transformer import Transformer

LONG_CHAIN = 256  # symbols, from which a compiled kernel pays


class FastEngine:
    """Exact, and nearly free."""

    name = "fast"

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        return fast_footprint(transformer, batch, watched=watched)

    def session(self, transformer: Transformer, *, name: str = "model") -> "FastSession":
        return FastSession(transformer, name)


class FastSession:
    """One transformer through a run, and all that was computed for it."""

    def __init__(self, transformer: Transformer, name: str = "model") -> None:
        self._transformer, self._name = transformer, name
        self._weights: Prepared = prepared(transformer, every=transformer.loop is not None)
        self._forget(Grid(0, self._weights.capacity, 0))

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> np.ndarray:
        self._take_up(every=False)
        with self._ready(tokens.shape, watch) as grid:
            if self._ends is None:
                self._forget(grid, watched=self._watched)
                self._ends = _Ends(self._weights, grid)
            changed, touched = self._ends.take(self._store, tokens, grid)
            if watch:
                watch("embed", self._residual(0))
            asked = None if watch else grid.part(*rows)
            for i in range(len(self._layers)):
                last = asked if i >= self._weights.last_head else None
                changed = self._step(i, changed, touched, last, watch)
            return self._ends.logits(self._store, changed, rows, grid)

    def embed(
        self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None
    ) -> Int[np.ndarray, "batch seq width"]:
        weights = prepared(self._transformer, every=True)
        grid = Grid(tokens.shape[0], weights.capacity, tokens.shape[1])
        store = np.zeros((weights.width, grid.size), dtype=weights.compact.narrow)
        _Ends(weights, grid).take(store, tokens, grid)
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
        self._take_up(every=True)
        with self._ready(residual.shape[:2], watch) as grid:
            if self._ends is not None:
                self._forget(grid, watched=self._watched)
            # the store keeps one value of each column: layers outside of this call may have taken in another
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
        store[weights.places[-1]] = residual.reshape(-1, weights.width).T
        result = readout(weights, store, slice(0, store.shape[1]))
        return np.ascontiguousarray(result.T).reshape(*residual.shape[:2], weights.outputs)

    def continued(self, tokens: Int[np.ndarray, "batch seq"], steps: int) -> np.ndarray | None:
        if not self._weights.causal or len(tokens) * steps < LONG_CHAIN:
            return None
        return chain(self._transformer, tokens, steps)

    def _take_up(self, *, every: bool) -> None:
        """The weights in the form that the call wants."""
        wanted = prepared(self._transformer, every=every)
        if wanted is not self._weights:
            self._weights = wanted
            self._forget(Grid(0, wanted.capacity, 0))

    def _forget(self, grid: Grid, *, watched: bool = False) -> None:
        self._grid = grid
        self._store = np.zeros((self._weights.columns, grid.size), dtype=self._weights.compact.narrow)
        self._layers: list[LayerState | None] = [None] * len(self._weights.layers)
        self._ends: _Ends | None = None
        self._watched = watched

    @contextmanager
    def _ready(self, shape: tuple[int, ...], watch: Watch | None) -> Generator[Grid]:
        """Room for words of this shape; after an error nothing is kept, for it may be half computed."""
        batch, length = shape
        if watch and batch * length * length > LARGEST_SCORES:
            raise TooLarge(
                f"the trace would hold {batch} × {length} × {length} attention weights; "
                "run without a trace, or with fewer or shorter words"
            )
        grid = Grid(batch, self._weights.capacity, length)
        if batch != self._grid.batch or length < self._grid.length or (watch and not self._watched):
            self._forget(grid, watched=watch is not None)
        self._grid = grid
        try:
            yield grid
        except BaseException:
            self._forget(Grid(0, self._weights.capacity, 0))
            raise

    def _replace(self, i: int, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make this the input of layer i; (rows, columns of the store) that changed."""
        grid, place = self._grid, self._weights.places[i]
        given = np.zeros((self._weights.width, grid.size), dtype=self._store.dtype)
        grid.matrix(given)[:] = residual
        differs = given != self._store[place]
        self._store[place] = given
        touched = np.zeros(self._weights.columns, dtype=bool)
        touched[place] = differs.any(axis=1)
        return grid.rows[grid.exists(differs.any(axis=0) | ~self._state(i).taken)], touched

    def _state(self, i: int) -> LayerState:
        state = self._layers[i]
        if state is None:
            state = self._layers[i] = LayerState(self._weights, i, self._name, self._grid, watched=self._watched)
        return state

    def _step(
        self, i: int, changed: np.ndarray, touched: np.ndarray, asked: np.ndarray | None, watch: Watch | None
    ) -> np.ndarray:
        """Run layer i on the changed rows."""
        check()
        state = self._state(i)
        if not state.taken[changed].all():
            touched[:] = True
        changed = state.run(self._store, changed, touched, self._grid, asked=asked, watch=watch)
        if watch:
            watch(f"layers.{i}.residual", self._residual(i + 1))
        return changed

    def _residual(self, i: int) -> np.ndarray:
        """A copy of the residual stream before layer i."""
        return self._grid.matrix(self._store[self._weights.places[i]])


class _Ends:
    """Tokens in, logits out: the two ends of a transformer, kept from call to call."""

    def __init__(self, weights: Prepared, grid: Grid) -> None:
        self._weights = weights
        self._tokens = np.full((grid.batch, grid.capacity), -1, dtype=np.int64)
        self._logits = np.zeros((weights.outputs, grid.size), dtype=weights.compact.narrow)

    def take(self, store: np.ndarray, tokens: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """Embed the tokens that are not what they were; (their rows, the columns that may have changed)."""
        weights = self._weights
        known = self._tokens[:, : grid.length]
        word, position = np.nonzero(known != tokens)
        changed = word * grid.capacity + position
        where = span(changed)
        at = where if grid.batch == 1 else position
        touched = np.zeros(weights.columns, dtype=bool)
        if (known[word, position] < 0).any():
            touched[:] = True
            every = np.arange(weights.given.size)
            put(store, every, where, gather(weights.positions, every, at))
        else:
            touched[weights.embedded] = True
        symbols = gather(weights.symbols, np.arange(weights.embedded.size), tokens[word, position])
        placed = gather(weights.positions, weights.embedded, at)
        put(store, weights.embedded, where, weights.compact.add(placed, symbols))
        known[:] = tokens
        return changed, touched

    def logits(self, store: np.ndarray, changed: np.ndarray, rows: tuple[int, int], grid: Grid) -> np.ndarray:
        if changed.size:
            where = span(changed)
            self._logits[:, where] = readout(self._weights, store, where)
        every = self._logits.reshape(self._weights.outputs, grid.batch, grid.capacity)
        return np.ascontiguousarray(np.moveaxis(every[..., rows[0] : rows[1]], 0, -1))


def readout(weights: Prepared, store: np.ndarray, where: Span) -> np.ndarray:
    """out·h, [outputs, rows]."""
    result = np.zeros((weights.outputs, count(where)), dtype=weights.compact.narrow)
    result[weights.out.columns] = weights.out(store, where)
    return result
