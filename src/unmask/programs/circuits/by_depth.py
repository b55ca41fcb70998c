"""Circuits as recurrences, in as many steps as they are deep (behind cor:mdms-with-constant-steps).

Statement:    a circuit of depth d with w wires and g gates is decided by a masked diffusion model with d steps and
              w + g slots, and by a looped transformer with d loops and w + g pads; so AC^d ⊆ MDM[O(log^d N), poly(N)].
Construction: gate[k]  =  ∀ wire of k: bit ≠ negated      (AND),      ∃ wire of k: bit ≠ negated      (OR)
              A row per wire looks up its source; a gate attends to its wires and detects one that decides it, and one
              that is masked (`programs/recurrences`). The gates of the outputs stand last.
Bounds:       T = depth, P = wires + gates; predictor 3 layers, planner 2, loop 3; width O(log(N + P)).
Exactness:    for any fan-in and p >= 1: averages are only ever compared with 0 (lem:detection).
Deviations:   straight from the circuit, where the paper goes through looped transformers: fewer slots by far.
"""

from dataclasses import dataclass

import numpy as np

from unmask.problems.circuits.circuit import Circuit, Gate
from unmask.problems.circuits.shape import with_output_gates
from unmask.recurrences.expressions import Expression, indices, table
from unmask.recurrences.slots import BOOLEAN, Read, Slot, Slots, every, letter, number, pick, some
from unmask.recurrences.system import System

k, w = indices("gate wire")


@dataclass(frozen=True)
class CircuitSize:
    """What a circuit takes: a slot per wire and per gate, a step per level."""

    wires: int
    gates: int
    depth: int

    @property
    def slots(self) -> int:
        return self.wires + self.gates

    @classmethod
    def of(cls, circuit: Circuit) -> "CircuitSize":
        inner, outputs = with_output_gates(circuit)
        gates = [*inner, *outputs]
        levels = [0] * (1 + len(circuit.inputs))  # a constant, and the inputs
        for gate in gates:
            levels.append(1 + max((levels[x >> 1] for x in gate.inputs), default=0))
        return cls(sum(len(gate.inputs) for gate in gates), len(gates), max(levels[len(levels) - len(outputs) :]))


def circuit_system(circuit: Circuit, letters: tuple[str, str]) -> System:
    """A slot per gate, which reads over the range of its wires."""
    inner, outputs = with_output_gates(circuit)
    gates = [*inner, *outputs]
    first = table(np.concatenate([[0], np.cumsum([len(gate.inputs) for gate in gates])]).tolist())
    is_and = table([gate.kind == "and" for gate in gates])
    slots = Slots("gate", k.range(len(gates)), BOOLEAN)
    literals = [x for gate in gates for x in gate.inputs]
    wire = (literal_read(slots, len(circuit.inputs), literals, w, letters), number(table([x & 1 for x in literals])(w)))
    wires = w.range(first(k), first(k + 1))
    slots.rule(every(wires, wire, lambda bit, negated: bit != negated), bool, where=is_and(k).equals(1))
    slots.rule(some(wires, wire, lambda bit, negated: bit != negated), bool)
    return System(letters, slots, answers(slots, gates, len(outputs)), name="circuit")


def literal_read(slots: Slots, inputs: int, literals: list[int], place: Expression, letters: tuple[str, str]) -> Read:
    """The bit that the literal at this place of a list is about, the sign aside: an input or a gate."""
    node = table([x >> 1 for x in literals])(place)
    given = letter(node - 1).map(lambda symbol: symbol == letters[1])
    return pick(node <= inputs, given, slots[node - (1 + inputs)])


def answers(slots: Slots, gates: list[Gate], outputs: int) -> list[Slot]:
    """The gates of the outputs, which stand last."""
    return [slots[len(gates) - outputs + i] for i in range(outputs)]
