"""One forward pass over symbolic rows: what every row holds as far as scores go, and all of it where it is asked for.

    forward    scores at every row
    backward   from the rows asked for, the rows that they read
    forward    these rows in full

What was computed in an earlier pass is used again wherever the rows it came from are the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.limits import stage
from unmask.verification.symbolic.embedding import Token
from unmask.verification.symbolic.meeting import Meeting
from unmask.verification.symbolic.network import Cases
from unmask.verification.symbolic.readers import Readers, Reading
from unmask.verification.symbolic.row import SymbolicRow
from unmask.verification.symbolic.rows import Nothing, SymbolicTransformer


@dataclass(frozen=True, eq=False)
class _Passed:
    """All that a pass went through: tokens; per layer the rows before it, as far as scores go and in full, with what
    each of them reads."""

    tokens: list[Token]
    stages: list[list[SymbolicRow]]
    meetings: list[list[Meeting]]
    readings: list[list[Reading]]
    full: list[dict[int, SymbolicRow]] = field(default_factory=list)
    full_readings: list[dict[int, Reading]] = field(default_factory=list)
    readers: dict[tuple[bool, int], Readers] = field(default_factory=dict)
    """(in full, number of the layer) → who reads whom, or once read whom; made where it is asked for."""


class SymbolicPass:
    """Passes of one transformer. `layers` are applied in order, a loop unrolled; rows are cut after `cuts` of them.

    `nothing` receives the cases in which some row attends to nothing. A row that is what it was in the last pass, and
    reads rows that are what they were, is what it was after the layer: only the others are looked at.
    """

    def __init__(
        self, symbolic: SymbolicTransformer, layers: Sequence[int], nothing: list[Nothing], *, cuts: Sequence[int] = ()
    ) -> None:
        self._symbolic, self._layers, self._nothing, self._cuts = symbolic, list(layers), nothing, set(cuts)
        self._last: _Passed | None = None
        self.cut_to: dict[tuple[bool, int, int], Cases] = {}  # (scores alone, number of the layer, row) → its cases

    def run(self, tokens: list[Token], asked: Sequence[int]) -> list[SymbolicRow]:
        """The rows asked for, after all layers."""
        last = self._last
        if last is not None and (self._cuts or len(last.tokens) != len(tokens)):
            last = None
        passed = self._scores(tokens, None if self._symbolic.causal else last)
        wanted = self._read_by(asked, passed, last)
        passed.full.append(self._embedded(wanted, tokens, last, full=True))
        for u, i in enumerate(stage("layers in full", self._layers)):
            self._symbolic.prepare(i, list(passed.full[u].values()))
            passed.full.append(self._in_full(u, passed, last))
        self._last = passed
        return [passed.full[-1][k] for k in asked]

    def _scores(self, tokens: list[Token], last: _Passed | None) -> _Passed:
        """Forward: every row at every stage, as far as scores go; each layer's heads and the rows they meet."""
        symbolic = self._symbolic
        known = self._known(tokens) if symbolic.causal else 0
        embedded = self._embedded(range(len(tokens)), tokens, last, full=False)
        passed = _Passed(tokens, [[embedded[k] for k in range(len(tokens))]], [], [])
        for u, i in enumerate(stage("layers", self._layers)):
            rows = passed.stages[-1]
            changed = None if last is None else {k for k, row in enumerate(rows) if row is not last.stages[u][k]}
            if last is not None and changed is not None and symbolic.meet_again(i, last.meetings[u], rows, changed):
                passed.meetings.append(last.meetings[u])
                readings, after = list(last.readings[u]), list(last.stages[u + 1])
                readers = passed.readers[False, u] = last.readers.get((False, u)) or Readers.of(enumerate(readings))
                places = sorted(changed | readers.of_any(changed))
            else:
                passed.meetings.append(symbolic.meet(i, rows))
                before = self._last if known else None
                readings = [] if before is None else before.readings[u][:known]
                after = [] if before is None else before.stages[u + 1][:known]
                readings += [[]] * (len(tokens) - known)
                after += [rows[k] for k in range(known, len(tokens))]
                places = range(known, len(tokens))
            for k in stage("rows", places):
                readings[k] = symbolic.reads(i, k, rows[k], passed.meetings[-1], full=False)
                after[k] = self._layer(u, k, rows, readings[k], full=False)
                if (False, u) in passed.readers:
                    passed.readers[False, u].add(k, readings[k])
            passed.readings.append(readings)
            passed.stages.append(after)
        return passed

    def _embedded(
        self, places: Collection[int], tokens: list[Token], last: _Passed | None, *, full: bool
    ) -> dict[int, SymbolicRow]:
        """Some rows before the first layer; where the token is what it was, so is the row."""
        kept: dict[int, SymbolicRow] = {}
        if last is not None:
            before = last.full[0] if full else dict(enumerate(last.stages[0]))
            kept = {k: before[k] for k in places if k in before and tokens[k] is last.tokens[k]}
        return kept | self._symbolic.embed({k: tokens[k] for k in places if k not in kept}, full=full)

    def _read_by(self, asked: Sequence[int], passed: _Passed, last: _Passed | None) -> set[int]:
        """Backward: the rows that the rows asked for depend on; per layer, what each of those still wanted reads."""
        wanted = set(asked)
        passed.full_readings.extend({} for _ in self._layers)
        for u in range(len(self._layers) - 1, -1, -1):
            same = last is not None and last.meetings[u] is passed.meetings[u]
            before = last.full_readings[u] if last is not None and same else {}
            rows, meetings, reading = passed.stages[u], passed.meetings[u], passed.full_readings[u]
            if last is not None and before:
                old = last.stages[u]
                reading.update({k: before[k] for k in wanted if k in before and rows[k] is old[k]})
            for k in stage("rows that are read", sorted(wanted - reading.keys())):
                reading[k] = self._symbolic.reads(self._layers[u], k, rows[k], meetings, full=True)
            wanted |= {j for read in reading.values() for rows_read in read for j in rows_read or ()}
        return wanted

    def _in_full(self, u: int, passed: _Passed, last: _Passed | None) -> dict[int, SymbolicRow]:
        """The wanted rows after the u-th layer."""
        rows, readings = passed.full[u], passed.full_readings[u]
        after: dict[int, SymbolicRow] = {}
        if last is not None:
            before, read_before = last.full[u], last.full_readings[u]
            changed = {k for k, row in rows.items() if row is not before.get(k)}
            read_anew = {k: read for k, read in readings.items() if read is not read_before.get(k)}
            readers = passed.readers[True, u] = last.readers.get((True, u)) or Readers.of(read_before.items())
            affected = changed | readers.of_any(changed) | read_anew.keys()
            after = {k: last.full[u + 1][k] for k in readings if k not in affected}
            for k, read in read_anew.items():
                readers.add(k, read)
        for k in stage("rows", sorted(readings.keys() - after.keys())):
            after[k] = self._layer(u, k, rows, readings[k], full=True)
        return after

    def _layer(
        self, u: int, place: int, rows: list[SymbolicRow] | dict[int, SymbolicRow], read: Reading, *, full: bool
    ) -> SymbolicRow:
        """A row after the u-th layer of the run, from the rows before it."""
        others = [None if some is None else [rows[j] for j in some] for some in read]
        row = self._symbolic.layer(self._layers[u], place, rows[place], others, full=full, nothing=self._nothing)
        if u not in self._cuts:
            return row
        row = self._symbolic.cut(row)
        self.cut_to[not full, u, place] = row.cases
        return row

    def logits(self, row: SymbolicRow) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        return self._symbolic.logits(row)

    def _known(self, tokens: list[Token]) -> int:
        """How many rows at the start are as they were in the last pass; causal rows see nothing behind them."""
        before = [] if self._last is None else self._last.tokens
        count = 0
        while count < min(len(tokens), len(before)) and tokens[count] is before[count]:
            count += 1
        return count
