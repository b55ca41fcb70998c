"""Circuits of the shapes that public benchmarks have (ISCAS, EPFL): built here, gate by gate, from their textbooks.

The smallest, c17, is that of ISCAS-85 itself: six NAND gates.
"""

import random

from unmask.problems.circuits.circuit import FALSE, Circuit, CircuitBuilder


def c17() -> Circuit:
    """Inputs 1, 2, 3, 6, 7; outputs 22, 23."""
    builder = CircuitBuilder(("1", "2", "3", "6", "7"))
    g1, g2, g3, g6, g7 = (builder.input(i) for i in range(5))

    def nand(a, b):
        return builder.and_(a, b) ^ 1

    g10, g11 = nand(g1, g3), nand(g3, g6)
    g16, g19 = nand(g2, g11), nand(g11, g7)
    return builder.circuit([nand(g10, g16), nand(g16, g19)], ("22", "23"))


def ripple_adder(width: int) -> Circuit:
    """a + b, lowest bit first, the carry last: a chain of full adders, as deep as it is long."""
    builder = _inputs(2 * width)
    total, carry = [], FALSE
    for i in range(width):
        bit, carry = _full_adder(builder, builder.input(i), builder.input(width + i), carry)
        total.append(bit)
    return builder.circuit([*total, carry])


def array_multiplier(width: int) -> Circuit:
    """a · b by rows of full adders, as c6288 does it."""
    builder = _inputs(2 * width)
    a, b = [builder.input(i) for i in range(width)], [builder.input(width + i) for i in range(width)]
    row = [builder.and_(x, b[0]) for x in a] + [FALSE]
    product = [row[0]]
    for i in range(1, width):
        carry, added = FALSE, []
        for j in range(width):
            bit, carry = _full_adder(builder, row[j + 1], builder.and_(a[j], b[i]), carry)
            added.append(bit)
        row = [*added, carry]
        product.append(row[0])
    return builder.circuit([*product, *row[1:]])


def parity_tree(width: int) -> Circuit:
    """Whether an odd number of inputs is 1, by a balanced tree."""
    builder = _inputs(width)
    level = [builder.input(i) for i in range(width)]
    while len(level) > 1:
        level = [builder.xor(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return builder.circuit(level)


def decoder(width: int) -> Circuit:
    """2^width outputs, of which the one that the input numbers is 1."""
    builder = _inputs(width)
    literals = [[builder.input(i) ^ (not k >> i & 1) for i in range(width)] for k in range(2**width)]
    return builder.circuit([builder.and_(*chosen) for chosen in literals])


def random_and_inverter_graph(seed: int, gates: int, inputs: int, outputs: int) -> Circuit:
    """AND gates that read mostly recent ones, so that the graph is deep, with many negations."""
    rng = random.Random(seed)
    builder = _inputs(inputs)
    nodes = [builder.input(i) for i in range(inputs)]
    while len(builder.gates) < gates:
        recent = nodes[-60:] if rng.random() < 0.7 else nodes
        gate = builder.and_(rng.choice(recent) ^ rng.randint(0, 1), rng.choice(nodes) ^ rng.randint(0, 1))
        if gate == 2 * (inputs + len(builder.gates)) and gate not in nodes[-1:]:
            nodes.append(gate)
    return builder.circuit([rng.choice(nodes[-200:]) ^ rng.randint(0, 1) for _ in range(outputs)])


def _inputs(count: int) -> CircuitBuilder:
    return CircuitBuilder(f"x{i}" for i in range(count))


def _full_adder(builder: CircuitBuilder, a: int, b: int, carry: int) -> tuple[int, int]:
    half = builder.xor(a, b)
    return builder.xor(half, carry), builder.or_(builder.and_(a, b), builder.and_(half, carry))
