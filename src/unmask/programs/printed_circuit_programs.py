"""A circuit family that a metered machine prints → one planner and one predictor for every N.

Statement:    a family of circuits of depth T(N) and size P(N) that a machine with logarithmic space prints is decided
              by an L-uniform family of masked diffusion models with T(N) steps and P(N) slots, one per wire and gate;
              so L-uniform AC^d ⊆ MDM[O(log^d N), poly(N)] (cor:mdms-with-constant-steps, cor:mdms-with-polylog-steps).
Construction: row N + k is item k, in the order in which the machine prints: a wire, or the gate of the wires before
              it. The positional encoding of a row runs the machine again and counts to the item
              (`problems/circuits/printed_circuits.py`). A wire looks up its source; a gate attends to its wires and
              detects one that decides it, and one whose source is masked.
Bounds:       T = any formula that is at least the depth: once no slot is ready, a step changes nothing.
              P = wires + gates; predictor 3 layers, planner 2; width O(log N).
Exactness:    for any fan-in and p >= 1: averages are only compared with 0 (lem:detection). Every gate has a wire.
Deviations:   `circuit_systems.circuit_system` has the same rows in another order, as tables of one N.
"""

import numpy as np

from unmask.expressions import Expression, N, choose, computed_by, n
from unmask.problems.circuits.metered import MachineCall, Metered
from unmask.problems.circuits.printed_circuits import PrintedFamily, deciding_bit, gate_of, item, items, source_row
from unmask.programs.gadgets.attention import eq, hide, lookup
from unmask.programs.gadgets.mlp import conjunction, nor
from unmask.programs.planner_programs import symmetric_planner_logits
from unmask.programs.program import (
    ONE,
    TOP,
    B,
    Columns,
    HeadBuilder,
    LayerBuilder,
    Program,
    Vocabulary,
    program_in_length,
)
from unmask.programs.recurrences.slot_registers import compare_with_zero


class PrintedRows:
    """The rows of a family, as expressions in n and N that call its machine."""

    def __init__(self, family: PrintedFamily) -> None:
        self._family = family
        self.slots = self._computed(items, N)
        self.rows = N + self.slots
        item_index = n - N
        kind = self._computed(item, N, item_index)
        self.is_gate, self.is_and = kind < 0, kind.equals(-1)
        bit = self._computed(deciding_bit, N, item_index)
        self.decided_by = [choose(n < N, 0, bit.equals(value)) for value in (0, 1)]
        self.is_wire = choose(n < N, 0, bit < 2)
        self.source = choose(n < N, n, self._computed(source_row, N, item_index))
        self.gate = N + self._computed(gate_of, N, item_index)

    def _computed(self, function: Metered, *operands: Expression) -> Expression:
        return computed_by(MachineCall(function, (self._family.machine,), self._family.bound), *operands)

    def look_up(self, program: Program, layer: LayerBuilder) -> HeadBuilder:
        """A head with which every wire reads its source; all other rows read themselves."""
        row_code = program.code("here", n, capacity=self.rows)
        return lookup(layer, program.code("source", self.source, capacity=self.rows), row_code)

    def gather(self, program: Program, layer: LayerBuilder) -> HeadBuilder:
        """A head with which every gate sees its wires; the letters see the wires of the last gate."""
        head, gate = layer.head(), program.code("gate", self.gate, capacity=self.rows)
        eq(head, gate, gate)
        hide(head, program.flag("no wire", choose(self.is_wire, 0, 1)), copies=1)
        return head


def printed_planner(rows: PrintedRows, vocabulary: Vocabulary) -> Program:
    """The planner: it chooses the masked gates whose wires have no masked source."""
    program = program_in_length(vocabulary.symbols, 2, rows.rows)
    masked, absent = program.register("masked"), program.register("source is masked")
    share, take = program.register("share of masked", 2), program.register("take", 2)
    program.embed(vocabulary["mask"], masked)
    rows.look_up(program, program.layer()).copy(masked, absent)
    layer = program.layer()
    rows.gather(program, layer).copy(absent, share)
    unit = layer.mlp.units(1)  # a share is 0 or at least 2^-p: twice 2^(p-1) of it outweighs `masked`
    layer.mlp.read(unit, masked)
    layer.mlp.read(unit, program.flag("no gate", choose(rows.is_gate, 0, 1)), -ONE)
    for column in share:
        layer.mlp.read(unit, np.array([column]), -TOP)
    layer.mlp.write(unit, take)
    symmetric_planner_logits(program, take)
    return program


def printed_predictor(rows: PrintedRows, vocabulary: Vocabulary) -> Program:
    """The predictor: it computes the value of every gate whose wires have a value."""
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), rows.rows)
    bits, fetched = (program.register(name, ("0", "1")) for name in ("bit", "bit of the source"))
    program.embed((0, 1), bits)
    program.embed(vocabulary.verdicts, bits)
    decides, share = program.register("decides"), program.register("share that decides")
    some, none = program.register("decided"), program.register("not decided")
    layer = program.layer()
    rows.look_up(program, layer).copy(bits, fetched)
    for value in (0, 1):
        other = program.flag(f"not decided by {value}", choose(rows.decided_by[value], 0, 1))
        layer.mlp.write(conjunction(layer.mlp, fetched[value : value + 1], [other]), decides)
    layer = program.layer()
    rows.gather(program, layer).copy(decides, share)
    compare_with_zero(layer.mlp, share, some, none)
    _read_out(program, rows, vocabulary, some, none)
    return program


def _read_out(program: Program, rows: PrintedRows, vocabulary: Vocabulary, some: Columns, none: Columns) -> None:
    """A decided OR and an undecided AND are true. Added twice, so that the symbol has the logit -B + B + B."""
    is_and = program.flag("AND", rows.is_and)
    not_and = program.flag("no AND", choose(rows.is_and, 0, 1))
    copies = [program.register(f"value, copy {k}", ("0", "1")) for k in (1, 2)]
    mlp = program.layer().mlp
    for outcome, gate, value in ((some, is_and, 0), (none, is_and, 1), (some, not_and, 1), (none, not_and, 0)):
        other, elsewhere = (none if outcome is some else some), (not_and if gate is is_and else is_and)
        unit = nor(mlp, [np.concatenate([other, elsewhere])])
        for copy in copies:
            mlp.write(unit, copy[value : value + 1])
    program.read_out(vocabulary.all_tokens, program.one, -B)
    for copy in copies:
        program.read_out(vocabulary.verdicts, copy, B)
