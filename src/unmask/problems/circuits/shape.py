"""Circuit → an equivalent circuit of another shape: wide and shallow, or of fan-in two."""

from collections.abc import Callable

from unmask.errors import TooLarge
from unmask.problems.circuits.circuit import FALSE, MOST_WIRES, TRUE, Circuit, CircuitBuilder, Gate


def collapsed(circuit: Circuit) -> Circuit:
    """Gates of one kind that feed each other merged into one wide gate wherever that lowers the depth.

    A gate reached through a negated literal counts as its dual, so that only alternations of AND and OR remain:
    level(v) = max over inputs of level(input) if the input is a gate of v's kind, else level(input) + 1.
    Inputs of v's own kind and level are replaced by what they read; those of a lower level stay.
    """
    first = circuit.first_gate
    view: dict[int, Gate] = {}  # a literal of a gate as a gate without a negation on top
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


def binary(circuit: Circuit) -> Circuit:
    """Every gate of fan-in two: wide gates become chains."""
    builder = CircuitBuilder(circuit.inputs)
    meaning = _inputs(circuit)
    for k, gate in enumerate(circuit.gates):
        operation = builder.and_ if gate.kind == "and" else builder.or_
        value = TRUE if gate.kind == "and" else FALSE
        for x in gate.inputs:
            value = operation(value, meaning[x])
        meaning[2 * (circuit.first_gate + k)] = value
        meaning[2 * (circuit.first_gate + k) + 1] = value ^ 1
    return builder.circuit([meaning[x] for x in circuit.outputs], circuit.output_names)


def trimmed(circuit: Circuit) -> Circuit:
    """Without the gates that no output depends on."""
    gates, ends = _used(circuit, [Gate("and", (literal,)) for literal in circuit.outputs])
    return Circuit(circuit.inputs, tuple(gates), tuple(end.inputs[0] for end in ends), circuit.output_names)


def with_output_gates(circuit: Circuit) -> tuple[list[Gate], list[Gate]]:
    """(inner gates, one gate per output) in one numbering: nothing reads an output's gate, and none is negated.

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


def _rebuilt(circuit: Circuit, view: dict[int, Gate], shape: Callable[[int], Gate]) -> Circuit:
    """The circuit with every used gate in its new shape; a gate used only negated becomes its dual."""
    builder = CircuitBuilder(circuit.inputs)
    meaning = _inputs(circuit)
    wanted: set[int] = set()
    waiting = [x for x in circuit.outputs if x in view]
    while waiting:
        literal = waiting.pop()
        if literal not in wanted:
            wanted.add(literal)
            waiting += [x for x in shape(literal).inputs if x in view]
    for literal in sorted(wanted):
        if literal ^ 1 in meaning and literal ^ 1 in wanted and literal & 1:
            meaning[literal] = meaning[literal ^ 1] ^ 1
            continue
        gate = shape(literal)
        operation = builder.and_ if gate.kind == "and" else builder.or_
        meaning[literal] = operation(*(meaning[x] for x in gate.inputs))
    return builder.circuit([meaning[x] for x in circuit.outputs], circuit.output_names)


def _inputs(circuit: Circuit) -> dict[int, int]:
    return {x: x for x in range(2 * circuit.first_gate)}
