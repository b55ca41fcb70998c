"""Reachability by a looped transformer in ⌈log2 v⌉ loops: every loop squares the matrix in place.

Statement:    whether a path leads from vertex 0 to vertex v - 1 of a graph of v vertices is decided by a looped
              transformer with ⌈log2 v⌉ loops and v² + v³ pads.
Construction: one layer loads the matrix with 1 on its diagonal; two looped layers multiply and gather.
Bounds:       T = ⌈log2 v⌉, P = v² + v³, 3 layers, 2 of them looped; width O(log v).
Exactness:    for every v >= 1 and p >= 1.
"""

import numpy as np

from unmask.programs.gadgets.lookup import clear, itself
from unmask.programs.language.coefficients import TOP, B
from unmask.programs.language.program import Program
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.reachability.parts import (
    gather,
    load,
    look_up_input,
    multiply,
    squaring_registers,
    squaring_slots,
)


def squaring_loop(vertices: int, vocabulary: Vocabulary) -> Program:
    """One layer, then two looped ones; the last row is the entry (0, v - 1)."""
    length = vertices**2
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, length + squaring_slots(vertices))
    registers = squaring_registers(program, vertices)
    bit_is_zero = program.register("bit is 0")
    program.embed(0, bit_is_zero)

    first, second, third = (program.layer() for _ in range(3))
    look_up_input(first, registers, bit_is_zero)
    load(first.mlp, registers)
    multiply(second, registers)
    clear(itself(second, registers.here), registers.factor_is_zero, registers.product)
    gather(third, registers)
    clear(itself(third, registers.here), registers.share, registers.zero)
    unit = third.mlp.units(1)
    third.mlp.read(unit, registers.is_entry)
    third.mlp.read(unit, registers.share, -TOP)
    third.mlp.write(unit, registers.zero)
    program.loop = 1, len(program.layers)

    program.read_out(np.setdiff1d(vocabulary.everything, vocabulary["accept"]), program.one, -B)
    program.read_out(vocabulary["accept"], program.one, B)
    for column in registers.zero:
        program.read_out(vocabulary["reject"], column, B)
        program.read_out(vocabulary["accept"], column, -B)
    return program
