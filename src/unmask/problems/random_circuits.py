"""Random circuits: circuits whose inputs are coins, so that their outputs have a distribution.

    Circuit → RandomCircuit → Law of the outputs          (all inputs become coins)
    RandomCircuit → Layout                                (values rewritten in place, pass after pass)

A gate is a table of two earlier values. A coin is a gate of level 1 that reads nothing. `law` enumerates all tosses: it
is the specification that compiled samplers are compared with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from unmask.errors import ProblemError, TooLarge
from unmask.problems.circuits.circuit import Circuit, with_binary_gates

MOST_COINS = 16

Table = tuple[bool, bool, bool, bool]
"""The values of a gate for the operands 00, 01, 10, 11."""

COPY: Table = (False, False, True, True)
"""The left operand."""
XOR: Table = (False, True, True, False)


def constant_table(value: bool) -> Table:
    """The table of a gate that ignores its operands."""
    return (value, value, value, value)


@dataclass(frozen=True)
class Coin:
    """A coin toss."""


@dataclass(frozen=True)
class TableGate:
    """A function of two earlier values, or of two slots."""

    table: Table
    left: int
    right: int

    def value(self, left: bool, right: bool) -> bool:
        return self.table[2 * left + right]


Step = Coin | TableGate | None
"""The new value of a slot in one pass: a toss, a function of two slots, or 0."""


@dataclass(frozen=True)
class Layout:
    """The new value of every slot in every pass: `passes[t][slot]`. The last `outputs` slots are the sample."""

    passes: tuple[tuple[Step, ...], ...]
    outputs: int

    @property
    def slots(self) -> int:
        return len(self.passes[0])


@dataclass(frozen=True)
class RandomCircuit:
    """Coins and gates, each after the nodes that it reads; `outputs` are node numbers."""

    nodes: tuple[Coin | TableGate, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        for k, node in enumerate(self.nodes):
            if isinstance(node, TableGate) and not (0 <= node.left < k and 0 <= node.right < k):
                raise ProblemError(f"gate {k} of the random circuit reads a node that does not come before it")
        if not self.outputs or not all(0 <= k < len(self.nodes) for k in self.outputs):
            raise ProblemError("a random circuit needs at least one output, and every output is the number of a node")

    @property
    def coins(self) -> int:
        return sum(isinstance(node, Coin) for node in self.nodes)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The pass in which each node is written: 1 for a coin."""
        levels: list[int] = []
        for node in self.nodes:
            levels.append(1 if isinstance(node, Coin) else 1 + max(levels[node.left], levels[node.right]))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """The number of levels, including that of the coins."""
        return max(self.levels[k] for k in self.outputs)

    @property
    def passes(self) -> int:
        """The depth, plus one if a coin of a circuit without gates is output twice: it is tossed, then copied."""
        return self.depth + (self.depth == 1 and len(set(self.outputs)) < len(self.outputs))

    def values(self, tosses: Sequence[bool]) -> list[bool]:
        """The value of every node for these tosses."""
        values: list[bool] = []
        remaining = iter(tosses)
        for node in self.nodes:
            values.append(
                next(remaining) if isinstance(node, Coin) else node.value(values[node.left], values[node.right])
            )
        return values

    def law(self, heads: Fraction = Fraction(1, 2)) -> dict[str, Fraction]:
        """The probability of every output string; a coin is 1 with probability `heads`."""
        if self.coins > MOST_COINS:
            raise TooLarge(f"the law of {self.coins} coins is out of reach (at most {MOST_COINS}); use fewer inputs")
        law: dict[str, Fraction] = {}
        for tosses in product((False, True), repeat=self.coins):
            values = self.values(tosses)
            string = "".join("01"[values[k]] for k in self.outputs)
            law[string] = law.get(string, Fraction(0)) + heads ** sum(tosses) * (1 - heads) ** (
                self.coins - sum(tosses)
            )
        return {string: chance for string, chance in sorted(law.items()) if chance}

    @property
    def width(self) -> int:
        """The number of slots that the in-place layout rewrites."""
        return self.in_place().slots

    def in_place(self) -> Layout:
        """Rewrite slots: a value keeps its slot until the last pass that reads it; the outputs come last.

        A coin is tossed in the pass before the first that reads it. Bounds: `passes` passes; as many slots as there are
        values alive after any pass, at least one per output.
        """
        if (pruned := self.pruned()) != self:
            return pruned.in_place()
        written_in, last_read = self._lifetimes()
        alive: dict[int, int] = {}  # node → slot
        passes: list[dict[int, Step]] = []
        for level in range(1, self.passes):
            kept_slots = {node: slot for node, slot in alive.items() if last_read[node] > level}
            steps: dict[int, Step] = {slot: TableGate(COPY, slot, slot) for slot in kept_slots.values()}
            free = (slot for slot in range(len(self.nodes)) if slot not in kept_slots.values())
            written = dict(kept_slots)
            for node, pass_number in enumerate(written_in):
                if pass_number == level and last_read[node] > level:
                    written[node] = next(free)
                    steps[written[node]] = self._renumbered(node, alive)
            alive = written
            passes.append(steps)
        slots = max([len(self.outputs), *(1 + max(steps, default=-1) for steps in passes)])
        first = slots - len(self.outputs)
        last = {
            first + i: TableGate(COPY, alive[k], alive[k]) if k in alive else self._renumbered(k, alive)
            for i, k in enumerate(self.outputs)
        }
        table = tuple(tuple(steps.get(slot) for slot in range(slots)) for steps in (*passes, last))
        return Layout(table, len(self.outputs))

    def once(self) -> tuple[Coin | TableGate, ...]:
        """A layout in which every slot is written once: gates read slots, in any order; the outputs come last.

        Bounds: a slot for each node that an output needs, and one more each time that a node is output again. In that
        case a gate is computed again, and a coin is copied.
        """
        nodes, outputs = (pruned := self.pruned()).nodes, pruned.outputs
        order = [k for k in range(len(nodes)) if k not in outputs] + list(outputs)
        slots = {k: slot for slot, k in reversed(list(enumerate(order)))}  # the first slot of each node

        def gate_in_slot(slot: int, k: int) -> Coin | TableGate:
            again = isinstance(nodes[k], Coin) and slots[k] != slot
            return TableGate(COPY, slots[k], slots[k]) if again else pruned._renumbered(k, slots)

        return tuple(gate_in_slot(slot, k) for slot, k in enumerate(order))

    def pruned(self) -> "RandomCircuit":
        """The same circuit without nodes that no output needs."""
        needed = set(self.outputs)
        for k in reversed(range(len(self.nodes))):
            node = self.nodes[k]
            if k in needed and isinstance(node, TableGate):
                needed |= {node.left, node.right}
        number = {k: i for i, k in enumerate(sorted(needed))}
        return RandomCircuit(tuple(self._renumbered(k, number) for k in number), tuple(number[k] for k in self.outputs))

    def _lifetimes(self) -> tuple[list[int], list[int]]:
        """(the pass that writes each node, the last pass that reads it, 0 if no pass does)

        The last pass reads outputs that were written earlier. A coin that is output once and read by no gate is
        tossed in the last pass.
        """
        readers: list[list[int]] = [[] for _ in self.nodes]
        for k, node in enumerate(self.nodes):
            for operand in (node.left, node.right) if isinstance(node, TableGate) else ():
                readers[operand].append(self.levels[k])
        written = list(self.levels)
        for k, node in enumerate(self.nodes):
            if isinstance(node, Coin):
                copied = self.passes if self.outputs.count(k) > 1 else self.passes + 1
                written[k] = min(readers[k], default=copied) - 1
        last = [max(passes, default=0) for passes in readers]
        for k in self.outputs:
            if written[k] < self.passes:
                last[k] = self.passes
        return written, last

    def _renumbered(self, k: int, slots: dict[int, int]) -> Coin | TableGate:
        """Return node k with its operands replaced by their entries of `slots`: slots, or other nodes."""
        node = self.nodes[k]
        return node if isinstance(node, Coin) else TableGate(node.table, slots[node.left], slots[node.right])


def with_random_inputs(circuit: Circuit) -> RandomCircuit:
    """The circuit with a coin for every input. Nodes that no output needs are left out."""
    if not circuit.inputs:
        raise ProblemError("the circuit has no input that a coin could replace; use a circuit with inputs")
    source = with_binary_gates(circuit)
    nodes: list[Coin | TableGate] = [Coin() for _ in source.inputs]
    number = {1 + i: i for i in range(len(source.inputs))}
    for k, gate in enumerate(source.gates):
        number[source.first_gate + k] = len(nodes)
        nodes.append(_table_gate(gate.kind == "and", gate.inputs, number))
    outputs = []
    for literal in source.outputs:
        node, negated = literal >> 1, bool(literal & 1)
        inner = nodes[number[node]] if node else Coin()
        if not node:
            nodes.append(TableGate(constant_table(negated), 0, 0))
        elif isinstance(inner, Coin):
            nodes.append(TableGate((negated, negated, not negated, not negated), number[node], number[node]))
        else:
            nodes.append(TableGate(_negated(inner.table) if negated else inner.table, inner.left, inner.right))
        outputs.append(len(nodes) - 1)
    return RandomCircuit(tuple(nodes), tuple(outputs)).pruned()


def _table_gate(is_and: bool, literals: tuple[int, ...], number: dict[int, int]) -> TableGate:
    """AND or OR of at most two literals; a constant reads the first coin and ignores it."""
    reads = [(number.get(x >> 1), bool(x & 1)) for x in literals]
    join = all if is_and else any
    operands = [node if node is not None else 0 for node, _ in reads] or [0]
    left, right = operands[0], operands[-1]

    def value(a: bool, b: bool) -> bool:
        bits = (a, b) if len(reads) > 1 else (a,)
        return join((bit and node is not None) != negated for bit, (node, negated) in zip(bits, reads, strict=False))

    return TableGate((value(False, False), value(False, True), value(True, False), value(True, True)), left, right)


def _negated(table: Table) -> Table:
    a, b, c, d = table
    return (not a, not b, not c, not d)


def even_parity(length: int) -> Layout:
    """Strings of even parity in two passes that rewrite every slot.

        pass 1    y_1 … y_(n-1) are coins, y_n = 0
        pass 2    z_i = y_(i-1) ⊕ y_i, with y_0 = 0

    The sum of all z_i is y_n = 0. With fair coins every string of even parity has probability 2^-(n-1).
    """
    if length < 1:
        raise ProblemError(f"strings of even parity have length 1 or more, not {length}")
    tosses = tuple([Coin()] * (length - 1) + [None])
    sums = (TableGate(COPY, 0, 0), *(TableGate(XOR, i - 1, i) for i in range(1, length)))
    return Layout((tosses, sums), length)
