"""Circuits by masked diffusion in as many steps as they are deep (behind cor:mdms-with-constant-steps).

Statement:    a circuit of depth d with w wires and g gates is decided by a masked diffusion model with d steps and
              w + g slots; so AC^d ⊆ MDM[O(log^d N), poly(N)].
Construction: a slot per wire, never written, looks up the value of its source; a slot per gate attends to its wires and
              detects a 0, a 1, and a masked one among them. The planner chooses a masked gate once none of its wires
              is unknown. The gates of the outputs stand last.
Bounds:       T = depth, P = wires + gates; predictor 3 layers, planner 2; width O(log(N + P)).
Exactness:    for any fan-in and p >= 1: averages are only ever compared with 0 (lem:detection).
Deviations:   straight from the circuit, where the paper goes through looped transformers: fewer slots by far.
"""

from unmask.programs.circuit_parts import (
    BIT_NAMES,
    attend_wires,
    circuit_registers,
    gate_value,
    negate_wires,
    read_sources,
)
from unmask.programs.circuit_plan import CircuitPlan
from unmask.programs.coefficients import ONE, TOP, B
from unmask.programs.logic import threshold
from unmask.programs.program import Program
from unmask.programs.select_block import planner_logits
from unmask.programs.vocabulary import Vocabulary


def circuit_planner(plan: CircuitPlan, vocabulary: Vocabulary) -> Program:
    """u = masked gate ∧ no wire of it unknown."""
    program = Program(vocabulary.symbols, 2, plan.length, plan.rows)
    registers = circuit_registers(program, plan)
    masked = program.register("masked")
    program.embed(vocabulary["mask"], masked)
    unknown = program.register("unknown")
    share = program.register("share of unknown wires", 2)
    chosen = program.register("chosen")
    read_sources(program.layer(), registers, masked, unknown)
    layer = program.layer()
    attend_wires(layer, registers, unknown, share[:1])
    layer.heads[-1].copy(unknown, share[1:])
    unit = layer.mlp.units(1)
    layer.mlp.read(unit, masked)
    layer.mlp.read(unit, registers.not_gate, -ONE)
    # a share is 0 or at least 2^-p: twice 2^(p-1) of it outweighs `masked`
    for column in share:
        layer.mlp.read(unit, column, -TOP)
    layer.mlp.write(unit, chosen)
    planner_logits(program, chosen, registers.one)
    return program


def circuit_predictor(plan: CircuitPlan, vocabulary: Vocabulary) -> Program:
    """The value of a gate whose wires are all known; undecided gates tie."""
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows)
    registers = circuit_registers(program, plan)
    names = (*BIT_NAMES, "unknown")
    held, found = program.register("held", names), program.register("found", names)
    value, average = program.register("wire", names), program.register("average", names)
    some = program.register("some wire is", names)
    known = program.register("known")
    result = [program.register(f"result {bit}", 2) for bit in BIT_NAMES]
    verdicts = [vocabulary["reject"], vocabulary["accept"]]
    program.embed([0, 1], held[:2])
    program.embed(verdicts, held[:2])
    program.embed(vocabulary["mask"], held[2])

    first = program.layer()
    read_sources(first, registers, held, found)
    negate_wires(first, registers, found, value)
    unit = first.mlp.units(1)
    first.mlp.read(unit, found[2])
    first.mlp.write(unit, value[2])
    second = program.layer()
    attend_wires(second, registers, value, average)
    threshold(second.mlp, average, some)
    third = program.layer()
    gate_value(third, registers, some, result, [some[2]])
    unit = third.mlp.units(1, bias=ONE)
    third.mlp.read(unit, some[2], -ONE)
    third.mlp.write(unit, known)

    program.read_out([i for i in range(len(vocabulary.symbols)) if i not in verdicts], registers.one, -B)
    program.read_out(verdicts, known, -B)
    for symbol, columns in zip(verdicts, result, strict=True):
        program.read_out(symbol, columns, B)
    return program
