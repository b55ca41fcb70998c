"""Symbolic rows: a transformer over all words at once, row by row and case by case.

A row of the residual stream is a finite set of vectors, with `Cases` that say which one holds. A layer takes every
case through the very integers of the engine:

    heads   what each gives, over the cases of the rows that it reads (`head`)
    MLP     case by case
    merge   cases with equal vectors are one; columns that nothing reads any more are left out (`liveness`)

Scores are needed at every row, for a row that attends to nothing is an error; what else a row holds is computed
only when a logit depends on it.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from unmask.engines.prepared_weights import PreparedMlp, SparseProduct
from unmask.numerics.compact import Compact
from unmask.verification.symbolic.embedding import Embedding, Token
from unmask.verification.symbolic.head import SymbolicHead
from unmask.verification.symbolic.liveness import Live, live_for_all, live_for_scores
from unmask.verification.symbolic.meeting import Meeting
from unmask.verification.symbolic.network import CERTAIN, Cases, Network, TooManyCases
from unmask.verification.symbolic.partition import distinct
from unmask.verification.symbolic.projections import Projections
from unmask.verification.symbolic.readers import Reading
from unmask.verification.symbolic.renaming import Remembered, pattern_of
from unmask.verification.symbolic.residual_sum import HeadOutput, residual_sum
from unmask.verification.symbolic.row import SymbolicRow, merged, stacked
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

    sources: tuple[SymbolicRow | bool, ...]
    result: SymbolicRow

    def is_of(self, sources: tuple[SymbolicRow | bool, ...]) -> bool:
        return len(self.sources) == len(sources) and all(map(operator.is_, self.sources, sources))


class SymbolicTransformer:
    """Layers over symbolic rows."""

    def __init__(self, transformer: Transformer, network: Network) -> None:
        self.transformer, self._network = transformer, network
        self.compact = Compact(transformer.precision)
        width = transformer.width
        self.live: dict[bool, Live] = {False: live_for_scores(transformer), True: live_for_all(transformer)}
        self._projections = [Projections(layer.heads, self.compact, width) for layer in transformer.layers]
        numbers = count()
        self.heads = [
            [
                SymbolicHead(head, places, self.compact, network, next(numbers))
                for head, places in zip(layer.heads, projections.places, strict=True)
            ]
            for layer, projections in zip(transformer.layers, self._projections, strict=True)
        ]
        self._mlps = [PreparedMlp(layer.mlp, self.compact, np.arange(width)) for layer in transformer.layers]
        self._touched = [self._touched_by(i) for i in range(len(transformer.layers))]
        self._alive = {
            full: [
                [np.flatnonzero(live.within[i][head.columns]) for head in heads] for i, heads in enumerate(self.heads)
            ]
            for full, live in self.live.items()
        }
        self._columns = {
            full: [np.flatnonzero(within & touched) for within, touched in zip(live.within, self._touched, strict=True)]
            for full, live in self.live.items()
        }
        self._written = {
            full: [
                [head.columns[live] for head, live in zip(heads, alive, strict=True)]
                for heads, alive in zip(self.heads, self._alive[full], strict=True)
            ]
            for full in self.live
        }
        self._left = {
            full: [mask[:, None].astype(self.compact.narrow) for mask in live.before]
            for full, live in self.live.items()
        }
        self._goes_on = {full: [bool(mask.any()) for mask in live.before[1:]] for full, live in self.live.items()}
        self._added_up = Remembered()
        self._memory: dict[tuple[bool, int, int], list[_Memory]] = {}
        self._embedded: dict[tuple[int, bool, int, bytes], tuple[Cases, SymbolicRow]] = {}
        self._embedding = Embedding(transformer, self.compact)
        self._empty = SymbolicRow(CERTAIN, np.zeros((width, 1), dtype=self.compact.narrow))
        self._out = SparseProduct(transformer.out.transposed(), self.compact)
        self._read_out = np.unique(transformer.out.column)
        self._logits: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}
        self._held = 0
        self.causal = transformer.attention == "causal"

    def embed(self, tokens: Mapping[int, Token], *, full: bool) -> dict[int, SymbolicRow]:
        """H⁰ of rows, by the token that stands in each; what was embedded before is there."""
        keys = {place: (place, full, id(token.cases), token.symbols.tobytes()) for place, token in tokens.items()}
        fresh = {place: tokens[place] for place, key in keys.items() if key not in self._embedded}
        for place, vectors in self._embedding(fresh, self.live[full].before[0]):
            cases = tokens[place].cases
            self._embedded[keys[place]] = cases, self._row(cases, vectors)  # kept, so that no other has their name
        return {place: self._embedded[key][1] for place, key in keys.items()}

    def meet(self, i: int, rows: list[SymbolicRow]) -> list[Meeting]:
        """All rows before layer i, as its heads see them."""
        self._number(i, rows)
        return [Meeting.of(head, rows) for head in self.heads[i]]

    def meet_again(self, i: int, meetings: list[Meeting], rows: list[SymbolicRow], changed: set[int]) -> bool:
        """Do the heads see what they saw before, although some rows have changed? Then who reads whom stays."""
        self._number(i, [rows[k] for k in changed])
        return all(meeting.holds_still(rows, changed) for meeting in meetings)

    def prepare(self, i: int, rows: list[SymbolicRow]) -> None:
        """Rows in full before layer i, for its heads: one call for all is cheaper than one for each."""
        self._number(i, rows)
        for head, alive in zip(self.heads[i], self._alive[True][i], strict=True):
            if alive.size:
                head.see_all(rows, alive)

    def _number(self, i: int, rows: list[SymbolicRow]) -> None:
        """Number the queries and keys of rows for all heads of layer i."""
        heads = self.heads[i]
        fresh = [row for row in rows if heads[0].number not in row.numbers] if heads else []
        if fresh:
            for head, (Q, K) in zip(heads, self._projections[i](stacked(fresh)), strict=True):
                head.take_in(fresh, Q, K)

    def reads(self, i: int, place: int, own: SymbolicRow, meetings: list[Meeting], *, full: bool) -> Reading:
        """Per head of layer i, the rows that matter to a row.

        A head that writes nothing alive matters for its Z alone, and only where that might be 0: else None.
        """
        visible = place + 1 if self.causal else len(self.transformer.positions)
        return [
            meeting.reads(own, visible) if alive.size or not (full or meeting.attends(own, visible)) else None
            for meeting, alive in zip(meetings, self._alive[full][i], strict=True)
        ]

    def layer(
        self,
        i: int,
        place: int,
        own: SymbolicRow,
        read: list[list[SymbolicRow] | None],
        *,
        full: bool,
        nothing: list[Nothing],
    ) -> SymbolicRow:
        """The row after layer i, given the rows that its heads read; `nothing` receives what attends to nothing."""
        if not self._goes_on[full][i] and all(rows is None for rows in read):
            return self._empty
        # a head that is left out is not one that sees no row
        sources = (own, *(x for rows in read for x in (rows is None, *(rows or ()))))
        remembered = self._memory.setdefault((full, i, place), [])
        for memory in remembered:
            if memory.is_of(sources):
                return memory.result
        outputs: list[HeadOutput] = []
        for h, (head, rows) in enumerate(zip(self.heads[i], read, strict=True)):
            if rows is None:
                continue
            live = self._alive[full][i][h]
            cases, output, without_key = head.output(own, rows, live)
            if not full and without_key.any():
                nothing.append(Nothing(cases, without_key, i, h, place))
            if live.size:
                outputs.append(HeadOutput(cases, self._written[full][i][h], output))
        result = self._after(i, own, outputs, full=full) if self._goes_on[full][i] else self._empty
        remembered.append(_Memory(sources, result))
        del remembered[:-4]
        return result

    def _touched_by(self, i: int) -> np.ndarray:
        """The columns that layer i reads after its heads, or writes; it leaves all others alone."""
        layer = self.transformer.layers[i]
        touched = np.zeros(self.transformer.width, dtype=bool)
        touched[layer.mlp.w1.row] = touched[self._mlps[i].columns] = True
        for head in self.heads[i]:
            touched[head.columns] = True
        return touched

    def _after(self, i: int, own: SymbolicRow, heads: list[HeadOutput], *, full: bool) -> SymbolicRow:
        """`_added`, once for all rows that differ in names, and in columns of one value that the layer leaves alone."""
        within, after = self.live[full].within[i], self.live[full].before[i + 1]
        pattern = pattern_of(self._network, [own.cases, *(head.cases for head in heads)])
        if pattern is None:
            return self._added(i, own, heads, within, after)
        first = own.vectors[:, :1]
        columns = self._columns[full][i]
        if not own.cases.constant:
            columns = np.flatnonzero(within & (self._touched[i] | (own.vectors != first).any(axis=1)))
        signature = (
            i,
            full,
            pattern[1],
            columns.tobytes(),
            own.vectors[columns].tobytes(),
            *((id(head.columns), head.values.tobytes()) for head in heads),  # of `_written`, which stay
        )
        known = self._added_up.known.get(signature)
        if known is None:
            row = self._added(i, own, heads, within, after)
            self._added_up.keep(signature, row.cases, pattern[0], (row.vectors[columns],))
            return row
        vectors = first * self._left[full][i + 1]
        if known.count > 1:
            vectors = np.repeat(vectors, known.count, axis=1)
        vectors[columns] = known.results[0]
        self._hold(vectors.size)
        return SymbolicRow(known.over(pattern[0]), vectors)

    def _added(
        self, i: int, own: SymbolicRow, heads: list[HeadOutput], within: np.ndarray, after: np.ndarray
    ) -> SymbolicRow:
        """Heads, residual stream and MLP in each combination of cases."""
        total = residual_sum(own, heads, within, self._network, self.compact)
        basis, labels, case_of = self._combined([total.cases, *(head.cases for head in total.free.values())])
        vectors = total.of(self.compact, case_of)
        vectors[~within] = 0
        mlp = self._mlps[i]
        vectors[mlp.columns] = self.compact.add(vectors[mlp.columns], mlp(vectors, slice(0, vectors.shape[1])))
        vectors[~after] = 0
        first, same = distinct(vectors)
        cases, order = self._network.cases(basis, same[labels])
        self._hold(vectors.size)
        return SymbolicRow(cases, vectors[:, first[order]])

    def _combined(self, parts: list[Cases]) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """(basis, label per assignment, which case of each part a label stands for)."""
        if all(part.constant for part in parts):
            return (), np.zeros(1, dtype=np.int64), np.zeros((len(parts), 1), dtype=np.int64)
        try:
            basis, case_of = self._network.join(parts)
        except TooManyCases:
            parts = [parts[0], *(self._network.cut(part) for part in parts[1:])]
            try:
                basis, case_of = self._network.join(parts)
            except TooManyCases:
                basis, case_of = self._network.join([self._network.cut(part) for part in parts])
        combined = np.vstack(case_of)
        first, labels = distinct(combined)
        return basis, labels, combined[:, first]

    def _row(self, cases: Cases, vectors: np.ndarray) -> SymbolicRow:
        """Cases with equal vectors are one."""
        if not cases.constant:
            self._hold(vectors.size)
            cases, vectors = merged(self._network, cases, vectors)
        return SymbolicRow(cases, np.ascontiguousarray(vectors))

    def _hold(self, numbers: int) -> None:
        self._held += numbers
        if self._held > MOST_NUMBERS:
            raise TooManyCases(f"more than {MOST_NUMBERS:,} numbers in all")

    def cut(self, row: SymbolicRow) -> SymbolicRow:
        """The row over one variable."""
        if row.alone is None:
            cases = self._network.cut(row.cases)
            row.alone = row if cases is row.cases else SymbolicRow(cases, row.vectors, row.numbers)
        return row.alone

    def logits(self, row: SymbolicRow) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        if row.logits is None:
            signature = row.vectors.shape, row.vectors[self._read_out].tobytes()
            if signature not in self._logits:
                cases = row.vectors.shape[1]
                logits = np.zeros((cases, self.transformer.out.shape[0]), dtype=np.int64)
                logits[:, self._out.columns] = self._out(row.vectors, slice(0, cases)).T
                self._logits[signature] = logits
            row.logits = self._logits[signature]
        return row.logits
