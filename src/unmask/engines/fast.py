"""The fast engine: the same integers as `reference`, for any weights, at the price of what changes.

    sparse_product   products with few weights, in small integers
    bit_codes        a proof, from the values of queries and keys, that most exponentials are 0
    code_index       then a head is a join of codes, not a comparison of all pairs
    scores           the exact attention of what is left
    head_state,      what is kept from call to call: a row is computed again only if something it reads
    layer_state      changed

Everything is detected from values; what cannot be proved is computed. Where no row reads another any more, only the
rows that were asked for are computed.
"""

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Int

from unmask.engines.engine import Watch
from unmask.engines.grid import Grid, columns_at, put_columns
from unmask.engines.layer_state import LayerState
from unmask.engines.prepared import Prepared, prepared
from unmask.engines.reference import LARGEST_SCORES
from unmask.errors import TooLarge
from unmask.weights.transformer import Transformer


class FastEngine:
    """Exact, and nearly free."""

    name = "fast"

    def session(self, transformer: Transformer, *, name: str = "model") -> "FastSession":
        return FastSession(transformer, name)


class FastSession:
    """One transformer through a run, and all that was computed for it."""

    def __init__(self, transformer: Transformer, name: str = "model") -> None:
        self._weights: Prepared = prepared(transformer)
        self._name = name
        self._forget()

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> np.ndarray:
        with self._ready(tokens.shape, watch) as grid:
            if self._reader is None or not all(self._in_step):
                self._forget(grid, watched=self._watched)
                self._reader = _Reader(self._weights, grid)
            reader, asked = self._reader, None if watch else grid.part(*rows)
            changed = reader.take(tokens, grid)
            if watch:
                watch("embed", grid.matrix(reader.residual).astype(np.int64))
            source = reader.residual
            for i in range(len(self._layers)):
                last = asked if i >= self._weights.last_head else None
                changed = self._step(i, source, changed, last, watch)
                source = self._state(i).outputs
            return reader.logits(source, changed, rows, grid)

    def embed(
        self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None
    ) -> Int[np.ndarray, "batch seq width"]:
        grid = Grid(*tokens.shape[:1], self._weights.capacity, tokens.shape[1])
        residual = np.zeros((self._weights.width, grid.size), dtype=self._weights.compact.narrow)
        put_columns(residual, grid.rows, embedded(self._weights, tokens.ravel(), grid.rows % grid.capacity))
        if watch:
            watch("embed", grid.matrix(residual).astype(np.int64))
        return grid.matrix(residual)

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
        with self._ready(residual.shape[:2], watch) as grid:
            self._reader = None
            source = np.zeros((self._weights.width, grid.size), dtype=self._weights.compact.narrow)
            grid.matrix(source)[:] = residual
            changed = self._differing(first, source)
            for i in range(first, last):
                if i > first and not self._in_step[i]:
                    changed = self._differing(i, source)
                changed = self._step(i, source, changed, None, watch)
                source = self._state(i).outputs
                self._in_step[i] = i > first
            if last < len(self._layers):
                self._in_step[last] = False
            return grid.matrix(source.copy())

    def logits(self, residual: Int[np.ndarray, "batch rows width"]) -> Int[np.ndarray, "batch rows outputs"]:
        rows = residual.reshape(-1, residual.shape[-1]).T.astype(self._weights.compact.narrow)
        return np.ascontiguousarray(readout(self._weights, rows).T).reshape(*residual.shape[:2], -1)

    def _forget(self, grid: Grid | None = None, *, watched: bool = False) -> None:
        self._grid = grid or Grid(0, self._weights.capacity, 0)
        self._layers: list[LayerState | None] = [None] * len(self._weights.layers)
        # layer i has taken in exactly what layer i - 1 has put out, layer 0 what the reader holds
        self._in_step = [True] * len(self._layers)
        self._reader: _Reader | None = None
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
        if batch != self._grid.batch or length < self._grid.length or (watch and not self._watched):
            self._forget()
        self._grid = Grid(batch, self._weights.capacity, length)
        self._watched |= watch is not None
        try:
            yield self._grid
        except BaseException:
            self._forget()
            raise

    def _state(self, i: int) -> LayerState:
        state = self._layers[i]
        if state is None:
            state = self._layers[i] = LayerState(self._weights, i, self._name, self._grid, watched=self._watched)
        return state

    def _differing(self, i: int, source: np.ndarray) -> np.ndarray:
        """The rows whose residual is not what layer i has last taken in."""
        state = self._state(i)
        differs = (source != state.inputs).any(axis=0) | ~state.taken
        return self._grid.rows[self._grid.exists(differs)]

    def _step(
        self, i: int, source: np.ndarray, changed: np.ndarray, asked: np.ndarray | None, watch: Watch | None
    ) -> np.ndarray:
        state = self._state(i)
        put_columns(state.inputs, changed, columns_at(source, changed))
        changed = state.run(changed, self._grid, asked=asked, watch=watch)
        if watch:
            watch(f"layers.{i}.residual", self._grid.matrix(state.outputs).astype(np.int64))
        return changed


class _Reader:
    """Tokens in, logits out: the two ends of a transformer, kept from call to call."""

    def __init__(self, weights: Prepared, grid: Grid) -> None:
        self._weights = weights
        self._tokens = np.full((grid.batch, grid.capacity), -1, dtype=np.int64)
        self.residual = np.zeros((weights.width, grid.size), dtype=weights.compact.narrow)
        self._logits = np.zeros((weights.outputs, grid.size), dtype=weights.compact.narrow)

    def take(self, tokens: np.ndarray, grid: Grid) -> np.ndarray:
        """Embed the tokens that are not what they were; returns their rows."""
        kept = self._tokens[:, : grid.length]
        word, position = np.nonzero(kept != tokens)
        changed = word * grid.capacity + position
        put_columns(self.residual, changed, embedded(self._weights, tokens[word, position], position))
        kept[:] = tokens
        return changed

    def logits(self, residual: np.ndarray, changed: np.ndarray, rows: tuple[int, int], grid: Grid) -> np.ndarray:
        put_columns(self._logits, changed, readout(self._weights, columns_at(residual, changed)))
        every = self._logits.reshape(-1, grid.batch, grid.capacity)
        return np.ascontiguousarray(np.moveaxis(every[..., rows[0] : rows[1]], 0, -1))


def embedded(weights: Prepared, tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """clip(embed + pos) of single rows, [width, rows]."""
    result = np.take(weights.positions, positions, axis=1)
    symbols = np.take(weights.symbols, tokens, axis=1)
    result[weights.embedded] = weights.compact.add(result[weights.embedded], symbols)
    return result


def readout(weights: Prepared, residual: np.ndarray) -> np.ndarray:
    """out·h, [outputs, rows]."""
    result = np.zeros((weights.outputs, residual.shape[1]), dtype=weights.compact.narrow)
    result[weights.out.columns] = weights.out(residual)
    return result
