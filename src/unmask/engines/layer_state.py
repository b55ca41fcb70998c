"""LayerState: what went into one layer and what came out, so that only what changed is computed again."""

import numpy as np

from unmask.engines.engine import Watch
from unmask.engines.grid import Grid, columns_at, put_columns
from unmask.engines.head_state import AttendsNowhere, HeadState
from unmask.engines.prepared import Prepared
from unmask.errors import AttendsToNothing


class LayerState:
    """One layer of one session. `inputs` and `outputs` are [width, rows]."""

    def __init__(self, prepared: Prepared, number: int, name: str, grid: Grid, *, watched: bool) -> None:
        self._compact, self._layer = prepared.compact, prepared.layers[number]
        self._number, self._name = number, name
        self.inputs = np.zeros((prepared.width, grid.size), dtype=prepared.compact.narrow)
        self.outputs = np.zeros_like(self.inputs)
        self.heads = [HeadState(head, prepared.compact, prepared.causal, grid) for head in self._layer.heads]
        for head in self.heads if watched else ():
            head.weights = np.zeros((grid.size, grid.capacity), dtype=np.int64)
        self.taken = np.zeros(grid.size, dtype=bool)  # rows that were ever taken in
        self._pending = np.zeros(grid.size, dtype=bool)  # rows whose output was not needed when it changed
        self._known = np.zeros(grid.size, dtype=bool)  # rows that were ever computed

    def run(
        self, rows: np.ndarray, grid: Grid, *, asked: np.ndarray | None = None, watch: Watch | None = None
    ) -> np.ndarray:
        """Take in the changed rows of `inputs` and return the rows whose output changed.

        With `asked`, only these rows' outputs are needed; the others wait until they are asked for. Attention is
        computed for all of them even so, for a row that attends to nothing is an error wherever it is.
        """
        affected = self._affected(rows, grid)
        if asked is None:
            affected |= self._pending
        else:
            affected[asked] |= self._pending[asked]
        todo = np.flatnonzero(affected)
        if not todo.size and not watch:
            return todo
        G = columns_at(self.inputs, todo)
        G = G.copy() if G.base is not None else G
        self._attend(G, todo, grid, watch)
        if asked is not None:
            wanted = np.zeros(grid.size, dtype=bool)
            wanted[asked] = True
            self._pending[todo] = True
            kept = wanted[todo]
            if not kept.all():
                todo, G = todo[kept], columns_at(G, np.flatnonzero(kept))
        self._pending[todo] = False
        self._layer.mlp(G)
        return self._store(todo, G)

    def _affected(self, rows: np.ndarray, grid: Grid) -> np.ndarray:
        affected = np.zeros(grid.size, dtype=bool)
        affected[rows] = True
        new = ~self.taken[rows]
        self.taken[rows] = True
        if self.heads and rows.size:
            x = columns_at(self.inputs, rows)
            for head in self.heads:
                affected[head.update(x, rows, new, grid)] = True
        return affected

    def _attend(self, G: np.ndarray, rows: np.ndarray, grid: Grid, watch: Watch | None) -> None:
        """G += the heads, summed in order before the residual is added."""
        layer, compact = self._layer, self._compact
        total = np.zeros((layer.columns.size, rows.size), dtype=compact.narrow)
        for i, (head, target) in enumerate(zip(self.heads, layer.targets, strict=True)):
            try:
                values = head.attend(rows, grid)
            except AttendsNowhere as error:
                word, row = divmod(error.row, grid.capacity)
                raise AttendsToNothing(layer=self._number, head=i, row=row, word=word, transformer=self._name) from None
            if watch:
                assert head.weights is not None
                kept = head.weights.reshape(grid.batch, grid.capacity, grid.capacity)
                watch(f"layers.{self._number}.heads.{i}.weights", kept[:, : grid.length, : grid.length].copy())
            total[target] = compact.add(total[target], values)
        if self.heads:
            G[layer.columns] = compact.add(G[layer.columns], total)

    def _store(self, rows: np.ndarray, G: np.ndarray) -> np.ndarray:
        known = self._known[rows]
        changed = ~known
        if known.any():
            changed |= (columns_at(self.outputs, rows) != G).any(axis=0)
        put_columns(self.outputs, rows, G)
        self._known[rows] = True
        return rows[changed]
