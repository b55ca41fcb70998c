"""Reachability by masked diffusion in ⌈log2 v⌉ steps: every step squares the matrix in place, by editing.

Statement:    whether a path leads from vertex 0 to vertex v - 1 of a graph of v vertices is decided by a masked
              diffusion model with ⌈log2 v⌉ steps and v² + v³ slots. A circuit of AND and OR takes twice the steps.
Construction: v² slots hold the matrix R, v³ slots are workspace for its products and stay masked. An entry is what its
              slot holds or, while that is masked, the bit of the input, 1 on the diagonal. The predictor replaces R
              by R·R; the planner chooses every entry in every step, also those that are written.
Bounds:       T = ⌈log2 v⌉ (1 for v = 1), P = v² + v³; predictor 3 layers, planner none; width O(log v).
Exactness:    for every v >= 1 and p >= 1.
Deviations:   straight from the matrix, without a circuit. A model that may not edit needs new slots for every
              squaring: smdm is compiled from the circuit.
"""

import numpy as np

from unmask.programs.gadgets.logic import conjunction
from unmask.programs.language.builders import Columns, MlpBuilder
from unmask.programs.language.coefficients import ONE, TOP, B
from unmask.programs.language.positions import N, n
from unmask.programs.language.program import Program
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.planners.logits import planner_logits
from unmask.programs.reachability.parts import (
    SquaringRegisters,
    gather,
    load,
    look_up_input,
    multiply,
    squaring_registers,
    squaring_slots,
)


def squaring_planner(vertices: int, vocabulary: Vocabulary) -> Program:
    """u = [the row is an entry]."""
    length = vertices**2
    program = Program(vocabulary.symbols, 2, length, length + squaring_slots(vertices))
    planner_logits(program, program.flag("is an entry", n >= N + vertices**3))
    return program


def squaring_predictor(vertices: int, vocabulary: Vocabulary) -> Program:
    """Entry (i, j) of R·R."""
    length = vertices**2
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, length + squaring_slots(vertices))
    registers = squaring_registers(program, vertices)
    bit_is_zero, holds_zero = program.register("bit is 0"), program.register("holds 0")
    written, reachable = program.register("written"), program.register("reachable", 2)
    program.embed(0, bit_is_zero)
    program.embed(vocabulary["reject"], holds_zero)
    program.embed(vocabulary.verdicts, written)

    first, second, third = (program.layer() for _ in range(3))
    look_up_input(first, registers, bit_is_zero)
    load(first.mlp, registers, unless=[written])
    first.mlp.write(conjunction(first.mlp, holds_zero, [[]]), registers.zero)
    multiply(second, registers)
    gather(third, registers)
    _some(third.mlp, registers, reachable)

    program.read_out(np.setdiff1d(vocabulary.everything, vocabulary["reject"]), program.one, -B)
    program.read_out(vocabulary["reject"], program.one, B)
    for column in reachable:
        program.read_out(vocabulary["accept"], column, B)
        program.read_out(vocabulary["reject"], column, -B)
    return program


def _some(mlp: MlpBuilder, registers: SquaringRegisters, reachable: Columns) -> None:
    """reachable = [the share of products is above 0], as the complement of what it leaves of 1."""
    unit = mlp.units(1, bias=ONE)
    mlp.read(unit, registers.share, -TOP)
    mlp.write(unit, reachable, -ONE)
    mlp.offset(reachable, ONE)
