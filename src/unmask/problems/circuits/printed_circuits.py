"""Five families of circuits, each printed by one metered function: uniform in logarithmic space.

`shallow_circuits` compiles these circuits, and `programs/printed_circuit_programs` builds a model for every N whose
positions call the machine.

A machine prints a circuit as a sequence of numbers, its *items*:

    literal    2·node + negated: a wire of the gate that comes next. Nodes 1 … N are the inputs, the gates follow
    AND, OR    the gate of the wires before it

The last node is the output. `item` and the functions below it compute a property of one item by running the machine
again and counting, as a machine with logarithmic space does. They are metered, too.

| family        | depth at most      | N        |
|---------------|--------------------|----------|
| contains-aba  | 2                  | N >= 3   |
| equal-halves  | 2                  | N >= 2   |
| formula       | ⌈log2 N⌉           | N >= 2   |
| parity        | 2⌈log2 N⌉          | N >= 2   |
| reachability  | ⌈log2 N⌉ + 2       | 4, 9, …  |
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unmask.expressions import Expression, N, constant, log2_above
from unmask.problems.circuits.circuit import Circuit, Gate
from unmask.problems.circuits.metered import Machine, Metered, RegisterBound, metered

AND, OR = -1, -2

# ---- properties of one item of a circuit: run the machine again and count


@metered
def items(circuit: Machine, N: int) -> int:
    """The number of numbers that the machine prints."""
    count = 0
    for _ in circuit(N):
        count += 1
    return count


@metered
def item(circuit: Machine, N: int, index: int) -> int:
    """The item with this index; 0 beyond the last item."""
    count = 0
    for printed_item in circuit(N):
        if count == index:
            return printed_item
        count += 1  # noqa: SIM113
    return 0


@metered
def gate_of(circuit: Machine, N: int, index: int) -> int:
    """The index of the first gate at or after an item; the last index if there is no such gate."""
    count = 0
    for printed_item in circuit(N):
        if index >= 0 and count >= index and printed_item < 0:
            return count
        count += 1
    return count - 1


@metered
def index_of_gate(circuit: Machine, N: int, gate: int) -> int:
    """The index of the item that is this gate; gates are counted from 0."""
    count = 0
    for printed_item in circuit(N):
        if printed_item < 0:
            if gate == 0:
                return count
            gate -= 1
        count += 1  # noqa: SIM113
    return 0


@metered
def source_row(circuit: Machine, N: int, index: int) -> int:
    """The row that a wire reads: 0 … N - 1 is a letter, N + k is item k; the row of the item itself for a gate."""
    literal = item(circuit, N, index)
    if literal < 0:
        return N + index
    if literal // 2 <= N:
        return literal // 2 - 1 if literal > 1 else 0
    return N + index_of_gate(circuit, N, literal // 2 - N - 1)


@metered
def deciding_bit(circuit: Machine, N: int, index: int) -> int:
    """The bit of the wire's source that decides the gate; 2 for an item that is not a wire."""
    literal = item(circuit, N, index)
    if literal <= 1:
        return 2
    return (literal + (1 if item(circuit, N, gate_of(circuit, N, index)) == OR else 0)) % 2


# ---- the families


@metered
def contains_aba(N: int) -> Iterator[int]:
    """∃ i: ¬x_i ∧ x_(i+1) ∧ ¬x_(i+2)."""
    for i in range(N - 2):
        yield 2 * (i + 1) + 1
        yield 2 * (i + 2)
        yield 2 * (i + 3) + 1
        yield AND
    for i in range(N - 2):
        yield 2 * (N + 1 + i)
    yield OR


@metered
def equal_halves(N: int) -> Iterator[int]:
    """∀ i: (x_i ∨ ¬y_i) ∧ (¬x_i ∨ y_i); x_0 ∧ ¬x_0 if N is odd."""
    if N % 2 == 1:
        yield 2
        yield 3
        yield AND
    else:
        half = N // 2
        for i in range(N):
            yield 2 * (i // 2 + 1) + i % 2
            yield 2 * (i // 2 + half + 1) + 1 - i % 2
            yield OR
        for i in range(N):
            yield 2 * (N + 1 + i)
        yield AND


@metered
def formula(N: int) -> Iterator[int]:
    """Level by level, AND and OR in turn; the last gate of an odd level has one wire."""
    first = 1
    width = N
    free = N + 1
    level = 0
    while width > 1:
        for i in range(0, width, 2):
            yield 2 * (first + i)
            if i + 1 < width:
                yield 2 * (first + i + 1)
            yield OR if level % 2 == 1 else AND
        first = free
        width = (width + 1) // 2
        free += width
        level += 1


@metered
def parity(N: int) -> Iterator[int]:
    """Level by level, a ⊕ b = (a ∨ b) ∧ (¬a ∨ ¬b) of pairs; the last entry of an odd level joins the next level.

    Entry e of a level is node first + stride·e, except the last one, which is node `last`.
    """
    first = 1
    stride = 1
    width = N
    last = N
    free = N + 1
    while width > 1:
        for j in range(width // 2):
            left = first + stride * 2 * j
            right = last if 2 * j + 2 == width else left + stride
            for sign in range(2):
                yield 2 * left + sign
                yield 2 * right + sign
                yield OR
            yield 2 * (free + 3 * j)
            yield 2 * (free + 3 * j + 1)
            yield AND
        first = free + 2
        stride = 3
        free += 3 * (width // 2)
        last = last if width % 2 == 1 else free - 1
        width = (width + 1) // 2


@metered
def reachability(N: int) -> Iterator[int]:
    """⌈log2 v⌉ squarings of the matrix, v = √N: v ANDs and an OR per entry. Every vertex reaches itself.

    Entry c of the current matrix is node first + stride·c.
    """
    v = 0
    while (v + 1) * (v + 1) <= N:
        v += 1
    first = 1
    stride = 1
    free = N + 1
    reach = 1
    while reach < v:
        for cell in range(v * v):
            for k in range(v):
                i = cell // v
                j = cell % v
                if reach == 1 and i == k and k == j:
                    yield 2
                    yield 3
                    yield OR
                else:
                    if reach > 1 or i != k:
                        yield 2 * (first + stride * (v * i + k))
                    if reach > 1 or k != j:
                        yield 2 * (first + stride * (v * k + j))
                    yield AND
            for k in range(v):
                yield 2 * (free + (v + 1) * cell + k)
            yield OR
        first = free + v
        stride = v + 1
        free += (v + 1) * v * v
        reach = 2 * reach
    if v == 1:
        yield 2
        yield 3
        yield OR
    else:
        yield 2 * (first + stride * (v - 1))
        yield AND


REGISTER_BOUND = RegisterBound(2)


@dataclass(frozen=True, eq=False)
class PrintedFamily:
    """A machine, the bound of its registers, and a depth that its circuits do not exceed, as a formula in N."""

    machine: Metered
    depth: Expression
    least: int = 2
    bound: RegisterBound = REGISTER_BOUND

    def items(self, length: int) -> Iterator[int]:
        return self.machine(self.bound.at(length), length)


def printed_circuit(length: int, printed: Iterable[int]) -> Circuit:
    """The circuit of these items; its output is the last gate, or the last input if there is no gate."""
    gates: list[Gate] = []
    wires: list[int] = []
    for number in printed:
        if number >= 0:
            wires.append(number)
        else:
            gates.append(Gate("and" if number == AND else "or", tuple(wires)))
            wires = []
    return Circuit(tuple(f"x{i}" for i in range(length)), tuple(gates), (2 * (length + len(gates)),), ("accepted",))


PRINTED: dict[str, PrintedFamily] = {
    "contains-aba": PrintedFamily(contains_aba, constant(2), least=3),
    "equal-halves": PrintedFamily(equal_halves, constant(2)),
    "formula": PrintedFamily(formula, log2_above(N)),
    "parity": PrintedFamily(parity, 2 * log2_above(N)),
    "reachability": PrintedFamily(reachability, log2_above(N) + 2, least=4, bound=RegisterBound(3)),
}
