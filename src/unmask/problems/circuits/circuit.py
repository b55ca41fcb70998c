"""Circuit: AND and OR gates of any fan-in over literals.

A literal is 2·node + negated. Node 0 is the constant false, nodes 1 … I are the inputs, the gates follow in an order
in which every gate comes after what it reads. NOT is a negated literal and costs nothing: depth counts AND and OR.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

import numpy as np

from unmask.budget import check
from unmask.errors import ProblemError

GateKind = OneOf["and", "or"]
FALSE, TRUE = 0, 1
MOST_WIRES = 5_000_000


@dataclass(frozen=True, slots=True)
class Gate:
    """AND or OR of literals; without any, true or false."""

    kind: GateKind
    inputs: tuple[int, ...]

    def dual(self) -> "Gate":
        """¬AND(x…) = OR(¬x…), and the other way round."""
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
        """Outputs [batch, outputs] for input bits [batch, inputs], gate by gate; a word per bit of an integer."""
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
    """Gates in the making; `and_` and `or_` return literals and fold constants. NOT of a literal is `x ^ 1`."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self.names = tuple(inputs)
        self.gates: list[Gate] = []
        self._known: dict[Gate, int] = {}

    def input(self, i: int) -> int:
        return 2 * (1 + i)

    def and_(self, *literals: int) -> int:
        kept = set(literals) - {TRUE}
        if FALSE in kept or any(x ^ 1 in kept for x in kept):
            return FALSE
        if len(kept) == 1:
            return kept.pop()
        return TRUE if not kept else self._gate(Gate("and", tuple(sorted(kept))))

    def or_(self, *literals: int) -> int:
        kept = set(literals) - {FALSE}
        if TRUE in kept or any(x ^ 1 in kept for x in kept):
            return TRUE
        if len(kept) == 1:
            return kept.pop()
        return FALSE if not kept else self._gate(Gate("or", tuple(sorted(kept))))

    def xor(self, a: int, b: int) -> int:
        """(a ∨ b) ∧ ¬(a ∧ b), depth 2."""
        return self.and_(self.or_(a, b), self.or_(a ^ 1, b ^ 1))

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        return self.or_(self.and_(condition, then), self.and_(condition ^ 1, otherwise))

    def circuit(self, outputs: Sequence[int], names: Sequence[str] | None = None) -> Circuit:
        named = tuple(names) if names is not None else tuple(f"o{i}" for i in range(len(outputs)))
        return Circuit(self.names, tuple(self.gates), tuple(outputs), named)

    def _gate(self, gate: Gate) -> int:
        """Equal gates are made once."""
        check()
        if gate not in self._known:
            self.gates.append(gate)
            self._known[gate] = 2 * (len(self.names) + len(self.gates))
        return self._known[gate]
