"""cot_to_pcot, for every source of a shape, every N and every T: both chains write the same symbols.

In step t, 0 <= t < T, the source has the rows 0 … R - 1, R = begin + N + t >= 1; its last row gives the next symbol.
The converted model has these rows and the mask in row R. By induction on steps and layers:

    rows n < R     hold the same symbols, so the same stream before the first layer. They do not see the mask
                   (attention is causal), and their scores are those of the source: the guard adds 0. So they hold the
                   source's stream after every layer, and divide by zero where it does
    row R          has score B on every key: whatever it holds, it does not divide by zero. In the last layer it looks
                   up row R - 1, whose stream is then in `final`, and the logits are those of the source's last row.
                   The mask's own logit is -B, and the last: it never wins

So the argmax, where the lowest index wins, is the source's.
"""

from typing import Any

import numpy as np

from unmask.theorems.cot_and_pcot import STREAM
from unmask.verification.conversions.machine import ConversionClaim, ProgramMachine, RowState
from unmask.verification.conversions.unknown_source import Logit, require_zeros
from unmask.verification.lengths.head_reads import read_of, require_copies
from unmask.verification.lengths.obligations import AnyRow, ObligationFailed
from unmask.weights.model import Model

NAME = "model"


def statement(claim: ConversionClaim) -> str:
    return (
        f"For every N >= 0, every T >= 1 and every cot over F_{claim.precision.p} of the shape ({claim.shape}), with "
        "or without a begin symbol: the pcot that `convert` writes for it by cot_to_pcot writes the same symbol in "
        "every step, for every word of length N, and divides by zero where the source does and nowhere else."
    )


def prove(claim: ConversionClaim) -> None:
    """All obligations."""
    arithmetic, ledger, precision = claim.arithmetic, claim.ledger, claim.precision
    if claim.program(NAME).attention != "causal":
        raise ObligationFailed("the program is not causal")
    require_zeros(precision, ledger)
    require_copies(precision, arithmetic)
    machine = claim.machine(NAME, {NAME: STREAM})
    layout = _Layout(claim, machine)
    rows = _Rows(claim, machine, layout)
    ledger.settle("rows: the stream of the source before the first layer", "enumeration", rows.start)
    for number in range(rows.depth):
        ledger.settle(
            f"layer {number}: rows before the mask score as the source's, for every score",
            "enumeration of all scores",
            lambda number=number: rows.keep_scores(number),
        )
        ledger.settle(
            f"layer {number}: the mask row does not divide by zero, for every score",
            "enumeration of all scores",
            lambda number=number: rows.attend(number),
        )
        ledger.settle(
            f"layer {number}: the stream of the source after it",
            "execution",
            lambda number=number: rows.pass_on(number),
        )
    layout.require_look_back(machine.program, rows.depth)
    ledger.settle("decoding: the logits of the source's last row, and the mask's below", "execution", rows.decode)


class _Layout:
    """Rows before the mask (n < R) and the mask's (n = R), in any step t."""

    def __init__(self, claim: ConversionClaim, machine: ProgramMachine) -> None:
        self.claim, arithmetic = claim, claim.arithmetic
        self.arithmetic, z3 = arithmetic, arithmetic.z3
        arithmetic.facts.append(arithmetic.N + arithmetic.begin >= 1)  # a chain of thought has a row to read
        t = arithmetic.variable("t")
        self.R = arithmetic.N + arithmetic.begin + t
        self.row = AnyRow(arithmetic.variable("n"), (t >= 0, t < arithmetic.steps))
        self.before = [self.row.n >= 0, self.row.n < self.R]
        self.mask = [self.row.n == self.R]
        rows = arithmetic.N + arithmetic.begin + arithmetic.steps
        claim.require_rows(NAME, rows)
        facts = list(self.row.facts)
        arithmetic.require("layout: the mask has a row, and one before it", z3.And(self.R >= 1, rows > self.R), facts)
        seen = arithmetic.variable("seen")
        arithmetic.require(
            "layout: a row before the mask sees rows before the mask alone, those that the source's row sees",
            z3.Implies(z3.And(seen >= 0, seen <= self.row.n), seen < self.R),
            [*facts, *self.before],
        )
        declared = machine.table(STREAM, NAME)
        if declared.only is not None:
            raise ObligationFailed("some rows have no positions of the source")
        arithmetic.require(
            "layout: row n has the positions of the source's row n",
            arithmetic.at(declared.row, self.row) == self.row.n,
            [*facts, *self.before],
        )

    def require_look_back(self, program, number: int) -> None:
        heads = program.layers[number].heads
        if len(heads) != 1:
            raise ObligationFailed(f"layer {number} has {len(heads)} heads, not one")
        read = read_of(
            program, heads[0], f"{NAME}, layer {number}, head 0", self.claim.precision, self.arithmetic, self.row
        )
        self.arithmetic.require(
            "layout: the mask row reads the row before it",
            self.arithmetic.at(read.address, self.row) == self.row.n - 1,
            [*self.row.facts, *self.mask],
        )


class _Rows:
    """What rows before the mask and the mask's row hold, layer by layer; one state for each symbol and flags."""

    def __init__(self, claim: ConversionClaim, machine: ProgramMachine, layout: _Layout) -> None:
        self.machine, self.precision = machine, claim.precision
        self.symbols, self.depth = claim.shape.symbols, machine.sums.depth[NAME]
        self.stream = machine.streams[NAME]
        if machine.program.outputs != self.symbols + 1 or len(machine.program.symbols) != self.symbols + 1:
            raise ObligationFailed("there is not one symbol more than the source has")
        if len(machine.steps) != self.depth + 1:
            raise ObligationFailed("there is not one layer more than the source has")
        flags = [machine.flags(claim.arithmetic, layout.row, where) for where in (layout.before, layout.mask)]
        self.before: list[RowState] = [
            machine.start(token, found, token, (NAME,)) for token in range(self.symbols) for found in flags[0]
        ]
        self.mask: list[RowState] = [machine.start(self.symbols, found, None) for found in flags[1]]

    def start(self) -> str:
        return self._require_stream(0)

    def _require_stream(self, layer: int) -> str:
        cells = self.machine.cells(NAME, layer)
        if not all(row.holds(self.stream, cells) for row in self.before):
            raise ObligationFailed(f"a row does not hold the source's stream after {layer} layers")
        return f"{len(self.before)} symbols and flags"

    def _given(self, number: int):
        given = self.machine.steps[number].given
        if [(g.transformer, g.number) for g in given] != [(NAME, number)] or self.machine.steps[number].own:
            raise ObligationFailed(f"layer {number} is not the source's layer {number} alone")
        return given[0]

    def keep_scores(self, number: int) -> str:
        found = self.machine.guarded(self._given(number), self.before, self.before)
        if not all(np.array_equal(after, self.machine.exponentials) for after in found):
            raise ObligationFailed("a score is not the source's")
        return f"{sum(after.size for after in found):,} scores"

    def attend(self, number: int) -> str:
        found = self.machine.guarded(self._given(number), self.mask, [*self.before, *self.mask])
        if not all((after > 0).all() for after in found):
            raise ObligationFailed("the mask row may have no weight on a key, and divide by zero")
        return f"{sum(after.size for after in found):,} scores"

    def pass_on(self, number: int) -> str:
        self.before = [self.machine.after(number, row) for row in self.before]
        self.mask = [self.machine.after(number, row, hosted=False) for row in self.mask]
        return self._require_stream(number + 1)

    def decode(self) -> str:
        if self.machine.steps[self.depth].given:
            raise ObligationFailed("the last layer is a layer of the source")
        brought = {c for wires in self.machine.steps[self.depth].heads for t in wires.value.values() for c, _ in t}
        different = {tuple(row[c] for c in sorted(brought)): row for row in self.before}
        for mask in self.mask:
            for read in different.values():
                *logits, own = self.machine.logits(self.machine.after(self.depth, mask, [read]))
                if logits != [(Logit(NAME, v), []) for v in range(self.symbols)]:
                    raise ObligationFailed("a logit is not that of the source")
                if self.machine.numbers(own).tolist() != [-self.precision.bound]:
                    raise ObligationFailed("the mask's logit is not -B")
        return f"{self.symbols} logits"


def frame(source: Model) -> dict[str, Any]:
    """What else of the converted model there is: that of the source, one symbol per step, and a mask."""
    same = ("length", "steps", "padding", "begin", "accept", "reject", "input_symbols", "aliases", "characters", "k")
    return {
        **{name: getattr(source, name) for name in same},
        "kind": "pcot",
        "block": 1,
        "vocabulary": (*source.vocabulary, "m"),
        "mask": "m",
    }
