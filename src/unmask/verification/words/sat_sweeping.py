"""SAT sweeping: are pairs of literals of one circuit equal for all inputs? With a DRAT certificate.

Nodes are processed in order. Random inputs suggest which node may equal an earlier one (or its negation, or a
constant), a solver decides, and nodes that are proved equal are merged, so that later queries are small. Inputs that
distinguish two nodes are added to the random ones, each with neighbours that differ from it in a few bits.

A certificate refutes "the two circuits differ on some word" for any DRAT checker:

    clauses   the gates of both circuits, and: some pair of literals that should be equal is not
    lemmas    for each gate that equals an earlier one, in order: what a solver learned, then the equality; at the end
              the empty clause. Each follows from the previous ones by reverse unit propagation (RUP)

Every lemma is checked when it is written, by `UnitPropagation`, which shares nothing with the solver. If a lemma
cannot be checked, no certificate is written.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any
from typing import Literal as OneOf

import numpy as np

from unmask.errors import UnmaskError
from unmask.limits import check, stage
from unmask.problems.circuits.circuit import FALSE, Circuit, CircuitBuilder, Gate

Clause = list[int]


def dimacs_variable(literal: int) -> int:
    """Return the signed variable of a literal in DIMACS: node k is the variable k + 1."""
    node = (literal >> 1) + 1
    return -node if literal & 1 else node


def constant_clause() -> Clause:
    """Return the clause that node 0 is false."""
    return [-dimacs_variable(FALSE)]


def gate_clauses(node: int, gate: Gate) -> list[Clause]:
    """Return the clauses of node = AND or OR of its inputs."""
    flip = 1 if gate.kind == "or" else 0  # an OR is the negated AND of the negated inputs
    output = 2 * node ^ flip
    clauses = [[-dimacs_variable(output), dimacs_variable(x ^ flip)] for x in gate.inputs]
    return [*clauses, [dimacs_variable(output), *(-dimacs_variable(x ^ flip) for x in gate.inputs)]]


def difference_clauses(circuit: Circuit, pairs: np.ndarray) -> tuple[list[int], list[Clause]]:
    """Return (a new variable x for each pair (a, b), the clauses of x → a ≠ b, and that some x is true)."""
    free = circuit.first_gate + len(circuit.gates) + 1
    new = list(range(free, free + len(pairs)))
    clauses: list[Clause] = []
    for x, (a, b) in zip(new, pairs.tolist(), strict=True):
        clauses += [[-x, dimacs_variable(a), dimacs_variable(b)], [-x, -dimacs_variable(a), -dimacs_variable(b)]]
    return new, [*clauses, new]


QUICK, THOROUGH = "glucose4", "cadical195"
QUICK_CONFLICTS = 2000  # the most in one query of the quick solver
CONFLICTS_AT_ONCE = 1000  # a solver cannot be interrupted: it continues in rounds, with all that it has learned


def solver_class() -> Callable:
    try:
        from pysat.solvers import Solver
    except ModuleNotFoundError:
        raise UnmaskError("this proof needs a SAT solver; run `pip install 'unmask[verify]'`") from None
    return Solver


def solve_within(solver: Any, conflicts: int | None = None, *, assumptions: Sequence[int] = ()) -> bool | None:
    """Return whether there is a model; None at the limit of conflicts. The time limit is checked in between."""
    used = 0
    while conflicts is None or used < conflicts:
        budget = CONFLICTS_AT_ONCE if conflicts is None else min(CONFLICTS_AT_ONCE, conflicts - used)
        used += budget
        check()
        solver.conf_budget(budget)
        answer = solver.solve_limited(assumptions=list(assumptions))
        if answer is not None:
            return answer
    return None


class IncrementalSolver:
    """A quick solver with all clauses so far, and a thorough one for queries that the quick one cannot decide."""

    def __init__(self) -> None:
        self._clauses: list[Clause] = []
        self._quick: Any = solver_class()(name=QUICK)
        self._thorough: Any = None
        self._clauses_in_thorough = 0
        self._last_solver: Any = None
        self.queries = 0

    def add(self, clause: Clause) -> None:
        self._clauses.append(clause)
        self._quick.add_clause(clause)

    def together(self, literals: Sequence[int], conflicts: int) -> bool | None:
        """Return whether these literals can be true together; None at the limit of conflicts."""
        self.queries += 1
        self._last_solver = self._quick
        answer = solve_within(self._quick, min(conflicts, QUICK_CONFLICTS), assumptions=literals)
        if answer is None and conflicts > QUICK_CONFLICTS:
            self._last_solver = self._thorough_solver()
            answer = solve_within(self._last_solver, conflicts - QUICK_CONFLICTS, assumptions=literals)
        return answer

    def model(self) -> list[int]:
        """Return the model of the last query, if it was satisfiable: every variable, or its negation."""
        return self._last_solver.get_model()

    @property
    def solvers(self) -> str:
        """The names of the solvers that were used."""
        return QUICK if self._thorough is None else f"{QUICK} and {THOROUGH}"

    def close(self) -> None:
        for solver in (self._quick, self._thorough):
            if solver is not None:
                solver.delete()

    def _thorough_solver(self) -> Any:
        if self._thorough is None:
            self._thorough = solver_class()(name=THOROUGH)
        for clause in self._clauses[self._clauses_in_thorough :]:
            self._thorough.add_clause(clause)
        self._clauses_in_thorough = len(self._clauses)
        return self._thorough


class UnitPropagation:
    """Clauses over variables 1, 2, …; two literals of each are watched."""

    def __init__(self) -> None:
        self._watching: dict[int, list[list[int]]] = {}
        self._value: dict[int, bool] = {}  # of literals, both signs
        self.contradiction = False

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause, and propagate it if it is a unit."""
        literals = list(dict.fromkeys(clause))
        if any(-x in literals for x in literals):
            return
        free = [x for x in literals if self._value.get(x) is None]
        if any(self._value.get(x) for x in literals):
            return
        if len(free) >= 2:
            literals.sort(key=lambda x: self._value.get(x) is not None)
            for x in literals[:2]:
                self._watching.setdefault(x, []).append(literals)
        elif free:
            self.contradiction |= not self._assign([free[0]], [])
        else:
            self.contradiction = True

    def follows(self, clause: Sequence[int]) -> bool:
        """Return whether the clause is a consequence by reverse unit propagation."""
        if self.contradiction:
            return True
        trail: list[int] = []
        consistent = self._assign([-x for x in clause], trail)
        for x in trail:
            del self._value[x], self._value[-x]
        return not consistent

    def _assign(self, literals: list[int], trail: list[int]) -> bool:
        """Make literals true and propagate; return False at a contradiction. `trail` receives what becomes true."""
        waiting = list(literals)
        while waiting:
            x = waiting.pop()
            value = self._value.get(x)
            if value is not None:
                if not value:
                    return False
                continue
            self._value[x], self._value[-x] = True, False
            trail.append(x)
            watching, self._watching[-x] = self._watching.get(-x, []), []
            still_watching = self._watching[-x]
            for index, clause in enumerate(watching):
                if clause[0] == -x:
                    clause[0], clause[1] = clause[1], clause[0]
                first = clause[0]
                if self._value.get(first):
                    still_watching.append(clause)
                    continue
                if self._watch_another(clause):
                    continue
                still_watching.append(clause)
                if self._value.get(first) is False:
                    still_watching.extend(watching[index + 1 :])
                    return False
                waiting.append(first)
        return True

    def _watch_another(self, clause: Clause) -> bool:
        """Watch a literal that is not false instead of the second one; return whether the clause has such a literal."""
        for k in range(2, len(clause)):
            if self._value.get(clause[k]) is not False:
                clause[1], clause[k] = clause[k], clause[1]
                self._watching.setdefault(clause[1], []).append(clause)
                return True
        return False


RANDOM_INPUTS = 1024
LEARNED_AT_ONCE = 8  # inputs from the solver that are evaluated together
NEIGHBOURS = 64  # inputs for each of them, itself included
MOST_INPUTS = 1 << 14  # above this, no neighbours are added
CONFLICTS_PER_NODE = 200

Equality = OneOf["equal", "different", "unknown"]


@dataclass(frozen=True, eq=False)
class SweepResult:
    """The answer for each pair, an input on which the first different pair differs, the number of queries, solvers."""

    answers: list[Equality]
    counterexample: list[bool] | None
    queries: int
    solvers: str
    equal: list[tuple[int, int]]
    """(literal, earlier literal) of the circuit that are proved equal, in order."""


def sweep_pairs(circuit: Circuit, pairs: np.ndarray, *, seed: int = 0, conflicts: int = 2_000_000) -> SweepResult:
    """Decide for every pair (a, b) of literals of the circuit whether a = b for all inputs."""
    return _Sweep(circuit, seed).run(pairs, conflicts)


@dataclass(eq=False)
class _Sweep:
    circuit: Circuit
    seed: int
    builder: CircuitBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.builder = CircuitBuilder(self.circuit.inputs)
        self._solver = IncrementalSolver()
        self._rng = np.random.default_rng(self.seed)
        inputs = len(self.circuit.inputs)
        self._input_count, self._values = 0, [0] * (1 + inputs)  # bit k of a node's values: its value on the k-th input
        self._evaluate_inputs(self._rng.integers(0, 2, (inputs, RANDOM_INPUTS), dtype=np.uint8))
        self._solver.add(constant_clause())
        for node in range(1, inputs + 1):  # a model gives a value to every variable that some clause names
            self._solver.add([dimacs_variable(2 * node), -dimacs_variable(2 * node)])
        self._representative: dict[int, int] = {}
        self._new_inputs: list[list[bool]] = []
        self._equal_to: dict[int, int] = {}  # literal of a node → the earlier literal that equals it
        self._group_nodes()

    def run(self, pairs: np.ndarray, conflicts: int) -> SweepResult:
        needed = self._needed(pairs)
        kept_literal = {x: x for x in range(2 * self.circuit.first_gate)}
        first = {x: x for x in range(0, 2 * self.circuit.first_gate, 2)}  # a kept node → the literal that it came from
        equal = []
        for k, gate in enumerate(stage("comparing gates", self.circuit.gates)):
            node = 2 * (self.circuit.first_gate + k)
            if node >> 1 in needed:
                kept_literal[node] = self._merge_gate(gate, kept_literal)
                kept_literal[node + 1] = kept_literal[node] ^ 1
                base, negated = kept_literal[node] & ~1, kept_literal[node] & 1
                if base in first:
                    equal.append((node, first[base] ^ negated))
                else:
                    first[base] = node ^ negated
        answers: list[Equality] = []
        counterexample = None
        for a, b in stage("comparing answers", pairs.tolist()):
            answer, bits = self._equal(kept_literal[a], kept_literal[b], conflicts)
            answers.append(answer)
            if counterexample is None:
                counterexample = bits
        self._solver.close()
        return SweepResult(answers, counterexample, self._solver.queries, self._solver.solvers, equal)

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

    def _merge_gate(self, source_gate: Gate, kept_literal: dict[int, int]) -> int:
        """Return the literal for a gate: an earlier one if they are equal, else that of a new gate."""
        gates_before = len(self.builder.gates)
        operation = self.builder.and_ if source_gate.kind == "and" else self.builder.or_
        literal = operation(*(kept_literal[x] for x in source_gate.inputs))
        if len(self.builder.gates) == gates_before:
            return self._equal_to.get(literal & ~1, literal & ~1) ^ (literal & 1)
        gate = self.builder.gates[-1]
        for clause in gate_clauses(literal >> 1, gate):
            self._solver.add(clause)
        self._values.append(_value(gate, self._values, (1 << self._input_count) - 1))
        key, negated = self._key(literal >> 1)
        earlier = self._representative.get(key)
        if earlier is None:
            self._representative[key] = literal ^ negated
            return literal
        earlier ^= negated
        answer, bits = self._equal(literal, earlier, CONFLICTS_PER_NODE)
        if answer == "equal":
            self._equal_to[literal] = earlier
            self._solver.add([-dimacs_variable(literal), dimacs_variable(earlier)])
            self._solver.add([dimacs_variable(literal), -dimacs_variable(earlier)])
            return earlier
        if bits is not None:
            self._add_inputs(bits)
        return literal

    def _equal(self, a: int, b: int, conflicts: int) -> tuple[Equality, list[bool] | None]:
        if a == b:
            return "equal", None
        if a == b ^ 1:
            return "different", [False] * len(self.circuit.inputs)
        if not conflicts:  # to the solver, 0 means without limit
            return "unknown", None
        for left, right in ((a, b ^ 1), (a ^ 1, b)):
            satisfiable = self._solver.together([dimacs_variable(left), dimacs_variable(right)], conflicts)
            if satisfiable is None:
                return "unknown", None
            if satisfiable:
                model = self._solver.model()
                return "different", [model[1 + i] > 0 for i in range(len(self.circuit.inputs))]
        return "equal", None

    def _key(self, node: int) -> tuple[int, int]:
        """Return (values of a node, negated if the first value is 1; whether they were negated)."""
        value = self._values[node]
        return (value ^ ((1 << self._input_count) - 1), 1) if value & 1 else (value, 0)

    def _add_inputs(self, bits: list[bool]) -> None:
        """Collect inputs that distinguish nodes; evaluate every node on them, several inputs at a time."""
        self._new_inputs.append(bits)
        without_neighbours = self._input_count >= MOST_INPUTS
        if len(self._new_inputs) < (LEARNED_AT_ONCE * NEIGHBOURS if without_neighbours else LEARNED_AT_ONCE):
            return
        words = np.array(self._new_inputs, dtype=np.uint8).T
        self._new_inputs.clear()
        self._evaluate_inputs(words if without_neighbours else self._neighbours(words))
        self._group_nodes()

    def _neighbours(self, words: np.ndarray) -> np.ndarray:
        """Return these inputs [bits, inputs], each with others in which two bits are flipped on average."""
        neighbours = np.repeat(words, NEIGHBOURS, axis=1)
        flipped = self._rng.random(neighbours.shape) < 2 / max(2, len(neighbours))
        flipped[:, ::NEIGHBOURS] = False
        return neighbours ^ flipped

    def _evaluate_inputs(self, inputs: np.ndarray) -> None:
        """Append to the values of every node those on further inputs [bits, inputs]."""
        count = inputs.shape[1]
        rows = np.packbits(inputs, axis=1, bitorder="little")
        new_values = [0, *(int.from_bytes(row.tobytes(), "little") for row in rows)]
        for gate in self.builder.gates:
            new_values.append(_value(gate, new_values, (1 << count) - 1))
        self._values = [old | new << self._input_count for old, new in zip(self._values, new_values, strict=True)]
        self._input_count += count

    def _group_nodes(self) -> None:
        """Find the first node of each key."""
        self._representative.clear()
        for node in range(len(self._values)):
            key, negated = self._key(node)
            self._representative.setdefault(key, 2 * node ^ negated)


def _value(gate: Gate, values: list[int], ones: int) -> int:
    """Return the values of a gate, one bit per input, from the values of all nodes."""
    inputs = (values[x >> 1] ^ (ones if x & 1 else 0) for x in gate.inputs)
    return reduce(and_, inputs) if gate.kind == "and" else reduce(or_, inputs)


@dataclass(frozen=True, eq=False)
class DratCertificate:
    """Unsatisfiable clauses, and the lemmas that prove it."""

    clauses: list[Clause]
    lemmas: list[Clause]
    about: tuple[str, ...] = ()
    """Comments about the clauses: the hash of the model and what it is compared with."""

    def files(self) -> dict[str, str]:
        return {".cnf": self.cnf(), ".drat": self.drat()}

    def cnf(self) -> str:
        """Return the clauses in DIMACS."""
        largest = max((abs(x) for clause in self.clauses for x in clause), default=0)
        comments = "".join(f"c {line}\n" for line in self.about)
        return f"{comments}p cnf {largest} {len(self.clauses)}\n" + _lines(self.clauses)

    def drat(self) -> str:
        """Return the lemmas in DRAT, without deletions."""
        return _lines(self.lemmas)


def certify(
    circuit: Circuit, pairs: np.ndarray, equal: Sequence[tuple[int, int]], about: Sequence[str] = ()
) -> DratCertificate:
    """Return the certificate that pairs of literals of a circuit are equal; for `equal` see `SweepResult`."""
    clauses = [constant_clause()]
    of_node: dict[int, list[Clause]] = {}
    for k, gate in enumerate(circuit.gates):
        node = circuit.first_gate + k
        of_node[node] = gate_clauses(node, gate)
        clauses += of_node[node]
    differs, asserted = difference_clauses(circuit, pairs)
    clauses += asserted
    checker = UnitPropagation()
    for clause in clauses:
        checker.add(clause)
    lemmas: list[Clause] = []
    twin: dict[int, tuple[int, int]] = {}

    def add(lemma: Clause) -> None:
        if not checker.follows(lemma):
            for learned in _learned_clauses(circuit, of_node, twin, lemma):
                _add(checker, lemmas, learned)
        _add(checker, lemmas, lemma)

    for a, b in stage("certifying gates", equal):
        add([-dimacs_variable(a), dimacs_variable(b)])
        add([dimacs_variable(a), -dimacs_variable(b)])
        twin[a >> 1] = a, b
    for (a, b), x in stage("certifying answers", zip(pairs.tolist(), differs, strict=True), len(differs)):
        add([-dimacs_variable(a), dimacs_variable(b)])
        add([dimacs_variable(a), -dimacs_variable(b)])
        add([-x, dimacs_variable(a)])
        add([-x])
    _add(checker, lemmas, [])
    return DratCertificate(clauses, lemmas, tuple(about))


def _add(checker: UnitPropagation, lemmas: list[Clause], lemma: Clause) -> None:
    check()
    if not checker.follows(lemma):
        raise UnmaskError("a step of the solver could not be checked by unit propagation; there is no certificate")
    lemmas.append(lemma)
    checker.add(lemma)


def _learned_clauses(
    circuit: Circuit, of_node: dict[int, list[Clause]], twin: dict[int, tuple[int, int]], lemma: Clause
) -> list[Clause]:
    """Return the clauses that a solver learns while it proves the lemma, each extended by the lemma's literals.

    The solver gets the gates below the lemma's nodes. A gate that equals an earlier one is replaced by that one.
    """
    visited: set[int] = set()
    waiting = [abs(x) - 1 for x in lemma]
    solver = solver_class()(name=THOROUGH, with_proof=True)
    solver.add_clause(constant_clause())
    while waiting:
        node = waiting.pop()
        if node in visited:
            continue
        visited.add(node)
        if node in twin and node not in (abs(x) - 1 for x in lemma):
            a, b = (dimacs_variable(x) for x in twin[node])
            solver.add_clause([-a, b])
            solver.add_clause([a, -b])
            waiting.append(twin[node][1] >> 1)
        elif node in of_node:
            for clause in of_node[node]:
                solver.add_clause(clause)
            waiting += [x >> 1 for x in circuit.gates[node - circuit.first_gate].inputs]
    for x in lemma:
        solver.add_clause([-x])
    has_model = solve_within(solver)
    proof = [] if has_model else solver.get_proof()
    solver.delete()
    if has_model:
        raise UnmaskError("the solver refutes an equality that was found before; please report this model")
    learned = []
    for line in proof or []:
        if not line.startswith("d"):
            clause = [int(x) for x in line.split()[:-1]]
            learned.append([*clause, *(x for x in lemma if x not in clause)])
    return learned


def _lines(clauses: list[Clause]) -> str:
    return "".join(" ".join(map(str, [*clause, 0])) + "\n" for clause in clauses)
