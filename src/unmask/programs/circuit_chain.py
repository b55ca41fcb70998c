"""Circuits by chain of thought, one gate per step: the circuit value problem gains nothing from few steps.

Statement:    a circuit with s gates of fan-in two is decided by a chain of thought with s steps.
Construction: symbol t is the value of gate t; the row before it looks up the two values that gate t reads.
Bounds:       T = size (at least the number of outputs), one symbol per step; 1 layer; width O(log(N + T)).
Exactness:    for p >= 2.
"""

import numpy as np

from unmask.problems.circuit import Circuit, Gate
from unmask.problems.circuit_shape import binary, with_output_gates
from unmask.programs.attention import eq
from unmask.programs.circuit_parts import BIT_NAMES
from unmask.programs.coefficients import ONE, B
from unmask.programs.expressions import n
from unmask.programs.program import Flag, Program, SignedBits, TableBits, TableFlag, bits_for
from unmask.programs.vocabulary import Vocabulary


def chain_gates(circuit: Circuit) -> list[Gate]:
    """Gates of fan-in one or two in the order of the steps, those of the outputs last."""
    inner, outputs = with_output_gates(binary(circuit))
    return [*inner, *outputs]


def circuit_chain(circuit: Circuit, gates: list[Gate], vocabulary: Vocabulary) -> Program:
    """The program of all steps; the circuit has at least one input."""
    length, steps = len(circuit.inputs), len(gates)
    rows = length + steps
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, rows)
    bits = bits_for(rows)
    # row N - 1 + t emits symbol t, which will stand in row N + t
    literals = np.full((rows, 2), 2, dtype=np.int64)
    is_and = np.zeros(rows, dtype=bool)
    for t, gate in enumerate(gates):
        literals[length - 1 + t] = (gate.inputs * 2)[:2]
        is_and[length - 1 + t] = gate.kind == "and"

    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits, SignedBits(n))
    operands = []
    for side in (0, 1):
        address = program.register(f"operand {side} address", bits, TableBits((literals[:, side] >> 1) - 1, n))
        negated = program.register(f"operand {side} negated", declaration=TableFlag(literals[:, side] & 1 == 1, n))
        plain = program.register(f"operand {side} plain", declaration=TableFlag(literals[:, side] & 1 == 0, n))
        operands.append((address, negated, plain))
    conjunction = program.register("AND", declaration=TableFlag(is_and, n))
    disjunction = program.register("OR", declaration=TableFlag(~is_and, n))
    held = program.register("held", BIT_NAMES)
    found = [program.register(f"operand {side} found", BIT_NAMES) for side in (0, 1)]
    operand = [program.register(f"operand {side}", BIT_NAMES) for side in (0, 1)]
    result = [program.register(f"result {bit}", 2) for bit in BIT_NAMES]
    verdicts = [vocabulary["reject"], vocabulary["accept"]]
    program.embed([0, 1], held)
    program.embed(verdicts, held)

    first = program.layer()
    for side, (address, negated, plain) in enumerate(operands):
        head = first.head()
        eq(head, address, here, one)
        head.copy(held, found[side])
        for bit in (0, 1):
            for origin, forbidden in ((bit, negated), (1 - bit, plain)):
                unit = first.mlp.units(1)
                first.mlp.read(unit, found[side][origin])
                first.mlp.read(unit, forbidden, -ONE)
                first.mlp.write(unit, operand[side][bit])
    second = program.layer().mlp
    # AND is 0 if operand 0 is, or else if operand 1 is; OR likewise with 1: exclusive units, one positive literal each
    for kind, bit, other in ((conjunction, 0, disjunction), (disjunction, 1, conjunction)):
        cases = (
            (bit, operand[0][bit], [other]),
            (bit, operand[1][bit], [other, operand[0][bit]]),
            (1 - bit, kind, [operand[0][bit], operand[1][bit]]),
        )
        for value, positive, negative in cases:
            unit = second.units(1)
            second.read(unit, positive)
            for column in negative:
                second.read(unit, column, -ONE)
            for column in result[value]:
                second.write(unit, column)
    program.read_out(vocabulary.everything, one, -B)
    for symbol, columns in zip(verdicts, result, strict=True):
        program.read_out(symbol, columns, B)
    return program
