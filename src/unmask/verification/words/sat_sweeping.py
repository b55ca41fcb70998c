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


def variable(literal: int) -> int:
    """The solver's name of a literal."""
    node = (literal >> 1) + 1
    return -node if literal & 1 else node


def constant_clause() -> Clause:
    """Node 0 is false."""
    return [-variable(FALSE)]


def gate_clauses(node: int, gate: Gate) -> list[Clause]:
    """node = AND or OR of its inputs."""
    flip = 1 if gate.kind == "or" else 0
    own = 2 * node ^ flip  # as an AND of literals
    clauses = [[-variable(own), variable(x ^ flip)] for x in gate.inputs]
    return [*clauses, [variable(own), *(-variable(x ^ flip) for x in gate.inputs)]]


def difference(circuit: Circuit, pairs: np.ndarray) -> tuple[list[int], list[Clause]]:
    """(a new variable for each pair, clauses): x → a ≠ b for each, and one of them holds."""
    free = circuit.first_gate + len(circuit.gates) + 1
    new = list(range(free, free + len(pairs)))
    clauses: list[Clause] = []
    for x, (a, b) in zip(new, pairs.tolist(), strict=True):
        clauses += [[-x, variable(a), variable(b)], [-x, -variable(a), -variable(b)]]
    return new, [*clauses, new]


QUICK, THOROUGH = "glucose4", "cadical195"
QUICK_CONFLICTS = 2000  # of one question
CONFLICTS_AT_ONCE = 1000  # a solver cannot be interrupted: it continues in rounds, with all that it has learned


def solver_class() -> Callable:
    try:
        from pysat.solvers import Solver
    except ModuleNotFoundError:
        raise UnmaskError("this proof needs a SAT solver; run `pip install 'unmask[verify]'`") from None
    return Solver


def solved(solver: Any, conflicts: int | None = None, *, assumptions: Sequence[int] = ()) -> bool | None:
    """Return whether there is a model; None at the limit of conflicts. The time limit is checked in between."""
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


class IncrementalSolver:
    """The clauses so far, in a quick solver; in the thorough one once it is needed."""

    def __init__(self) -> None:
        self._clauses: list[Clause] = []
        self._quick: Any = solver_class()(name=QUICK)
        self._thorough: Any = None
        self._told = 0  # how many clauses the thorough one knows
        self._answered: Any = None
        self.asked = 0

    def add(self, clause: Clause) -> None:
        self._clauses.append(clause)
        self._quick.add_clause(clause)

    def together(self, literals: Sequence[int], conflicts: int) -> bool | None:
        """Return whether these literals can be true together; None at the limit of conflicts."""
        self.asked += 1
        self._answered = self._quick
        answer = solved(self._quick, min(conflicts, QUICK_CONFLICTS), assumptions=literals)
        if answer is None and conflicts > QUICK_CONFLICTS:
            self._answered = self._informed()
            answer = solved(self._answered, conflicts - QUICK_CONFLICTS, assumptions=literals)
        return answer

    def model(self) -> list[int]:
        """The model of the last query, if it was satisfiable: each variable, or its negation."""
        return self._answered.get_model()

    @property
    def solvers(self) -> str:
        """The names of the solvers that were used."""
        return QUICK if self._thorough is None else f"{QUICK} and {THOROUGH}"

    def close(self) -> None:
        for solver in (self._quick, self._thorough):
            if solver is not None:
                solver.delete()

    def _informed(self) -> Any:
        if self._thorough is None:
            self._thorough = solver_class()(name=THOROUGH)
        for clause in self._clauses[self._told :]:
            self._thorough.add_clause(clause)
        self._told = len(self._clauses)
        return self._thorough


class UnitPropagation:
    """Clauses over variables 1, 2, …; two literals of each are watched."""

    def __init__(self) -> None:
        self._watching: dict[int, list[list[int]]] = {}
        self._value: dict[int, bool] = {}  # of literals, both signs
        self.contradiction = False

    def add(self, clause: Iterable[int]) -> None:
        """A clause that holds."""
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
        """Make literals true, with all that follows; False at a contradiction. `trail` receives what was set."""
        waiting = list(literals)
        while waiting:
            x = waiting.pop()
            known = self._value.get(x)
            if known is not None:
                if not known:
                    return False
                continue
            self._value[x], self._value[-x] = True, False
            trail.append(x)
            watching, self._watching[-x] = self._watching.get(-x, []), []
            still_watching = self._watching[-x]
            for place, clause in enumerate(watching):
                if clause[0] == -x:
                    clause[0], clause[1] = clause[1], clause[0]
                first = clause[0]
                if self._value.get(first):
                    still_watching.append(clause)
                    continue
                for k in range(2, len(clause)):
                    if self._value.get(clause[k]) is not False:
                        clause[1], clause[k] = clause[k], clause[1]
                        self._watching.setdefault(clause[1], []).append(clause)
                        break
                else:
                    still_watching.append(clause)
                    if self._value.get(first) is False:
                        still_watching.extend(watching[place + 1 :])
                        return False
                    waiting.append(first)
        return True


RANDOM_INPUTS = 1024
LEARNED_AT_ONCE = 8  # inputs that the solver found
NEIGHBOURS = 64  # of each of them, itself included
MOST_INPUTS = 1 << 14  # from there on without neighbours
CONFLICTS_PER_NODE = 200

Answer = OneOf["equal", "different", "unknown"]


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Per pair: equal, different or unknown; an input for the first that differs; the number of queries; solvers."""

    answers: list[Answer]
    counterexample: list[bool] | None
    questions: int
    solvers: str
    equal: list[tuple[int, int]]
    """(literal, earlier literal) of the circuit that were found equal, in order."""


def sweep(circuit: Circuit, pairs: np.ndarray, *, seed: int = 0, conflicts: int = 2_000_000) -> SweepResult:
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
        self._tried, self._values = 0, [0] * (1 + inputs)  # bit k of a node's value: what it is on the k-th input
        self._try(self._rng.integers(0, 2, (inputs, RANDOM_INPUTS), dtype=np.uint8))
        self._solver.add(constant_clause())
        for node in range(1, inputs + 1):  # a model gives a value to every variable that some clause names
            self._solver.add([variable(2 * node), -variable(2 * node)])
        self._representative: dict[int, int] = {}
        self._fresh: list[list[bool]] = []
        self._known: dict[int, int] = {}  # a node's literal → the earlier one that it equals
        self._sort()

    def run(self, pairs: np.ndarray, conflicts: int) -> SweepResult:
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
        self._solver.close()
        return SweepResult(answers, counterexample, self._solver.asked, self._solver.solvers, equal)

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
            self._solver.add(clause)
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
            self._solver.add([-variable(literal), variable(other)])
            self._solver.add([variable(literal), -variable(other)])
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
            satisfiable = self._solver.together([variable(one), variable(other)], conflicts)
            if satisfiable is None:
                return "unknown", None
            if satisfiable:
                model = self._solver.model()
                return "different", [model[1 + i] > 0 for i in range(len(self.circuit.inputs))]
        return "equal", None

    def _key(self, node: int) -> tuple[int, int]:
        """(values, negated where the first would be true; was it negated)."""
        value = self._values[node]
        return (value ^ ((1 << self._tried) - 1), 1) if value & 1 else (value, 0)

    def _learn(self, bits: list[bool]) -> None:
        """Inputs that distinguish nodes, a few at a time, become values of every node."""
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


@dataclass(frozen=True, eq=False)
class Certificate:
    """Clauses without a model, and why."""

    clauses: list[Clause]
    lemmas: list[Clause]
    about: tuple[str, ...] = ()
    """What the clauses are about, in comments: the hash of the folder, what it is compared with."""

    def files(self) -> dict[str, str]:
        return {".cnf": self.cnf(), ".drat": self.drat()}

    def cnf(self) -> str:
        """DIMACS."""
        largest = max((abs(x) for clause in self.clauses for x in clause), default=0)
        comments = "".join(f"c {line}\n" for line in self.about)
        return f"{comments}p cnf {largest} {len(self.clauses)}\n" + _lines(self.clauses)

    def drat(self) -> str:
        """DRAT, without deletions."""
        return _lines(self.lemmas)


def certify(
    circuit: Circuit, pairs: np.ndarray, equal: Sequence[tuple[int, int]], about: Sequence[str] = ()
) -> Certificate:
    """The certificate for pairs of literals of a circuit; `equal` are (literal, earlier literal), in order."""
    clauses = [constant_clause()]
    of_node: dict[int, list[Clause]] = {}
    for k, gate in enumerate(circuit.gates):
        node = circuit.first_gate + k
        of_node[node] = gate_clauses(node, gate)
        clauses += of_node[node]
    differs, asserted = difference(circuit, pairs)
    clauses += asserted
    checker = UnitPropagation()
    for clause in clauses:
        checker.add(clause)
    lemmas: list[Clause] = []
    twin: dict[int, tuple[int, int]] = {}

    def add(lemma: Clause) -> None:
        if not checker.follows(lemma):
            for learned in _learned(circuit, of_node, twin, lemma):
                _add(checker, lemmas, learned)
        _add(checker, lemmas, lemma)

    for a, b in stage("certifying gates", equal):
        add([-variable(a), variable(b)])
        add([variable(a), -variable(b)])
        twin[a >> 1] = a, b
    for (a, b), x in stage("certifying answers", zip(pairs.tolist(), differs, strict=True), len(differs)):
        add([-variable(a), variable(b)])
        add([variable(a), -variable(b)])
        add([-x, variable(a)])
        add([-x])
    _add(checker, lemmas, [])
    return Certificate(clauses, lemmas, tuple(about))


def _add(checker: UnitPropagation, lemmas: list[Clause], lemma: Clause) -> None:
    check()
    if not checker.follows(lemma):
        raise UnmaskError("a step of the solver could not be checked by unit propagation; there is no certificate")
    lemmas.append(lemma)
    checker.add(lemma)


def _learned(
    circuit: Circuit, of_node: dict[int, list[Clause]], twin: dict[int, tuple[int, int]], lemma: Clause
) -> list[Clause]:
    """What a solver learns on its way to the lemma, each clause weakened by it.

    It sees the gates below, with equal gates replaced by the earlier one: the cone is that of the earlier one.
    """
    seen: set[int] = set()
    waiting = [abs(x) - 1 for x in lemma]
    solver = solver_class()(name=THOROUGH, with_proof=True)
    solver.add_clause(constant_clause())
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in twin and node not in (abs(x) - 1 for x in lemma):
            a, b = (variable(x) for x in twin[node])
            solver.add_clause([-a, b])
            solver.add_clause([a, -b])
            waiting.append(twin[node][1] >> 1)
        elif node in of_node:
            for clause in of_node[node]:
                solver.add_clause(clause)
            waiting += [x >> 1 for x in circuit.gates[node - circuit.first_gate].inputs]
    for x in lemma:
        solver.add_clause([-x])
    has_model = solved(solver)
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
