"""Looped (plt): the table of a loop, over what rows hold in the columns that heads read.

    product[i][j]   what a row holds after a loop in which it read rows that held i and j
    last[0][i]      what the last row says after the loops, if row 0 holds i

What a row held itself makes no difference: column by column, heads + own is the same for every own number between the
least and the largest that occurs there, in the rows at first and in all that a loop makes.
"""

from itertools import product

import numpy as np

from unmask.checker.certificate import need
from unmask.checker.families import form
from unmask.checker.families.letters import Letters
from unmask.checker.families.rows import Rows
from unmask.numerics.arithmetic import add, multiply
from unmask.numerics.precision import Precision


class Loop:
    """Three heads in the first layer (left, right, the row itself), layers without heads, one head after the loop."""

    def __init__(self, rows: Rows, proof: form.Proof, precision: Precision) -> None:
        self._rows, self._p, self._last = rows, precision, len(rows.values) - 1
        counts = [len(values) for values in rows.values]
        right = self._last > 0 and counts == [3, *[0] * (self._last - 1), 1] and rows.program.loop == (0, self._last)
        need(right, "the heads are not three in the first of the looped layers and one after the loop")
        self._own = rows.values[0][2]
        need(np.array_equal(self._own.row, self._own.column), "a row moves its own numbers to other columns")
        need(len(proof.flags["model"]["every"]) == 1, "flags distinguish rows")
        read = [rows.values[0][0].row, rows.values[0][1].row, rows.values[self._last][0].row]
        self.told = np.unique(np.concatenate(read)).astype(np.int64)
        self.held = self._vectors(proof.held)

    def _vectors(self, held: list[list[tuple[int, int]]] | None) -> np.ndarray:
        need(bool(held), "what rows hold is not listed")
        vectors = np.zeros((len(held or ()), self._rows.width), dtype=np.int64)
        for vector, entries in zip(vectors, held or (), strict=True):
            columns = [c for c, _ in entries]
            need(
                columns == sorted({*columns}) and {*columns} <= {*self.told.tolist()},
                "the stored numbers are not in order",
            )
            need(all(entry for _, entry in entries), "a stored number is 0")
            vector[columns] = [entry for _, entry in entries]
        need(len(np.unique(vectors, axis=0)) == len(vectors), "a vector is listed twice")
        return vectors

    def check(self, proof: form.Proof, letters: Letters, pad: int) -> tuple[list, np.ndarray, np.ndarray]:
        """(the pairs of letters and pad, product, what is said of each held vector)."""
        rows, count = self._rows, len(self.held)
        start = rows.start([*(a for a, _ in letters), pad], proof.flags["model"]["every"])[:, 0]
        numbers = self._numbers(start)
        identity = tuple(range(len(letters[0][1])))
        pairs = [*zip(numbers.tolist(), [*(f for _, f in letters), identity], strict=True)]
        need(sorted(proof.tables) == ["last", "product"], "a loop has the tables last and product")
        brought = [rows.brought(0, head, self.held) for head in (0, 1)]
        low, high, table = start.min(axis=0), start.max(axis=0), []
        i, j = (axis.ravel() for axis in np.indices((count, count)))
        for part in rows.parts(i.size):
            own = np.repeat(start[:1], len(i[part]), axis=0)
            fetched = [(columns, values[k[part]]) for (columns, values), k in zip(brought, (i, j), strict=True)]
            state = rows.heads(own, [*fetched, rows.brought(0, 2, own)])
            for layer in range(self._last):
                state = rows.mlp(layer, state)
            table.append(self._numbers(state))
            low, high = np.minimum(low, state.min(axis=0)), np.maximum(high, state.max(axis=0))
        self._forgets(brought, low, high)
        made, said = np.concatenate(table).reshape(count, count), self._said(start[:1], low, high)
        for name, found in (("product", made), ("last", said[None])):
            need(proof.tables[name] == found.tolist(), f"the table {name} is not what the weights compute")
        return pairs, made, said

    def _numbers(self, vectors: np.ndarray) -> np.ndarray:
        known = {vector[self.told].tobytes(): k for k, vector in enumerate(self.held)}
        numbers = [known.get(vector.tobytes(), -1) for vector in np.ascontiguousarray(vectors[:, self.told])]
        need(-1 not in numbers, "a row may hold what is not listed")
        return np.array(numbers)

    def _forgets(self, brought, low: np.ndarray, high: np.ndarray) -> None:
        factors = np.zeros(self._rows.width, dtype=np.int64)
        factors[self._own.column] = self._own.value
        for column in np.flatnonzero(low < high).tolist():
            own = np.arange(low[column], high[column] + 1)
            sides = [np.unique(values[:, columns == column]).tolist() or [0] for columns, values in brought]
            for left, right in product(*sides):
                total = add(add(0, left, self._p), right, self._p)
                total = add(add(total, multiply(own, factors[column], self._p), self._p), own, self._p)
                need(
                    bool((total == total[0]).all()), f"column {column} of a row depends on what it was before the loop"
                )

    def _said(self, own: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        rows = self._rows
        needed = np.unique(np.concatenate([rows.mlps[self._last].w1.row, rows.out.row]))
        need(np.array_equal(low[needed], high[needed]), "the answer of the last row depends on its earlier content")
        own = np.repeat(own, len(self.held), axis=0)
        state = rows.heads(own, [rows.brought(self._last, 0, self.held)])
        return rows.read_out(rows.mlp(self._last, state)).argmax(axis=1)
