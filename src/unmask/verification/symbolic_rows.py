"""Symbolic rows: a transformer over all words at once, row by row and case by case.

A row of the residual stream is a finite set of vectors, with `Cases` that say which one holds. A layer takes every
case through the very integers of the engine:

    heads   what each gives, over the cases of the rows that it reads (`symbolic_head`)
    MLP     case by case
    merge   cases with equal vectors are one; columns that nothing reads any more are left out (`liveness`)

Scores are needed at every row, for a row that attends to nothing is an error; what else a row holds is computed
only when a logit depends on it.
"""

import operator
from dataclasses import dataclass

import numpy as np

from unmask.engines.prepared import PreparedMlp
from unmask.numerics.arithmetic import weighted
from unmask.numerics.compact import Compact
from unmask.verification.liveness import Live, live_for_all, live_for_scores
from unmask.verification.network import CERTAIN, Cases, Network, TooManyCases
from unmask.verification.residual_sum import HeadOutput, residual_sum
from unmask.verification.symbolic_head import Meeting, Row, SymbolicHead, distinct
from unmask.weights.transformer import Transformer

MOST_NUMBERS = 4_000_000_000


@dataclass(frozen=True, eq=False)
class Nothing:
    """In some cases a row attends to nothing: labels 1 in `cases`."""

    cases: Cases
    labels: np.ndarray
    layer: int
    head: int
    row: int


@dataclass(eq=False)
class _Memory:
    """What was computed for a row, and from which rows; their objects are kept so that their identity is."""

    sources: tuple[Row | bool, ...]
    result: Row


class SymbolicTransformer:
    """Layers over symbolic rows."""

    def __init__(self, transformer: Transformer, network: Network) -> None:
        self.transformer, self._network = transformer, network
        self.compact = Compact(transformer.precision)
        width = transformer.width
        self.live: dict[bool, Live] = {False: live_for_scores(transformer), True: live_for_all(transformer)}
        self.heads, number = [], 0
        for layer in transformer.layers:
            self.heads.append([])
            for head in layer.heads:
                self.heads[-1].append(SymbolicHead(head, self.compact, width, network, number))
                number += 1
        self._mlps = [PreparedMlp(layer.mlp, self.compact, np.arange(width)) for layer in transformer.layers]
        self._memory: dict[tuple[bool, int, int], list[_Memory]] = {}
        self._embedded: dict[tuple[int, bool, int, bytes], tuple[Cases, Row]] = {}
        self._symbols = transformer.embed.take(np.arange(transformer.embed.shape[0]))
        self._empty = Row(CERTAIN, np.zeros((width, 1), dtype=self.compact.narrow))
        self._out = list(transformer.out.transposed().rows())
        self._held = 0
        self.causal = transformer.attention == "causal"

    def embed(self, place: int, cases: Cases, tokens: np.ndarray, *, full: bool) -> Row:
        """H⁰ of one row whose token in each case is given."""
        key = place, full, id(cases), tokens.tobytes()
        if key not in self._embedded:
            vectors = self.compact.add(
                self._symbols[tokens].T, self.transformer.positions[place].astype(np.int64)[:, None]
            ).astype(self.compact.narrow)
            self._embedded[key] = cases, self._row(cases, vectors, self.live[full].before[0])
        return self._embedded[key][1]

    def meet(self, i: int, rows: list[Row]) -> list[Meeting]:
        """All rows before layer i, as its heads see them."""
        return [head.meet(rows) for head in self.heads[i]]

    def number(self, i: int, rows: list[Row]) -> None:
        """Prepare rows before layer i for its heads: one call for all is cheaper than one for each."""
        for head in self.heads[i]:
            head.number_all(rows)

    def reads(self, i: int, place: int, own: Row, meetings: list[Meeting], *, full: bool) -> list[list[int] | None]:
        """Per head of layer i, the rows that matter to a row.

        A head that writes nothing alive matters for its Z alone, and only where that might be 0: else None.
        """
        visible = place + 1 if self.causal else len(self.transformer.positions)
        within = self.live[full].within[i]
        return [
            meeting.reads(own, visible)
            if within[meeting.head.columns].any() or not (full or meeting.attends(own, visible))
            else None
            for meeting in meetings
        ]

    def layer(
        self, i: int, place: int, own: Row, read: list[list[Row] | None], *, full: bool, found: list[Nothing]
    ) -> Row:
        """The row after layer i, given the rows that its heads read; `found` receives what attends to nothing."""
        # a head that is left out is not one that sees no row
        sources = (own, *(x for rows in read for x in (rows is None, *(rows or ()))))
        kept = self._memory.setdefault((full, i, place), [])
        for memory in kept:
            if len(memory.sources) == len(sources) and all(map(operator.is_, memory.sources, sources)):
                return memory.result
        within, after = self.live[full].within[i], self.live[full].before[i + 1]
        outputs = []
        for h, (head, rows) in enumerate(zip(self.heads[i], read, strict=True)):
            if rows is None:
                continue
            live = np.flatnonzero(within[head.columns])
            cases, output, nothing = head.output(own, rows, live)
            if not full and nothing.any():
                found.append(Nothing(cases, nothing, i, h, place))
            if live.size:
                outputs.append(HeadOutput(cases, head.columns[live], output))
        result = self._added(i, own, outputs, within, after) if after.any() else self._empty
        kept.append(_Memory(sources, result))
        del kept[:-4]
        return result

    def _added(self, i: int, own: Row, heads: list[HeadOutput], within: np.ndarray, after: np.ndarray) -> Row:
        """Heads, residual stream and MLP in each combination of cases."""
        total = residual_sum(own, heads, within, self._network, self.compact)
        basis, labels, chosen = self._combined([total.cases, *(head.cases for head in total.free.values())])
        vectors = total.of(self.compact, chosen)
        vectors[~within] = 0
        mlp = self._mlps[i]
        vectors[mlp.columns] = self.compact.add(vectors[mlp.columns], mlp(vectors, slice(0, vectors.shape[1])))
        cases, order = self._network.cases(basis, labels)
        return self._row(cases, vectors[:, order], after)

    def _combined(self, parts: list[Cases]) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """(basis, label per assignment, which case of each part a label stands for)."""
        if all(part.constant for part in parts):
            return (), np.zeros(1, dtype=np.int64), np.zeros((len(parts), 1), dtype=np.int64)
        try:
            basis, chosen = self._network.join(parts)
        except TooManyCases:
            parts = [parts[0], *(self._network.cut(part) for part in parts[1:])]
            try:
                basis, chosen = self._network.join(parts)
            except TooManyCases:
                basis, chosen = self._network.join([self._network.cut(part) for part in parts])
        combined = np.vstack(chosen)
        kept, labels = distinct(combined)
        return basis, labels, combined[:, kept]

    def _row(self, cases: Cases, vectors: np.ndarray, live: np.ndarray) -> Row:
        """Cases with equal vectors are one; dead columns are 0."""
        vectors = vectors.copy()
        vectors[~live] = 0
        if cases.constant:
            return Row(CERTAIN, vectors)
        self._held += vectors.size
        if self._held > MOST_NUMBERS:
            raise TooManyCases(f"more than {MOST_NUMBERS:,} numbers in all")
        kept, labels = distinct(vectors)
        merged, order = self._network.cases(cases.variables, labels[cases.index])
        return Row(merged, np.ascontiguousarray(vectors[:, kept][:, order]))

    def cut(self, row: Row) -> Row:
        """The row over one variable."""
        if row.alone is None:
            cases = self._network.cut(row.cases)
            row.alone = row if cases is row.cases else Row(cases, row.vectors, row.numbers)
        return row.alone

    def logits(self, row: Row) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        if row.logits is None:
            wide = row.vectors.T.astype(np.int64)
            row.logits = weighted(wide, self._out, self.transformer.out.shape[0], self.transformer.precision)
        return row.logits
