"""Random circuit → programs that sample its outputs: they write each slot once, or rewrite slots in place.

Both have the logits of `value_logits`: (B, -B) for a decided bit, (0, 0) for a coin. From p = 2 on, Gumbel noise cannot
change a decided bit. A coin is 1 with probability `coin_probability(p)`, slightly below 1/2: equal scores go to the
lowest symbol.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.numerics.noise import gumbel_law
from unmask.problems.random_circuits import Coin, Layout, Step, TableGate, constant_table
from unmask.programs.gadgets.attention import lookup, lookup_row
from unmask.programs.planner_programs import symmetric_planner_logits
from unmask.programs.program import (
    ONE,
    B,
    Columns,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
    Vocabulary,
    vocabulary_of,
)

LEAST_PRECISION = 2


def coin_probability(precision: Precision) -> Fraction:
    """The probability that a coin is 1: (1 - P(equal noise))/2."""
    return gumbel_law([0, 0], precision)[1]


def sampling_vocabulary() -> Vocabulary:
    """The vocabulary: 0, 1 and the mask, without letters."""
    return vocabulary_of((), 0, ("reject", "accept", "mask"))


class _Bits:
    """The registers of a slot: `zero` and `unit` flag its bit, `masked` flags that it has no bit."""

    def __init__(self, rows: int, outputs: int) -> None:
        self.vocabulary = sampling_vocabulary()
        self.program = Program(self.vocabulary.symbols, outputs, 0, rows)
        self.rows = rows
        self.zero, self.unit, self.masked = (self.program.register(name) for name in ("zero", "unit", "masked"))
        for role, register in (("reject", self.zero), ("accept", self.unit), ("mask", self.masked)):
            self.program.embed(self.vocabulary[role], register)
        self.row_code = self.program.code("here", n)

    def fetch(self, layer: LayerBuilder, name: str, rows: Sequence[int]) -> tuple[Columns, Columns, Columns]:
        """Look up zero, unit and masked of the row that a table names for every row."""
        address = self.program.code(f"address {name}", np.array(rows))
        return self._copied(lookup(layer, address, self.row_code), name)

    def fetch_row(self, layer: LayerBuilder, name: str, row: int) -> tuple[Columns, Columns, Columns]:
        """Look up zero, unit and masked of one row, the same for every row."""
        return self._copied(lookup_row(layer, row, self.row_code), name)

    def _copied(self, head: HeadBuilder, name: str) -> tuple[Columns, Columns, Columns]:
        zero, unit, masked = (self.program.register(f"{name} {kind}") for kind in ("zero", "unit", "masked"))
        for source, target in ((self.zero, zero), (self.unit, unit), (self.masked, masked)):
            head.copy(source, target)
        return zero, unit, masked

    def gates(
        self,
        mlp: MlpBuilder,
        name: str,
        steps: Sequence[Step],
        operands: tuple[tuple[Columns, ...], tuple[Columns, ...]],
        blocked: Sequence[Columns],
        value_flags: tuple[Columns, Columns],
    ) -> None:
        """Add to `value_flags` the value of the gate of every row; 0 if the row has no gate or is blocked.

        unit of ab = ReLU([table(ab)] - [left ≠ a] - [right ≠ b] - blocked), for the value 1, and likewise for 0.
        """
        (left_zero, left_unit, _), (right_zero, right_unit, _) = operands
        for value, column in zip((False, True), value_flags, strict=True):
            for a, b in product((False, True), repeat=2):
                entries = np.array([isinstance(step, TableGate) and step.value(a, b) == value for step in steps])
                flag = self.program.flag(f"{name}{int(a)}{int(b)} is {int(value)}", entries.astype(np.int64))
                unit = mlp.units(1)
                mlp.read(unit, flag)
                mlp.read(unit, left_zero if a else left_unit, -ONE)
                mlp.read(unit, right_zero if b else right_unit, -ONE)
                for columns in blocked:
                    mlp.read(unit, columns, -ONE)
                mlp.write(unit, column)


def value_logits(bits: _Bits, zero_flag: Columns, one_flag: Columns) -> None:
    """Set the logits: B·one_flag - B·zero_flag for 1, the negative for 0. If neither is set, the slot is a coin."""
    for role, sign in (("accept", B), ("reject", -B)):
        bits.program.read_out(bits.vocabulary[role], one_flag, sign)
        bits.program.read_out(bits.vocabulary[role], zero_flag, -sign)


def write_once_programs(nodes: Sequence[Coin | TableGate]) -> dict[str, Program]:
    """Planner and predictor that write a coin or gate in every slot once; gates read slots.

    Statement:    the outputs of a random circuit of depth d (coins are level 1) with g nodes and distinct outputs are
                  sampled by a masked diffusion model with d passes and g slots that writes each slot once.
    Construction: a slot looks up its two operands; the MLP holds the table. The planner chooses coins immediately,
                  and gates when no operand is masked.
    Bounds:       T = d, P = g; predictor 1 layer, 2 heads; planner 1 layer, 2 heads; width O(log g).
    Exactness:    p >= 2: exactly the law of the circuit with coins that are 1 with probability `coin_probability(p)`.
    """
    left = [node.left if isinstance(node, TableGate) else k for k, node in enumerate(nodes)]
    right = [node.right if isinstance(node, TableGate) else k for k, node in enumerate(nodes)]

    bits = _Bits(len(nodes), 3)
    layer = bits.program.layer()
    operands = bits.fetch(layer, "left", left), bits.fetch(layer, "right", right)
    value_flags = bits.program.register("says 0"), bits.program.register("says 1")
    bits.gates(layer.mlp, "", nodes, operands, [operands[0][2], operands[1][2]], value_flags)
    value_logits(bits, *value_flags)

    planner = _Bits(len(nodes), 2)
    coin = planner.program.flag("coin", np.array([isinstance(node, Coin) for node in nodes], dtype=np.int64))
    take = planner.program.register("take", 2)
    layer = planner.program.layer()
    waits = planner.fetch(layer, "left", left)[2], planner.fetch(layer, "right", right)[2]
    gate, toss = layer.mlp.units(1), layer.mlp.units(1, bias=-ONE)
    layer.mlp.read(gate, planner.masked)
    for columns in (*waits, coin):
        layer.mlp.read(gate, columns, -ONE)
    layer.mlp.read(toss, planner.masked)
    layer.mlp.read(toss, coin)
    for unit in (gate, toss):
        layer.mlp.write(unit, take)
    symmetric_planner_logits(planner.program, take)
    return {"planner": planner.program, "predictor": bits.program}


def counter_bits(passes: int) -> int:
    """⌈log2(T - 1)⌉: the counter distinguishes the passes after the first, which is recognised by the masks."""
    return max(0, (passes - 2).bit_length()) if passes > 2 else 0


def with_counter(layout: Layout) -> tuple[tuple[Step, ...], ...]:
    """The steps of all slots, those of the counter first: after pass t it holds t - 1."""
    bits = counter_bits(len(layout.passes))

    def counter(passed: int) -> tuple[Step, ...]:
        return tuple(TableGate(constant_table(True), 0, 0) if passed >> j & 1 else None for j in range(bits))

    def moved(step: Step) -> Step:
        return TableGate(step.table, step.left + bits, step.right + bits) if isinstance(step, TableGate) else step

    return tuple((*counter(t), *map(moved, steps)) for t, steps in enumerate(layout.passes))


def in_place_programs(layout: Layout) -> dict[str, Program]:
    """Planner and predictor that rewrite all slots in every pass.

    Statement:    a layout of T passes on w slots is sampled by a masked diffusion model with T passes and
                  w + ⌈log2(T - 1)⌉ slots.
    Construction: masks indicate the first pass; a counter in separate slots indicates the others. For every later pass
                  a slot looks up the two slots that it reads then; the MLP uses those of the pass that the counter
                  shows.
    Bounds:       2 layers, 2(T - 1) + ⌈log2(T - 1)⌉ heads, width O(T·log w); the planner has no layer.
    Exactness:    as `write_once_programs`.
    """
    passes = with_counter(layout)
    first, later = passes[0], passes[1:]
    bits = _Bits(len(first), 3)
    program, layer = bits.program, bits.program.layer()
    counter = [bits.fetch_row(layer, f"counter {j}", j) for j in range(counter_bits(len(passes)))]
    operands = []
    for t, steps in enumerate(later, 1):
        reads = [(s.left, s.right) if isinstance(s, TableGate) else (k, k) for k, s in enumerate(steps)]
        left, right = zip(*reads, strict=True)
        operands.append((bits.fetch(layer, f"left {t}", left), bits.fetch(layer, f"right {t}", right)))
    not_in_pass = [program.register(f"not pass {t}") for t in range(1, len(passes))]
    for passed, not_this_pass in enumerate(not_in_pass):
        unit = layer.mlp.units(1, bias=ONE)
        layer.mlp.read(unit, bits.masked, -ONE)
        for j, (zero, one, _) in enumerate(counter):
            layer.mlp.read(unit, zero if passed >> j & 1 else one, -ONE)
        layer.mlp.write(unit, not_this_pass, -ONE)
        layer.mlp.offset(not_this_pass, ONE)
    value_flags = program.register("says 0"), program.register("says 1")
    table = program.layer()
    start = program.flag("starts with 0", np.array([step is None for step in first], dtype=np.int64))
    unit = table.mlp.units(1, bias=-ONE)
    table.mlp.read(unit, start)
    table.mlp.read(unit, bits.masked)
    table.mlp.write(unit, value_flags[0])
    for t, (steps, gate_operands, not_this_pass) in enumerate(zip(later, operands, not_in_pass, strict=True), 1):
        always = [TableGate(constant_table(False), k, k) if step is None else step for k, step in enumerate(steps)]
        bits.gates(table.mlp, f"{t}: ", always, gate_operands, [not_this_pass], value_flags)
    value_logits(bits, *value_flags)

    planner = Program(bits.vocabulary.symbols, 2, 0, len(first))
    symmetric_planner_logits(planner, planner.flag("take", np.ones(len(first), dtype=np.int64), copies=2))
    return {"planner": planner, "predictor": program}
