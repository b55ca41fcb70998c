"""Circuits by chain of thought, one gate per step: the circuit value problem gains nothing from few steps.

Statement:    a circuit with s gates of fan-in two is decided by a chain of thought with s steps.
Construction: gate[t]  =  (bit 0 ≠ negated 0) ∧ or ∨ (bit 1 ≠ negated 1);   symbol t is the value of gate t, the row
              before it looks up the two values that gate t reads (`programs/recurrences`).
Bounds:       T = size (at least the number of outputs), one symbol per step; 1 layer; width O(log(N + T)).
Exactness:    for p >= 1.
"""

from unmask.problems.circuits.circuit import Circuit, Gate
from unmask.problems.circuits.shape import binary, with_output_gates
from unmask.programs.circuits.by_depth import answers, k, literal_read
from unmask.recurrences.expressions import table
from unmask.recurrences.slots import BOOLEAN, Slots, number
from unmask.recurrences.system import System


def chain_gates(circuit: Circuit) -> list[Gate]:
    """Gates of fan-in one or two in the order of the steps, those of the outputs last."""
    inner, outputs = with_output_gates(binary(circuit))
    return [*inner, *outputs]


def chain_system(circuit: Circuit, gates: list[Gate], letters: tuple[str, str]) -> System:
    """A slot per gate, which reads two bits; a gate with one input reads it twice."""
    slots = Slots("gate", k.range(len(gates)), BOOLEAN)
    sides = [[(gate.inputs * 2)[side] for gate in gates] for side in (0, 1)]
    bits = [literal_read(slots, len(circuit.inputs), side, k, letters) for side in sides]
    signs = [number(table([x & 1 for x in side])(k)) for side in sides]
    kind = number(table([gate.kind == "and" for gate in gates])(k))
    slots.rule((*bits, *signs, kind), _gate)
    return System(letters, slots, answers(slots, gates, len(circuit.outputs)), name="circuit")


def _gate(left: bool, right: bool, not_left: int, not_right: int, is_and: int) -> bool:
    a, b = left != not_left, right != not_right
    return a and b if is_and else a or b
