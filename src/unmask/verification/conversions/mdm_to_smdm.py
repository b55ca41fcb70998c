"""mdm_to_smdm, for every source of a shape, every N, T and P: block t holds the source's canvas after step t + 1.

Row first + j·P + i, first = begin + N, is entry i of block j. Before step t the blocks j < t hold the canvas after step
j + 1, with ĥ in place of m, and all others hold m. By induction on steps:

    planner      a slot is current if it is masked and the same entry of the block before is not (in block 0: if it is
                 masked). These are the slots of block t. Exactly they are chosen, so no slot is chosen twice
    hosts        are the rows of the input and of block t. Their look back copies the symbol of the source's canvas, ĥ
                 as m, and the position of the row that they host: its stream before the first layer, for U and for S
    others       are ignored: hosts see none of them (exponential 0, for every score), and they themselves have a
                 weight on hosts, for every score, so they never divide by zero
    layers       hosts are in the order of the rows that they host, so all sums are those of the source
    decision     U's logits in the row itself decide, for every pair of numbers. If the source keeps its slot, every
                 logit becomes -B, for every number, except that of the symbol in the slot (ĥ for m), which is larger
    decoding     otherwise the logits are those of S. That of ĥ is -B and the last one, so it never wins. m is excluded
                 in both

So step t writes the source's canvas after step t + 1 into block t, and the last slot ends as the source's does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unmask.expressions import N, n, variable
from unmask.verification.conversions.machine import ConversionClaim, FlagValues, ProgramMachine, RowState
from unmask.verification.conversions.unknown_source import (
    ANYTHING,
    BEGIN,
    SLOTS,
    CellValue,
    Logit,
    SourceLayer,
    require_zeros,
)
from unmask.verification.lengths.head_reads import read_of, require_copies
from unmask.verification.lengths.obligations import AnyRow, Euclid, ObligationFailed, Term
from unmask.weights.model import Model

PLANNER, PREDICTOR = "planner", "predictor"
BOTH = (PLANNER, PREDICTOR)


def has_causal_source(claim: ConversionClaim) -> bool:
    """Return whether both transformers of the source are causal."""
    return {its.attention for _, its in claim.shape.transformers} == {"causal"}


class Blocks:
    """Row n as entry i of block j, in step t."""

    def __init__(self, claim: ConversionClaim) -> None:
        self.claim, arithmetic = claim, claim.arithmetic
        z3 = arithmetic.z3
        self.n, self.j, self.i, self.t = (arithmetic.variable(name) for name in ("n", "j", "i", "t"))
        self.first = arithmetic.N + arithmetic.begin
        j, i, t, T, P = self.j, self.i, self.t, arithmetic.steps, arithmetic.slots
        if has_causal_source(claim):
            arithmetic.facts.append(self.first >= 1)
        monotone = z3.And(
            z3.Implies(j < 0, j * P <= -P),
            z3.Implies(j >= 0, j * P >= 0),
            z3.Implies(j >= 1, j * P >= P),
            z3.Implies(j < T, j * P <= T * P - P),
            z3.Implies(j >= T, j * P >= T * P),
            z3.Implies(j < t, j * P <= t * P - P),
            z3.Implies(j == t, j * P == t * P),
            z3.Implies(j > t, j * P >= t * P + P),
            z3.Implies(t >= 0, t * P >= 0),
            z3.Implies(t < T, t * P <= T * P - P),
        )
        arithmetic.require("arithmetic: multiples of P are in order", monotone)
        euclid = Euclid(str(n - (N + variable(BEGIN))), SLOTS, j, i)
        facts = (self.n - self.first == j * P + i, i >= 0, i < P, t >= 0, t < T, monotone)
        self.row = AnyRow(self.n, facts, (euclid,))
        self.input_rows = [self.n >= 0, self.n < self.first]
        self.slot_rows = [j >= 0, j < T]
        for name in BOTH:
            claim.require_rows(name, self.first + T * P)
        arithmetic.require(
            "layout: entry i of a block below T has a row, and rows from `first` on are such entries",
            z3.And(
                z3.Implies(z3.And(j >= 0, j < T), z3.And(self.n >= self.first, self.n < self.first + T * P)),
                z3.Implies(z3.And(self.n >= self.first, self.n < self.first + T * P), z3.And(j >= 0, j < T)),
            ),
            list(facts),
        )

    def flags(self, machine: ProgramMachine, *where: Term) -> list[FlagValues]:
        return machine.flags(self.claim.arithmetic, self.row, where)

    def require_look_back(self, name: str, machine: ProgramMachine) -> None:
        """Require that the head of the first layer reads the same entry one block back, else the row itself."""
        arithmetic, z3 = self.claim.arithmetic, self.claim.arithmetic.z3
        if machine.layers[0].other_heads != (0,) or machine.layers[0].source_layers:
            raise ObligationFailed(f"the first layer of the {name} is not one head that looks back")
        head = machine.program.layers[0].heads[0]
        read = read_of(machine.program, head, f"{name}, layer 0, head 0", self.claim.precision, arithmetic, self.row)
        address, P = arithmetic.at(read.address, self.row), arithmetic.slots
        earlier = self.n - self.first - P == (self.j - 1) * P + self.i
        arithmetic.require(
            f"layout: a row of the {name} reads the same entry one block back, else itself",
            z3.If(self.j >= 1, z3.And(address == self.n - P, earlier), address == self.n),
            [*self.row.facts, self.n >= 0, self.j < arithmetic.steps],
        )

    def require_hosts(self, machine: ProgramMachine) -> None:
        """Require that rows of the input and of block t host the source's rows, in order."""
        arithmetic, z3 = self.claim.arithmetic, self.claim.arithmetic.z3
        P, T, t = arithmetic.slots, arithmetic.steps, self.t
        for name in BOTH:
            declaration = machine.table(f"{name} positions", name)
            if declaration.only is not None:
                raise ObligationFailed("some rows have no positions of the source")
            arithmetic.require(
                f"layout: a row has the positions of the source's row that it hosts, {name}",
                arithmetic.at(declaration.row, self.row) == z3.If(self.j >= 0, self.first + self.i, self.n),
                [*self.row.facts, self.n >= 0, self.j < T],
            )
        s, later = arithmetic.variable("s"), arithmetic.variable("later")

        def host(row: Term) -> Term:
            return z3.If(row < self.first, row, row + t * P)

        arithmetic.require(
            "layout: every row of the source has a host, and hosts stand in the order of what they host",
            z3.And(
                host(s) >= 0,
                host(s) < self.first + T * P,
                (s < later) == (host(s) < host(later)),
                z3.Implies(s >= self.first, host(s) - self.first == t * P + (s - self.first)),
            ),
            [*self.row.facts, s >= 0, s < self.first + P, later >= 0, later < self.first + P],
        )
        sees_host = (
            z3.And(host(z3.IntVal(0)) <= self.n, self.first >= 1) if machine.program.attention == "causal" else True
        )
        arithmetic.require(
            "layout: a row that is ignored sees a host",
            z3.And(host(z3.IntVal(0)) < self.first + T * P, sees_host),
            [*self.row.facts, *self.slot_rows],
        )


MOST_PAIRS = 1 << 20
"""The most pairs of logits that are enumerated: p <= 4."""


def statement(claim: ConversionClaim) -> str:
    kind = "causal" if has_causal_source(claim) else "unmasked"
    least = "N >= 0 with N + begin >= 1" if has_causal_source(claim) else "N >= 0"
    return (
        f"For every {least}, every T >= 1 and P >= 1, and every {kind} mdm over F_{claim.precision.p} of the shape "
        f"({claim.shape}), with or without a begin symbol: the smdm that `convert` writes for it by mdm_to_smdm writes "
        "in step t, for every word of length N, the source's canvas after step t into its block t, ĥ for m, chooses no "
        "written slot, and divides by zero where the source's planner or predictor does and nowhere else."
    )


def prove(claim: ConversionClaim) -> None:
    """Settle all obligations, in the order of the argument above."""
    if len({its.attention for _, its in claim.shape.transformers}) != 1:
        raise ObligationFailed(
            "one transformer is causal and the other is not: the columns that this takes depend on N"
        )
    if claim.shape.mask is None:
        raise ObligationFailed("the shape names no mask")
    require_zeros(claim.precision, claim.ledger)
    require_copies(claim.precision, claim.arithmetic)
    blocks = Blocks(claim)
    planner = claim.machine(PLANNER, {})
    blocks.require_look_back(PLANNER, planner)
    claim.ledger.settle(
        "planner: block t is chosen, and nothing else",
        "execution",
        _PlannerProof(claim, planner, blocks).require_choices,
    )
    predictor = claim.machine(PREDICTOR, {name: name for name in BOTH})
    if predictor.program.attention != claim.source.transformers[PREDICTOR].attention:
        raise ObligationFailed("the predictor's attention is not that of the source")
    blocks.require_look_back(PREDICTOR, predictor)
    blocks.require_hosts(predictor)
    _PredictorProof(claim, predictor, blocks).prove()


class _InitialRows:
    """All rows before the first layer, each with a row that it can look back to: pairs (row, read)."""

    def __init__(self, claim: ConversionClaim, machine: ProgramMachine, blocks: Blocks, hosts: Sequence[str]) -> None:
        self.machine, self.mask, self.symbols = machine, claim.shape.mask or 0, claim.shape.symbols
        if len(machine.program.symbols) != self.symbols + 1:
            raise ObligationFailed("there is not one symbol more than the source has")
        self.hosts = hosts
        j, t = blocks.j, blocks.t
        self.written = [*(v for v in range(self.symbols) if v != self.mask), self.symbols]
        flags = blocks.flags
        input_states = self._rows(range(self.symbols), flags(machine, *blocks.input_rows))
        earlier = self._rows(self.written, flags(machine, *blocks.slot_rows))
        unwritten = self._rows([self.mask], flags(machine, *blocks.slot_rows))
        self.inputs = [(row, row) for row in input_states]
        first_block = self._rows([self.mask], flags(machine, j == t, j == 0))
        later_blocks = self._rows([self.mask], flags(machine, j == t, j >= 1))
        self.current = [(row, row) for row in first_block] + [(row, read) for row in later_blocks for read in earlier]
        written_first = self._rows(self.written, flags(machine, j < t, j == 0))
        written_later = self._rows(self.written, flags(machine, j < t, j >= 1))
        future = self._rows([self.mask], flags(machine, j > t, *blocks.slot_rows))
        self.idle = [(row, row) for row in written_first] + [(row, read) for row in written_later for read in earlier]
        self.idle += [(row, read) for row in future for read in unwritten]

    def _rows(self, tokens: Sequence[int], flags: Sequence[FlagValues]) -> list[RowState]:
        """Return the rows of every token and all values of the flags; the new symbol hosts the mask."""
        return [
            self.machine.start(token, values, self.mask if token == self.symbols else token, self.hosts)
            for token in tokens
            for values in flags
        ]


class _PlannerProof:
    """The proof about the planner of the converted model: it chooses exactly the slots of block t."""

    def __init__(self, claim: ConversionClaim, machine: ProgramMachine, blocks: Blocks) -> None:
        self.machine = machine
        self.states = _InitialRows(claim, machine, blocks, ())
        if len(machine.layers) != 1 or machine.program.outputs != 2:
            raise ObligationFailed("the planner is not one layer with two outputs")

    def require_choices(self) -> str:
        for rows, chosen in ((self.states.current, True), (self.states.idle, False)):
            for row, read in rows:
                logits = self.machine.logits(self.machine.after_layer(0, row, [read]))
                keep, take = (self.machine.numbers(logit).tolist() for logit in logits)
                if len(keep) != 1 or len(take) != 1 or (take > keep) != chosen:
                    raise ObligationFailed("a slot of block t is not chosen, or another is")
        return f"{len(self.states.current) + len(self.states.idle)} pairs of rows"


class _PredictorProof:
    """The proof about the predictor, layer by layer: rows that host a row of the source, and rows that are ignored.

    `inputs` and `current` host rows of the input and of block t. Once U's logits are read, the rows of block t are in
    `decided`, each with whether the source keeps its slot. `idle` stands for all ignored rows.
    """

    def __init__(self, claim: ConversionClaim, machine: ProgramMachine, blocks: Blocks) -> None:
        self.claim, self.machine, self.blocks = claim, machine, blocks
        self.states = _InitialRows(claim, machine, blocks, BOTH)
        self.depth = machine.sums.depth
        self.one, self.bound = claim.precision.one, claim.precision.bound
        (self.ignored,) = machine.columns("ignored")
        self.slot_symbol = machine.columns("symbol one block back")
        (self.always,) = machine.program.one.tolist()
        if len(machine.layers) != 1 + max(self.depth[PLANNER] + 1, self.depth[PREDICTOR]):
            raise ObligationFailed("the predictor has another number of layers")
        self.inputs: list[RowState] = []
        self.current: list[RowState] = []
        self.decided: list[tuple[RowState, bool]] = []
        self.idle = RowState((ANYTHING,) * machine.program.width, None)

    def prove(self) -> None:
        settle, layers = self.claim.ledger.settle, len(self.machine.layers)
        settle(
            "rows: hosts hold the source's streams before the first layer, others are ignored",
            "execution",
            self.require_start,
        )
        for number in range(layers - 1):
            name = f"layer {number}"
            settle(
                f"{name}: hosts score on hosts as in the source, and on others 0, for every score",
                "enumeration of all scores",
                lambda number=number: self.require_scores(number),
            )
            settle(
                f"{name}: rows that are ignored do not divide by zero, for every score",
                "enumeration of all scores",
                lambda number=number: self.require_weight(number),
            )
            if number == self.depth[PLANNER]:
                self._require_own_decision(number + 1)
            settle(
                f"{name}: the streams of the source after it", "execution", lambda number=number: self.advance(number)
            )
        settle(
            "decoding: the source's symbol where it takes one, else the present one", "execution", self.require_decoding
        )

    def require_start(self) -> str:
        hosts = [
            [self.machine.after_layer(0, row, [read]).with_host(read.symbol) for row, read in rows]
            for rows in (self.states.inputs, self.states.current)
        ]
        self.inputs, self.current = hosts
        self.require_streams(0)
        computed_columns = {self.ignored, *self.machine.columns("masked one block back")}
        for row, read in self.states.idle:
            after = self.machine.after_layer(0, row, [read], only=computed_columns)
            if not after.holds([self.ignored, self.always], [self.one, self.one]):
                raise ObligationFailed("a row of another block is not ignored")
        for row in self.current:
            one_hot: list[CellValue] = [self.one * (v == row.symbol) for v in range(self.states.symbols)]
            if not row.holds(self.slot_symbol, one_hot):
                raise ObligationFailed("a row does not determine the symbol in its slot")
        self.idle = self.idle.with_values({self.ignored: self.one, self.always: self.one})
        return f"{sum(map(len, (self.inputs, self.current, self.states.idle)))} pairs of rows"

    def require_streams(self, layers: int) -> None:
        """Require the streams after this number of layers, or after the last layer of the source."""
        for row in self._hosts:
            if not row.holds([self.ignored, self.always], [0, self.one]):
                raise ObligationFailed("a row that hosts one of the source is ignored")
            for name in BOTH:
                if not row.holds(self.machine.streams[name], self.machine.cells(name, min(layers, self.depth[name]))):
                    raise ObligationFailed(f"a row does not hold the stream of the {name} after {layers} layers")

    @property
    def _hosts(self) -> list[RowState]:
        return [*self.inputs, *self.current, *(row for row, _ in self.decided)]

    def _source_layers(self, number: int) -> tuple[SourceLayer, ...]:
        source_layers = self.machine.layers[number + 1].source_layers
        if [(g.transformer, g.number) for g in source_layers] != [(m, number) for m in BOTH if number < self.depth[m]]:
            raise ObligationFailed(f"layer {number} is not that of the source")
        return source_layers

    def require_scores(self, number: int) -> str:
        cases = 0
        for layer in self._source_layers(number):
            for exponentials in self.machine.exponentials_after_guard(layer, self._hosts, self._hosts):
                if not np.array_equal(exponentials, self.machine.exponentials):
                    raise ObligationFailed("a score is not the source's")
                cases += exponentials.size
            for exponentials in self.machine.exponentials_after_guard(layer, self._hosts, [self.idle]):
                if exponentials.any():
                    raise ObligationFailed("a host sees a row that it should not")
                cases += exponentials.size
        return f"{cases:,} scores"

    def require_weight(self, number: int) -> str:
        exponentials = [
            array
            for layer in self._source_layers(number)
            for array in self.machine.exponentials_after_guard(layer, [self.idle], self._hosts)
        ]
        if not all((after > 0).all() for after in exponentials):
            raise ObligationFailed("a row that is ignored may have no weight on a host")
        return f"{sum(after.size for after in exponentials):,} scores"

    def _require_own_decision(self, number: int) -> None:
        heads = self.machine.layers[number].other_heads
        if len(heads) != 1:
            raise ObligationFailed("U's logits are not read by one head")
        program, arithmetic, row = self.machine.program, self.claim.arithmetic, self.blocks.row
        name = f"{PREDICTOR}, layer {number}, head {heads[0]}"
        read = read_of(program, program.layers[number].heads[heads[0]], name, self.claim.precision, arithmetic, row)
        arithmetic.require(
            "layout: U's logits are those of the own row",
            arithmetic.at(read.address, row) == row.n,
            [*row.facts, row.n >= 0, self.blocks.j < arithmetic.steps],
        )

    def advance(self, number: int) -> str:
        layer, decides = number + 1, number == self.depth[PLANNER]
        if bool(self.machine.layers[layer].other_heads) != decides:
            raise ObligationFailed(f"layer {layer} has heads that it should not have, or lacks one")

        def passed(row: RowState, *, hosted: bool = True) -> RowState:
            return self.machine.after_layer(layer, row, [row] if decides else [], hosted=hosted)

        self.inputs = [passed(row) for row in self.inputs]
        self.idle = passed(self.idle, hosted=False)
        if not self.idle.holds([self.ignored, self.always], [self.one, self.one]):
            raise ObligationFailed("a row that is ignored is seen later")
        self.decided = [(passed(row), keeps) for row, keeps in self.decided]
        if decides:
            self.decided = [pair for row in self.current for pair in self._decided(layer, row)]
            self.current = []
        else:
            self.current = [passed(row) for row in self.current]
        self.require_streams(number + 1)
        return f"{len(self._hosts)} rows"

    def _decided(self, layer: int, row: RowState) -> list[tuple[RowState, bool]]:
        """Return the row for the case that the source takes a symbol, and for the case that it keeps its slot.

        Every pair of logits leads to one of these two rows.
        """
        attended = self.machine.after_heads(layer, row, [row])
        decision = self.machine.columns("decision")
        if not attended.holds(decision, [Logit(PLANNER, 0), Logit(PLANNER, 1)]):
            raise ObligationFailed("the decision is not U's")
        numbers = np.array(self.claim.precision.numbers())
        if numbers.size**2 > MOST_PAIRS:
            raise ObligationFailed(
                f"all pairs of logits are enumerated only up to p = 4, not at p = {self.claim.precision.p}"
            )
        keep, take = (side.ravel() for side in np.meshgrid(numbers, numbers, indexing="ij"))
        computed = self.machine.after_mlp(layer, attended.with_values(dict(zip(decision, (keep, take), strict=True))))
        keeps_slot = take <= keep
        known_columns = [c for name in ("not chosen", "kept") for c in self.machine.columns(name)]
        rows = []
        for keeps in (False, True):
            index = int(np.flatnonzero(keeps_slot == keeps)[0])
            values: dict[int, CellValue] = dict.fromkeys(decision, ANYTHING)
            for c, value in enumerate(computed.columns):
                if c in known_columns or isinstance(value, np.ndarray):
                    values[c] = self._one_number(value, keeps_slot, keeps, index)
            rows.append((computed.with_values(values | dict.fromkeys(decision, ANYTHING)), keeps))
        return rows

    @staticmethod
    def _one_number(value: CellValue, keeps_slot: np.ndarray, keeps: bool, index: int) -> CellValue:
        """Return the value of a column in all cases in which the source keeps (or takes); ANYTHING if it varies."""
        if not isinstance(value, np.ndarray) or not value.ndim:
            return value
        same = value[keeps_slot == keeps]
        return int(value[index]) if (same == value[index]).all() else ANYTHING

    def require_decoding(self) -> str:
        mask, symbols = self.states.mask, self.states.symbols
        if self.machine.program.outputs != symbols + 1:
            raise ObligationFailed("there is not one output more than the source has")
        for row, keeps in self.decided:
            logits = self.machine.logits(row)
            written = {v: self.machine.numbers(logits[v]) for v in range(symbols + 1) if v != mask}
            if keeps:
                expected = symbols if row.symbol == mask else row.symbol
                others = max(x.max() for v, x in written.items() if v != expected)
                if expected is None or written[expected].min() <= others:
                    raise ObligationFailed("where the source keeps its slot, another symbol may win")
            elif any(logits[v] != (Logit(PREDICTOR, v), []) for v in range(symbols) if v != mask):
                raise ObligationFailed("a logit is not that of the source")
            elif written[symbols].tolist() != [-self.bound]:
                raise ObligationFailed("the logit of the new symbol is not -B")
        return f"{len(self.decided)} rows"


def other_fields(source: Model) -> dict[str, Any]:
    """Return the other fields of the converted model: those of the source, with T blocks of slots and ĥ for m."""
    same = ("length", "steps", "begin", "accept", "reject", "input_symbols", "characters", "mask", "block", "k")
    return {
        **{name: getattr(source, name) for name in same},
        "kind": "smdm",
        "padding": source.steps * source.padding,
        "vocabulary": (*source.vocabulary, "ĥ"),
        "aliases": {**source.aliases, "ĥ": source.aliases.get("m", "m")},
    }
