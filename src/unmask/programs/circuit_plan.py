"""Where a circuit's wires and gates stand, as tables that the positional encodings read.

Rows: the N input bits, one row per wire, one row per gate in an order in which each comes after what it reads, the
gates of the outputs last. These positional encodings describe the circuit; for an L-uniform family of circuits they
can be computed in logarithmic space, as the circuit can.
"""

from dataclasses import dataclass

import numpy as np

from unmask.problems.circuit import Circuit
from unmask.problems.circuit_shape import with_output_gates


@dataclass(frozen=True, eq=False)
class CircuitPlan:
    """Per wire: the row it reads, the row it leads to, whether it negates. Per gate: whether it is an AND."""

    length: int
    source: np.ndarray
    target: np.ndarray
    negated: np.ndarray
    is_and: np.ndarray
    depth: int
    outputs: int

    @property
    def wires(self) -> int:
        return self.source.size

    @property
    def slots(self) -> int:
        return self.wires + self.is_and.size

    @property
    def rows(self) -> int:
        return self.length + self.slots


def circuit_plan(circuit: Circuit) -> CircuitPlan:
    """The plan of a circuit that has at least one input."""
    inner, outputs = with_output_gates(circuit)
    gates = [*inner, *outputs]
    length, wires = len(circuit.inputs), sum(len(gate.inputs) for gate in gates)
    first_gate = length + wires
    literals = np.array([x for gate in gates for x in gate.inputs], dtype=np.int64)
    target = np.repeat(np.arange(len(gates)), [len(gate.inputs) for gate in gates]) + first_gate
    node = literals >> 1
    source = np.where(node <= length, node - 1, node - (1 + length) + first_gate)
    levels = np.zeros(first_gate + len(gates), dtype=np.int64)
    at = 0
    for k, gate in enumerate(gates):
        part = slice(at, at + len(gate.inputs))
        levels[first_gate + k] = 1 + levels[source[part]].max(initial=0)
        at = part.stop
    return CircuitPlan(
        length=length,
        source=source,
        target=target,
        negated=(literals & 1).astype(bool),
        is_and=np.array([gate.kind == "and" for gate in gates]),
        depth=int(levels[len(levels) - len(outputs) :].max()),
        outputs=len(outputs),
    )
