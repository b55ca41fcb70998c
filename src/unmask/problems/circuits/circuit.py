"""Circuit: AND and OR gates of any fan-in over literals.

A literal is 2·node + negated. Node 0 is the constant false, nodes 1 … I are the inputs, the gates follow, each after
the nodes that it reads. NOT is a negated literal and costs nothing: depth counts AND and OR.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

import numpy as np

from unmask.errors import ProblemError, TooLarge
from unmask.limits import check

GateKind = OneOf["and", "or"]
FALSE, TRUE = 0, 1
MOST_WIRES = 5_000_000


@dataclass(frozen=True, slots=True)
class Gate:
    """AND or OR of literals; without literals, true or false."""

    kind: GateKind
    inputs: tuple[int, ...]

    def dual(self) -> "Gate":
        """The negated gate: ¬AND(x…) = OR(¬x…), ¬OR(x…) = AND(¬x…)."""
        return Gate("or" if self.kind == "and" else "and", tuple(literal ^ 1 for literal in self.inputs))


@dataclass(frozen=True, eq=False)
class Circuit:
    """A circuit with named inputs and outputs; an output is a literal."""

    inputs: tuple[str, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[int, ...]
    output_names: tuple[str, ...]

    def __post_init__(self) -> None:
        first = 1 + len(self.inputs)
        for k, gate in enumerate(self.gates):
            for literal in gate.inputs:
                if not 0 <= literal < 2 * (first + k):
                    raise ProblemError(
                        f"gate {k} of the circuit reads literal {literal}, which does not come before it"
                    )
        for literal in self.outputs:
            if not 0 <= literal < 2 * (first + len(self.gates)):
                raise ProblemError(f"the circuit has an output {literal}, which is not one of its literals")
        if len(self.output_names) != len(self.outputs) or not self.outputs:
            raise ProblemError("a circuit needs at least one output, and a name for each")

    @property
    def first_gate(self) -> int:
        return 1 + len(self.inputs)

    @property
    def wires(self) -> int:
        return sum(len(gate.inputs) for gate in self.gates)

    @cached_property
    def levels(self) -> np.ndarray:
        """The depth of every node."""
        levels = np.zeros(self.first_gate + len(self.gates), dtype=np.int64)
        for k, gate in enumerate(self.gates):
            levels[self.first_gate + k] = 1 + max((int(levels[x >> 1]) for x in gate.inputs), default=0)
        return levels

    @property
    def depth(self) -> int:
        return max(int(self.levels[literal >> 1]) for literal in self.outputs)

    def evaluate(self, bits: np.ndarray) -> np.ndarray:
        """Outputs [batch, outputs] for input bits [batch, inputs], gate by gate; an integer has a bit per word."""
        packed = np.packbits(np.asarray(bits, dtype=bool), axis=0, bitorder="little").T
        words = (1 << len(bits)) - 1
        values = [0, words]  # by literal
        for column in packed:
            value = int.from_bytes(column.tobytes(), "little")
            values += [value, value ^ words]
        for gate in self.gates:
            value = words if gate.kind == "and" else 0
            for literal in gate.inputs:
                value = value & values[literal] if gate.kind == "and" else value | values[literal]
            values += [value, value ^ words]
        size = (len(bits) + 7) // 8
        rows = [np.frombuffer(values[x].to_bytes(size, "little"), dtype=np.uint8) for x in self.outputs]
        return np.unpackbits(np.stack(rows, axis=1), axis=0, count=len(bits), bitorder="little").astype(bool)


class CircuitBuilder:
    """A circuit under construction. `and_` and `or_` return literals and fold constants. NOT of x is `x ^ 1`."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self.names = tuple(inputs)
        self.gates: list[Gate] = []
        self._literal_of: dict[Gate, int] = {}

    def input(self, i: int) -> int:
        return 2 * (1 + i)

    def and_(self, *literals: int) -> int:
        operands = set(literals) - {TRUE}
        if FALSE in operands or any(x ^ 1 in operands for x in operands):
            return FALSE
        if len(operands) == 1:
            return operands.pop()
        return TRUE if not operands else self._gate(Gate("and", tuple(sorted(operands))))

    def or_(self, *literals: int) -> int:
        operands = set(literals) - {FALSE}
        if TRUE in operands or any(x ^ 1 in operands for x in operands):
            return TRUE
        if len(operands) == 1:
            return operands.pop()
        return FALSE if not operands else self._gate(Gate("or", tuple(sorted(operands))))

    def xor(self, a: int, b: int) -> int:
        """(a ∨ b) ∧ ¬(a ∧ b), depth 2."""
        return self.and_(self.or_(a, b), self.or_(a ^ 1, b ^ 1))

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        return self.or_(self.and_(condition, then), self.and_(condition ^ 1, otherwise))

    def circuit(self, outputs: Sequence[int], names: Sequence[str] | None = None) -> Circuit:
        named = tuple(names) if names is not None else tuple(f"o{i}" for i in range(len(outputs)))
        return Circuit(self.names, tuple(self.gates), tuple(outputs), named)

    def _gate(self, gate: Gate) -> int:
        """Return the literal of a gate; equal gates are created once."""
        check()
        if gate not in self._literal_of:
            self.gates.append(gate)
            self._literal_of[gate] = 2 * (len(self.names) + len(self.gates))
        return self._literal_of[gate]


# Circuit → an equivalent circuit of another shape: wide and shallow, or of fan-in two.


def collapsed(circuit: Circuit) -> Circuit:
    """The circuit with connected gates of one kind merged into one wide gate wherever this lowers the depth.

    A gate reached through a negated literal counts as its dual, so that only alternations of AND and OR remain:
    level(v) = max over inputs of level(input) if the input is a gate of v's kind, else level(input) + 1.
    Inputs of v's own kind and level are replaced by their own inputs; those of a lower level stay.
    """
    first = circuit.first_gate
    view: dict[int, Gate] = {}  # literal of a gate → the same function as a gate that is not negated
    for k, gate in enumerate(circuit.gates):
        view[2 * (first + k)], view[2 * (first + k) + 1] = gate, gate.dual()
    level: dict[int, int] = {}
    for literal in sorted(view):
        gate = view[literal]
        level[literal] = max(
            (level[x] + (view[x].kind != gate.kind) if x in view else 1 for x in gate.inputs), default=1
        )
    merged: dict[int, frozenset[int]] = {}
    wires = 0
    for literal in sorted(view):
        gate = view[literal]
        leaves: set[int] = set()
        for x in gate.inputs:
            same = x in view and view[x].kind == gate.kind and level[x] == level[literal]
            leaves |= merged[x] if same else {x}
        merged[literal] = frozenset(leaves)
        wires += len(leaves)
        if wires > MOST_WIRES:
            raise TooLarge(f"the collapsed circuit would have more than {MOST_WIRES} wires; use a smaller circuit")
    return _rebuilt(circuit, view, lambda literal: Gate(view[literal].kind, tuple(sorted(merged[literal]))))


def with_binary_gates(circuit: Circuit) -> Circuit:
    """The circuit with gates of fan-in two: wide gates become chains."""

    def chain(operation: Callable[..., int], literals: list[int]) -> int:
        value = operation()  # the neutral element
        for x in literals:
            value = operation(value, x)
        return value

    return _gate_by_gate(circuit, chain)


def simplified(circuit: Circuit) -> Circuit:
    """The circuit with constants folded and equal gates merged."""
    return _gate_by_gate(circuit, lambda operation, literals: operation(*literals))


def _gate_by_gate(circuit: Circuit, rebuild: Callable[[Callable[..., int], list[int]], int]) -> Circuit:
    """Build the circuit again; `rebuild` maps the operation of a gate and its new literals to a literal."""
    builder = CircuitBuilder(circuit.inputs)
    meaning = _inputs(circuit)
    for k, gate in enumerate(circuit.gates):
        operation = builder.and_ if gate.kind == "and" else builder.or_
        value = rebuild(operation, [meaning[x] for x in gate.inputs])
        meaning[2 * (circuit.first_gate + k)] = value
        meaning[2 * (circuit.first_gate + k) + 1] = value ^ 1
    return builder.circuit([meaning[x] for x in circuit.outputs], circuit.output_names)


def trimmed(circuit: Circuit) -> Circuit:
    """The circuit without the gates that no output depends on."""
    gates, ends = _used(circuit, [Gate("and", (literal,)) for literal in circuit.outputs])
    return Circuit(circuit.inputs, tuple(gates), tuple(end.inputs[0] for end in ends), circuit.output_names)


def with_output_gates(circuit: Circuit) -> tuple[list[Gate], list[Gate]]:
    """(inner gates, one gate per output), numbered together. No gate reads an output's gate, and no output is negated.

    An output that is an input or a constant becomes a gate of fan-in one, or of x and ¬x.
    """
    first = circuit.first_gate
    outputs = []
    for literal in circuit.outputs:
        if literal >> 1 >= first:
            gate = circuit.gates[(literal >> 1) - first]
            outputs.append(gate.dual() if literal & 1 else gate)
        elif literal in (FALSE, TRUE):
            outputs.append(Gate("or" if literal else "and", (2, 3)))
        else:
            outputs.append(Gate("and", (literal,)))
    return _used(circuit, outputs)


def _used(circuit: Circuit, outputs: list[Gate]) -> tuple[list[Gate], list[Gate]]:
    """Drop the gates that no output depends on."""
    first = circuit.first_gate
    needed: set[int] = set()
    waiting = [x >> 1 for gate in outputs for x in gate.inputs]
    while waiting:
        node = waiting.pop()
        if node >= first and node not in needed:
            needed.add(node)
            waiting += [x >> 1 for x in circuit.gates[node - first].inputs]
    number = {node: first + i for i, node in enumerate(sorted(needed))}

    def renamed(gate: Gate) -> Gate:
        return Gate(gate.kind, tuple(2 * number.get(x >> 1, x >> 1) + (x & 1) for x in gate.inputs))

    return [renamed(circuit.gates[node - first]) for node in sorted(needed)], [renamed(gate) for gate in outputs]


def _rebuilt(circuit: Circuit, view: dict[int, Gate], new_gate: Callable[[int], Gate]) -> Circuit:
    """The circuit with every used gate in its new shape; a gate that is only used negated becomes its dual."""
    builder = CircuitBuilder(circuit.inputs)
    meaning = _inputs(circuit)
    used: set[int] = set()
    waiting = [x for x in circuit.outputs if x in view]
    while waiting:
        literal = waiting.pop()
        if literal not in used:
            used.add(literal)
            waiting += [x for x in new_gate(literal).inputs if x in view]
    for literal in sorted(used):
        if literal ^ 1 in meaning and literal ^ 1 in used and literal & 1:
            meaning[literal] = meaning[literal ^ 1] ^ 1
            continue
        gate = new_gate(literal)
        operation = builder.and_ if gate.kind == "and" else builder.or_
        meaning[literal] = operation(*(meaning[x] for x in gate.inputs))
    return builder.circuit([meaning[x] for x in circuit.outputs], circuit.output_names)


def _inputs(circuit: Circuit) -> dict[int, int]:
    return {x: x for x in range(2 * circuit.first_gate)}
