"""One forward pass over symbolic rows: what every row holds as far as scores go, and all of it where it is asked for.

    forward    scores at every row
    backward   from the rows asked for, the rows that they read
    forward    these rows in full

What was computed in an earlier pass is used again wherever the rows it came from are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.verification.network import CERTAIN, Cases
from unmask.verification.symbolic_rows import Meeting, Nothing, Row, SymbolicTransformer


@dataclass(frozen=True, eq=False)
class Token:
    """What symbol stands somewhere: symbols[case], over cases of one variable."""

    cases: Cases
    symbols: np.ndarray

    @classmethod
    def certain(cls, symbol: int) -> "Token":
        return cls(CERTAIN, np.array([symbol]))

    def same(self, other: "Token") -> bool:
        return self.cases.same(other.cases) and np.array_equal(self.symbols, other.symbols)


class SymbolicPass:
    """Passes of one transformer. `layers` are applied in order, a loop unrolled; rows are cut after `cuts` of them."""

    def __init__(
        self, symbolic: SymbolicTransformer, layers: Sequence[int], found: list[Nothing], *, cuts: Sequence[int] = ()
    ) -> None:
        self._symbolic, self._layers, self._found, self._cuts = symbolic, list(layers), found, set(cuts)
        self._tokens: list[Token] = []
        self._scores: list[list[Row]] = []

    def run(self, tokens: list[Token], asked: Sequence[int]) -> list[Row]:
        """The rows asked for, after all layers."""
        symbolic = self._symbolic
        known = self._known(tokens) if symbolic.causal else 0
        places = range(len(tokens))
        scores = [[symbolic.embed(k, tokens[k].cases, tokens[k].symbols, full=False) for k in places]]
        meetings: list[list[Meeting]] = []
        for u, i in enumerate(self._layers):
            rows = scores[-1]
            meetings.append(symbolic.meet(i, rows))
            scores.append(self._scores[u + 1][:known] if known else [])
            for k in range(known, len(tokens)):
                read = symbolic.reads(i, k, rows[k], meetings[-1], full=False)
                others = [None if some is None else [rows[j] for j in some] for some in read]
                row = symbolic.layer(i, k, rows[k], others, full=False, found=self._found)
                scores[-1].append(symbolic.cut(row) if u in self._cuts else row)
        self._tokens, self._scores = tokens, scores
        reading: list[dict[int, list[list[int] | None]]] = [{} for _ in self._layers]
        wanted = set(asked)
        for u in range(len(self._layers) - 1, -1, -1):
            i = self._layers[u]
            reading[u] = {k: symbolic.reads(i, k, scores[u][k], meetings[u], full=True) for k in sorted(wanted)}
            wanted |= {j for read in reading[u].values() for some in read for j in some or ()}
        full = {k: symbolic.embed(k, tokens[k].cases, tokens[k].symbols, full=True) for k in wanted}
        for u, i in enumerate(self._layers):
            symbolic.number(i, list(full.values()))
            after = {}
            for k, read in reading[u].items():
                others = [None if some is None else [full[j] for j in some] for some in read]
                row = symbolic.layer(i, k, full[k], others, full=True, found=self._found)
                after[k] = symbolic.cut(row) if u in self._cuts else row
            full = after
        return [full[k] for k in asked]

    def logits(self, row: Row) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        return self._symbolic.logits(row)

    def _known(self, tokens: list[Token]) -> int:
        """How many rows at the start are as they were in the last pass; causal rows see nothing behind them."""
        count = 0
        while count < min(len(tokens), len(self._tokens)) and tokens[count] is self._tokens[count]:
            count += 1
        return count
