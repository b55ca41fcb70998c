"""SAT sweeping: are pairs of literals of one circuit equal for all inputs?

Nodes are taken in order. Random inputs suggest which node may equal an earlier one (or its negation, or a constant);
a solver decides; what is proved equal becomes one node, so that later questions are small. Inputs that tell two
nodes apart join the random ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

import numpy as np

from unmask.budget import check, stage
from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import Circuit, CircuitBuilder, Gate
from unmask.verification.proofs.clauses import constant_clause, gate_clauses, variable

SOLVER = "cadical195"
RANDOM_WORDS = 16
CONFLICTS_PER_NODE = 200
CONFLICTS_AT_ONCE = (
    1000  # the solver cannot be interrupted: it is asked again where it stopped, with all it has learned
)

Answer = OneOf["equal", "different", "unknown"]


@dataclass(frozen=True, eq=False)
class Swept:
    """Per pair: equal, different or unknown; an input for the first that differs; how many questions were asked."""

    answers: list[Answer]
    counterexample: list[bool] | None
    questions: int
    equal: list[tuple[int, int]]
    """(literal, earlier literal) of the circuit that were found equal, in order."""


def sweep(circuit: Circuit, pairs: np.ndarray, *, seed: int = 0, conflicts: int = 2_000_000) -> Swept:
    """Decide every pair (a, b) of literals of the circuit: a = b for all inputs?"""
    return _Sweep(circuit, seed).run(pairs, conflicts)


def solver_class() -> Callable:
    try:
        from pysat.solvers import Solver
    except ModuleNotFoundError:
        raise UnmaskError("proofs with a SAT solver need python-sat; install unmask[verify]") from None
    return Solver


def solved(solver: Any, conflicts: int | None = None, *, assumptions: Sequence[int] = ()) -> bool | None:
    """Is there a model? None where so many conflicts do not tell; the clock is looked at every few of them."""
    asked = 0
    while conflicts is None or asked < conflicts:
        part = CONFLICTS_AT_ONCE if conflicts is None else min(CONFLICTS_AT_ONCE, conflicts - asked)
        asked += part
        check()
        solver.conf_budget(part)
        answer = solver.solve_limited(assumptions=list(assumptions))
        if answer is not None:
            return answer
    return None


@dataclass(eq=False)
class _Sweep:
    circuit: Circuit
    seed: int
    builder: CircuitBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.builder = CircuitBuilder(self.circuit.inputs)
        self._solver = solver_class()(name=SOLVER)
        rng = np.random.default_rng(self.seed)
        inputs = len(self.circuit.inputs)
        words = rng.integers(0, 1 << 63, (inputs, RANDOM_WORDS), dtype=np.uint64) * np.uint64(2)
        words |= rng.integers(0, 2, words.shape, dtype=np.uint64)
        self._signature = [np.zeros(RANDOM_WORDS, dtype=np.uint64), *words]
        self._solver.add_clause(constant_clause())
        for node in range(1, inputs + 1):  # a model gives a value to every variable that some clause names
            self._solver.add_clause([variable(2 * node), -variable(2 * node)])
        self._representative: dict[bytes, int] = {}
        self._fresh: list[list[bool]] = []
        self._known: dict[int, int] = {}  # a node's literal → the earlier one that it equals
        self._questions = 0
        for node in range(inputs + 1):
            key, negated = self._key(2 * node)
            self._representative.setdefault(key, 2 * node ^ negated)

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
        self._solver.delete()
        return Swept(answers, counterexample, self._questions, equal)

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
            self._solver.add_clause(clause)
        self._signature.append(self._value(made))
        key, negated = self._key(literal)
        other = self._representative.get(key)
        if other is None:
            self._representative[key] = literal ^ negated
            return literal
        other ^= negated
        answer, bits = self._equal(literal, other, CONFLICTS_PER_NODE)
        if answer == "equal":
            self._known[literal] = other
            self._solver.add_clause([-variable(literal), variable(other)])
            self._solver.add_clause([variable(literal), -variable(other)])
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
            self._questions += 1
            satisfiable = solved(self._solver, conflicts, assumptions=[variable(one), variable(other)])
            if satisfiable is None:
                return "unknown", None
            if satisfiable:
                model = self._solver.get_model()
                return "different", [model[1 + i] > 0 for i in range(len(self.circuit.inputs))]
        return "equal", None

    def _value(self, gate: Gate) -> np.ndarray:
        values = [self._signature[x >> 1] if not x & 1 else ~self._signature[x >> 1] for x in gate.inputs]
        return np.bitwise_and.reduce(values) if gate.kind == "and" else np.bitwise_or.reduce(values)

    def _key(self, literal: int) -> tuple[bytes, int]:
        """(signature with its first bit cleared by negation, was it negated)."""
        signature = self._signature[literal >> 1]
        negated = int(signature[0] & np.uint64(1))
        return (~signature if negated else signature).tobytes(), negated

    def _learn(self, bits: list[bool]) -> None:
        """Sixty-four inputs that tell nodes apart make a new word of every signature."""
        self._fresh.append(bits)
        if len(self._fresh) < 64:
            return
        columns = np.array(self._fresh, dtype=np.uint64).T << np.arange(64, dtype=np.uint64)
        words = np.bitwise_or.reduce(columns, axis=1)
        self._fresh.clear()
        extended = [np.append(self._signature[0], np.uint64(0))]
        extended += [np.append(s, w) for s, w in zip(self._signature[1 : 1 + len(words)], words, strict=True)]
        self._signature = extended
        for gate in self.builder.gates:
            self._signature.append(self._value(gate))
        self._representative.clear()
        for node in range(len(self._signature)):
            key, negated = self._key(2 * node)
            self._representative.setdefault(key, 2 * node ^ negated)
