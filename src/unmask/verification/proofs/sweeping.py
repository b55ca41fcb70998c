"""SAT sweeping: are pairs of literals of one circuit equal for all inputs?

Nodes are taken in order. Random inputs suggest which node may equal an earlier one (or its negation, or a constant);
a solver decides; what is proved equal becomes one node, so that later questions are small. Inputs that tell two
nodes apart join the random ones, each with others that differ from it in a few places: where a node is rarely true,
one of them tends to tell it from the next such node.
"""

from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Literal as OneOf

import numpy as np

from unmask.limits import stage
from unmask.problems.circuits.circuit import Circuit, CircuitBuilder, Gate
from unmask.verification.proofs.clauses import constant_clause, gate_clauses, variable
from unmask.verification.proofs.questions import Questions

RANDOM_INPUTS = 1024
LEARNED_AT_ONCE = 8  # inputs that the solver found
NEIGHBOURS = 64  # of each of them, itself included
MOST_INPUTS = 1 << 14  # from there on without neighbours
CONFLICTS_PER_NODE = 200

Answer = OneOf["equal", "different", "unknown"]


@dataclass(frozen=True, eq=False)
class Swept:
    """Per pair: equal, different or unknown; an input for the first that differs; how many questions, to whom."""

    answers: list[Answer]
    counterexample: list[bool] | None
    questions: int
    solvers: str
    equal: list[tuple[int, int]]
    """(literal, earlier literal) of the circuit that were found equal, in order."""


def sweep(circuit: Circuit, pairs: np.ndarray, *, seed: int = 0, conflicts: int = 2_000_000) -> Swept:
    """Decide every pair (a, b) of literals of the circuit: a = b for all inputs?"""
    return _Sweep(circuit, seed).run(pairs, conflicts)


@dataclass(eq=False)
class _Sweep:
    circuit: Circuit
    seed: int
    builder: CircuitBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.builder = CircuitBuilder(self.circuit.inputs)
        self._questions = Questions()
        self._rng = np.random.default_rng(self.seed)
        inputs = len(self.circuit.inputs)
        self._tried, self._values = 0, [0] * (1 + inputs)  # bit k of a node's value: what it is on the k-th input
        self._try(self._rng.integers(0, 2, (inputs, RANDOM_INPUTS), dtype=np.uint8))
        self._questions.add(constant_clause())
        for node in range(1, inputs + 1):  # a model gives a value to every variable that some clause names
            self._questions.add([variable(2 * node), -variable(2 * node)])
        self._representative: dict[int, int] = {}
        self._fresh: list[list[bool]] = []
        self._known: dict[int, int] = {}  # a node's literal → the earlier one that it equals
        self._sort()

    def run(self, pairs: np.ndarray, conflicts: int) -> Swept:
        needed = self._needed(pairs)
        meaning = {x: x for x in range(2 * self.circuit.first_gate)}
        first = {x: x for x in range(0, 2 * self.circuit.first_gate, 2)}  # a kept node → the literal that it came from
        equal = []
        for k, gate in enumerate(stage("comparing gates", self.circuit.gates)):
            node = 2 * (self.circuit.first_gate + k)
            if node >> 1 in needed:
                meaning[node] = self._take(gate, meaning)
                meaning[node + 1] = meaning[node] ^ 1
                base, negated = meaning[node] & ~1, meaning[node] & 1
                if base in first:
                    equal.append((node, first[base] ^ negated))
                else:
                    first[base] = node ^ negated
        answers: list[Answer] = []
        counterexample = None
        for a, b in stage("comparing answers", pairs.tolist()):
            answer, bits = self._equal(meaning[a], meaning[b], conflicts)
            answers.append(answer)
            if counterexample is None:
                counterexample = bits
        self._questions.close()
        return Swept(answers, counterexample, self._questions.asked, self._questions.solvers, equal)

    def _needed(self, pairs: np.ndarray) -> set[int]:
        first = self.circuit.first_gate
        needed: set[int] = set()
        waiting = [int(x) >> 1 for x in pairs.ravel()]
        while waiting:
            node = waiting.pop()
            if node >= first and node not in needed:
                needed.add(node)
                waiting += [x >> 1 for x in self.circuit.gates[node - first].inputs]
        return needed

    def _take(self, gate: Gate, meaning: dict[int, int]) -> int:
        """The literal of a gate among those kept."""
        before = len(self.builder.gates)
        operation = self.builder.and_ if gate.kind == "and" else self.builder.or_
        literal = operation(*(meaning[x] for x in gate.inputs))
        if len(self.builder.gates) == before:
            return self._known.get(literal & ~1, literal & ~1) ^ (literal & 1)
        made = self.builder.gates[-1]
        for clause in gate_clauses(literal >> 1, made):
            self._questions.add(clause)
        self._values.append(_value(made, self._values, (1 << self._tried) - 1))
        key, negated = self._key(literal >> 1)
        other = self._representative.get(key)
        if other is None:
            self._representative[key] = literal ^ negated
            return literal
        other ^= negated
        answer, bits = self._equal(literal, other, CONFLICTS_PER_NODE)
        if answer == "equal":
            self._known[literal] = other
            self._questions.add([-variable(literal), variable(other)])
            self._questions.add([variable(literal), -variable(other)])
            return other
        if bits is not None:
            self._learn(bits)
        return literal

    def _equal(self, a: int, b: int, conflicts: int) -> tuple[Answer, list[bool] | None]:
        if a == b:
            return "equal", None
        if a == b ^ 1:
            return "different", [False] * len(self.circuit.inputs)
        if not conflicts:  # to the solver, 0 means without limit
            return "unknown", None
        for one, other in ((a, b ^ 1), (a ^ 1, b)):
            satisfiable = self._questions.together([variable(one), variable(other)], conflicts)
            if satisfiable is None:
                return "unknown", None
            if satisfiable:
                model = self._questions.model()
                return "different", [model[1 + i] > 0 for i in range(len(self.circuit.inputs))]
        return "equal", None

    def _key(self, node: int) -> tuple[int, int]:
        """(values, negated where the first would be true; was it negated)."""
        value = self._values[node]
        return (value ^ ((1 << self._tried) - 1), 1) if value & 1 else (value, 0)

    def _learn(self, bits: list[bool]) -> None:
        """Inputs that tell nodes apart, a few at once, become values of every node."""
        self._fresh.append(bits)
        alone = self._tried >= MOST_INPUTS
        if len(self._fresh) < (LEARNED_AT_ONCE * NEIGHBOURS if alone else LEARNED_AT_ONCE):
            return
        words = np.array(self._fresh, dtype=np.uint8).T
        self._fresh.clear()
        self._try(words if alone else self._neighbours(words))
        self._sort()

    def _neighbours(self, words: np.ndarray) -> np.ndarray:
        """Each of some inputs [bits, inputs], and others in which two of its bits are turned on average."""
        near = np.repeat(words, NEIGHBOURS, axis=1)
        turned = self._rng.random(near.shape) < 2 / max(2, len(near))
        turned[:, ::NEIGHBOURS] = False
        return near ^ turned

    def _try(self, inputs: np.ndarray) -> None:
        """Append the values on further inputs [bits, inputs] to those of every node."""
        count = inputs.shape[1]
        rows = np.packbits(inputs, axis=1, bitorder="little")
        fresh = [0, *(int.from_bytes(row.tobytes(), "little") for row in rows)]
        for gate in self.builder.gates:
            fresh.append(_value(gate, fresh, (1 << count) - 1))
        self._values = [old | new << self._tried for old, new in zip(self._values, fresh, strict=True)]
        self._tried += count

    def _sort(self) -> None:
        """The first node of each key."""
        self._representative.clear()
        for node in range(len(self._values)):
            key, negated = self._key(node)
            self._representative.setdefault(key, 2 * node ^ negated)


def _value(gate: Gate, values: list[int], ones: int) -> int:
    """A gate's values from those of all nodes, a bit for each input that was tried."""
    inputs = (values[x >> 1] ^ (ones if x & 1 else 0) for x in gate.inputs)
    return reduce(and_, inputs) if gate.kind == "and" else reduce(or_, inputs)
