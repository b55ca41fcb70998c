"""Circuits by a looped transformer in as many loops as they are deep.

Statement:    a circuit of depth d with w wires and g gates is decided by a looped transformer with d loops, w + g pads.
Construction: as by masked diffusion, but every gate is computed in every loop from what its wires carry; after k loops
              all gates of depth k are right and stay so.
Bounds:       T = depth, P = wires + gates, 3 looped layers, width O(log(N + P)).
Exactness:    for any fan-in and p >= 1.
"""

from unmask.programs.attention import clear
from unmask.programs.buffers import itself
from unmask.programs.circuit_parts import (
    BIT_NAMES,
    attend_wires,
    circuit_registers,
    gate_value,
    negate_wires,
    read_sources,
)
from unmask.programs.circuit_plan import CircuitPlan
from unmask.programs.coefficients import B
from unmask.programs.logic import threshold
from unmask.programs.program import Program
from unmask.programs.vocabulary import Vocabulary


def circuit_loop(plan: CircuitPlan, vocabulary: Vocabulary) -> Program:
    """Loop the layers [0, 3); the last row holds the last output."""
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows)
    registers = circuit_registers(program, plan)
    given, computed = program.register("given", BIT_NAMES), program.register("computed", BIT_NAMES)
    found, value = program.register("found", BIT_NAMES), program.register("wire", BIT_NAMES)
    average, some = program.register("average", BIT_NAMES), program.register("some wire is", BIT_NAMES)
    program.embed([0, 1], given)

    first = program.layer()
    read_sources(first, registers, given, found)
    first.heads[-1].copy(computed, found)
    clear(itself(first, registers.here, registers.one), found, value)
    negate_wires(first, registers, found, value)
    second = program.layer()
    attend_wires(second, registers, value, average)
    clear(itself(second, registers.here, registers.one), average, some)
    threshold(second.mlp, average, some)
    third = program.layer()
    clear(itself(third, registers.here, registers.one), computed)
    gate_value(third, registers, some, [computed[:1], computed[1:]], [registers.not_gate])

    program.read_out(vocabulary.everything, registers.one, -B)
    program.read_out([vocabulary["reject"], vocabulary["accept"]], computed, B)
    return program
