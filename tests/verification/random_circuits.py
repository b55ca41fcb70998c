"""Random circuits, and the same function built in another way."""

import numpy as np

from unmask.problems.circuits.circuit import CircuitBuilder


def random_circuit(seed, inputs, gates, outputs=1):
    """A circuit of gates of two or three inputs, either of AND and OR, over any literals before them."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(f"x{i}" for i in range(inputs))
    literals = [0, *(builder.input(i) for i in range(inputs))]
    for _ in range(gates):
        chosen = rng.choice(len(literals), size=int(rng.integers(2, 4)))
        operation = builder.and_ if rng.integers(0, 2) else builder.or_
        literals.append(operation(*(literals[k] ^ int(rng.integers(0, 2)) for k in chosen)))
    return builder.circuit(literals[-outputs:])


def rebuilt(builder, circuit):
    """The outputs of a circuit once more in a builder, from binary gates that are written as NOT AND NOT."""
    values = [0, 1]
    for i in range(len(circuit.inputs)):
        values += [builder.input(i), builder.input(i) ^ 1]
    for gate in circuit.gates:
        flip = gate.kind == "or"
        total = 1
        for literal in reversed(gate.inputs):
            value = values[literal] ^ flip
            # x ∧ y as ¬(¬x ∨ (x ∧ ¬y)): not what a builder folds
            total = builder.or_(value ^ 1, builder.and_(value, total ^ 1)) ^ 1
        values += [total ^ flip, total ^ flip ^ 1]
    return [values[x] for x in circuit.outputs]
