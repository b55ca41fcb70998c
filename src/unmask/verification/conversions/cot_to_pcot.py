"""cot_to_pcot, for every source of a shape, every N and every T: both chains write the same symbols.

In step t, 0 <= t < T, the source has the rows 0 … R - 1, R = begin + N + t >= 1; its last row gives the next symbol.
The converted model has these rows and the mask in row R. By induction on steps and layers:

    rows n < R     hold the same symbols, so the same stream before the first layer. They do not see the mask
                   (attention is causal). Their scores are those of the source: the guard, a number that the program
                   adds to each score, is 0. So they hold the source's stream after every layer, and divide by zero
                   where it does
    row R          has score B on every key: whatever it holds, it does not divide by zero. In the last layer it looks
                   up row R - 1, whose stream is then in `final`, and the logits are those of the source's last row.
                   The mask's own logit is -B and the last one, so it never wins

So the argmax, where the lowest index wins, is the source's.
"""

from typing import Any

import numpy as np

from unmask.programs.program import Program
from unmask.theorems.cot_and_pcot import STREAM
from unmask.verification.conversions.machine import ConversionClaim, ProgramMachine, RowState
from unmask.verification.conversions.unknown_source import Logit, SourceLayer, require_zeros
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
    """Settle all obligations, in the order of the argument above."""
    arithmetic, ledger, precision = claim.arithmetic, claim.ledger, claim.precision
    if claim.program(NAME).attention != "causal":
        raise ObligationFailed("the program is not causal")
    require_zeros(precision, ledger)
    require_copies(precision, arithmetic)
    machine = claim.machine(NAME, {NAME: STREAM})
    layout = _Layout(claim, machine)
    rows = _Rows(claim, machine, layout)
    ledger.settle("rows: the stream of the source before the first layer", "enumeration", rows.require_first_stream)
    for number in range(rows.depth):
        ledger.settle(
            f"layer {number}: rows before the mask score as the source's, for every score",
            "enumeration of all scores",
            lambda number=number: rows.require_source_scores(number),
        )
        ledger.settle(
            f"layer {number}: the mask row does not divide by zero, for every score",
            "enumeration of all scores",
            lambda number=number: rows.require_mask_attends(number),
        )
        ledger.settle(
            f"layer {number}: the stream of the source after it",
            "execution",
            lambda number=number: rows.advance(number),
        )
    layout.require_look_back(machine.program, rows.depth)
    ledger.settle(
        "decoding: the logits of the source's last row, and the mask's below", "execution", rows.require_logits
    )


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
        visible_row = arithmetic.variable("seen")
        arithmetic.require(
            "layout: a row before the mask sees rows before the mask alone, those that the source's row sees",
            z3.Implies(z3.And(visible_row >= 0, visible_row <= self.row.n), visible_row < self.R),
            [*facts, *self.before],
        )
        declaration = machine.table(STREAM, NAME)
        if declaration.only is not None:
            raise ObligationFailed("some rows have no positions of the source")
        arithmetic.require(
            "layout: row n has the positions of the source's row n",
            arithmetic.at(declaration.row, self.row) == self.row.n,
            [*facts, *self.before],
        )

    def require_look_back(self, program: Program, number: int) -> None:
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
    """The rows before the mask, and the mask's row, after each layer; one state per symbol and values of the flags."""

    def __init__(self, claim: ConversionClaim, machine: ProgramMachine, layout: _Layout) -> None:
        self.machine, self.precision = machine, claim.precision
        self.symbols, self.depth = claim.shape.symbols, machine.sums.depth[NAME]
        self.stream = machine.streams[NAME]
        if machine.program.outputs != self.symbols + 1 or len(machine.program.symbols) != self.symbols + 1:
            raise ObligationFailed("the program does not have one symbol more than the source")
        if len(machine.layers) != self.depth + 1:
            raise ObligationFailed("the program does not have one layer more than the source")
        flags = [machine.flags(claim.arithmetic, layout.row, where) for where in (layout.before, layout.mask)]
        self.rows_before: list[RowState] = [
            machine.start(token, values, token, (NAME,)) for token in range(self.symbols) for values in flags[0]
        ]
        self.mask_rows: list[RowState] = [machine.start(self.symbols, values, None) for values in flags[1]]

    def require_first_stream(self) -> str:
        return self._require_stream(0)

    def _require_stream(self, layer: int) -> str:
        cells = self.machine.cells(NAME, layer)
        if not all(row.holds(self.stream, cells) for row in self.rows_before):
            raise ObligationFailed(f"a row does not hold the source's stream after {layer} layers")
        return f"{len(self.rows_before)} symbols and flags"

    def _source_layer(self, number: int) -> SourceLayer:
        layer = self.machine.layers[number]
        numbers = [(source.transformer, source.number) for source in layer.source_layers]
        if numbers != [(NAME, number)] or layer.other_heads:
            raise ObligationFailed(f"layer {number} is not the source's layer {number} alone")
        return layer.source_layers[0]

    def require_source_scores(self, number: int) -> str:
        exponentials = self.machine.exponentials_after_guard(
            self._source_layer(number), self.rows_before, self.rows_before
        )
        if not all(np.array_equal(after, self.machine.exponentials) for after in exponentials):
            raise ObligationFailed("a score is not the source's")
        return f"{sum(after.size for after in exponentials):,} scores"

    def require_mask_attends(self, number: int) -> str:
        keys = [*self.rows_before, *self.mask_rows]
        exponentials = self.machine.exponentials_after_guard(self._source_layer(number), self.mask_rows, keys)
        if not all((after > 0).all() for after in exponentials):
            raise ObligationFailed("the mask row may have no weight on a key, and divide by zero")
        return f"{sum(after.size for after in exponentials):,} scores"

    def advance(self, number: int) -> str:
        self.rows_before = [self.machine.after_layer(number, row) for row in self.rows_before]
        self.mask_rows = [self.machine.after_layer(number, row, hosted=False) for row in self.mask_rows]
        return self._require_stream(number + 1)

    def require_logits(self) -> str:
        if self.machine.layers[self.depth].source_layers:
            raise ObligationFailed("the last layer is a layer of the source")
        read_columns = {c for head in self.machine.layers[self.depth].heads for t in head.value.values() for c, _ in t}
        distinct_rows = {tuple(row[c] for c in sorted(read_columns)): row for row in self.rows_before}
        for mask in self.mask_rows:
            for row in distinct_rows.values():
                *logits, mask_logit = self.machine.logits(self.machine.after_layer(self.depth, mask, [row]))
                if logits != [(Logit(NAME, v), []) for v in range(self.symbols)]:
                    raise ObligationFailed("a logit is not that of the source")
                if self.machine.numbers(mask_logit).tolist() != [-self.precision.bound]:
                    raise ObligationFailed("the mask's logit is not -B")
        return f"{self.symbols} logits"


def other_fields(source: Model) -> dict[str, Any]:
    """Return the other fields of the converted model: those of the source, with one symbol per step and a mask."""
    same = ("length", "steps", "padding", "begin", "accept", "reject", "input_symbols", "aliases", "characters", "k")
    return {
        **{name: getattr(source, name) for name in same},
        "kind": "pcot",
        "block": 1,
        "vocabulary": (*source.vocabulary, "m"),
        "mask": "m",
    }
