"""LayerState: one layer over the store of a session; only what changed is computed again."""

import numpy as np

from unmask.budget import check
from unmask.engines.attention import AttendsNowhere
from unmask.engines.engine import Watch
from unmask.engines.head_state import HeadState
from unmask.engines.shared.grid import Grid, gather, put, span
from unmask.engines.shared.prepared import Prepared
from unmask.errors import AttendsToNothing

AT_ONCE = 1 << 20


class LayerState:
    """What is known of one layer. The store x, [columns, rows], holds its input, what its heads add, its output."""

    def __init__(self, prepared: Prepared, number: int, name: str, grid: Grid, *, watched: bool) -> None:
        self._compact, self._layer = prepared.compact, prepared.layers[number]
        self._number, self._name = number, name
        self._heads = [HeadState(head, prepared.compact, prepared.causal, grid) for head in self._layer.heads]
        for head in self._heads if watched else ():
            head.attention.weights = np.zeros((grid.size, grid.capacity), dtype=prepared.compact.narrow)
        self.taken = np.zeros(grid.size, dtype=bool)  # rows that were ever taken in
        self._pending = np.zeros(grid.size, dtype=bool)  # rows whose MLP was not needed when they changed

    def run(
        self,
        x: np.ndarray,
        rows: np.ndarray,
        touched: np.ndarray,
        grid: Grid,
        *,
        asked: np.ndarray | None = None,
        watch: Watch | None = None,
    ) -> np.ndarray:
        """Take in the changed rows, which changed in the `touched` columns of the store; return those computed.

        With `asked`, only these rows' outputs are needed and the MLP of the others waits until they are asked for.
        Attention is computed everywhere even so, for a row that attends to nothing is an error wherever it is.
        """
        new = ~self.taken[rows]
        self.taken[rows] = True
        changed = np.zeros(grid.size, dtype=bool)
        changed[rows] = True
        if self._heads:
            self._attend(x, rows, new, touched, changed, grid, watch)
        self._pending |= changed
        todo = np.flatnonzero(self._pending) if asked is None else asked[self._pending[asked]]
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
        grid: Grid,
        watch: Watch | None,
    ) -> None:
        """Add the heads, summed in order before the residual is; marks the rows and columns that change."""
        layer, compact = self._layer, self._compact
        affected = changed.copy()
        for head in self._heads if rows.size else ():
            affected[head.update(x, rows, new, touched, grid)] = True
        todo = np.flatnonzero(affected)
        where = span(todo)
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
        put(x, layer.after, where, after)

    def _multiply(self, x: np.ndarray, rows: np.ndarray, touched: np.ndarray) -> None:
        """G + MLP(G) at the given rows."""
        layer, compact = self._layer, self._compact
        touched[layer.mlp_after] = True
        if not layer.mlp_after.size:
            return
        step = max(16, AT_ONCE // layer.mlp.size)
        for first in range(0, rows.size, step):
            check()
            where = span(rows[first : first + step])
            G = gather(x, layer.mlp_before, where)
            put(x, layer.mlp_after, where, compact.add(G, layer.mlp(x, where)))
