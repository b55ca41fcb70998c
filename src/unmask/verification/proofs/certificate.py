"""Certificate: a refutation of "the two sides differ on some word" that any DRAT checker can read.

    clauses   the gates of both sides, and: some pair of literals that should be equal is not
    lemmas    for each gate that equals an earlier one, in order: what a solver learned, then the equality; at the end
              the empty clause. Each follows from what stands before it by reverse unit propagation

The equalities are those that sweeping found. Each line is checked here as it is made, by `unit_propagation`, which
shares nothing with the solver; what cannot be checked makes no certificate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import UnmaskError
from unmask.limits import check, stage
from unmask.problems.circuits.circuit import Circuit
from unmask.verification.proofs.clauses import Clause, constant_clause, difference, gate_clauses, variable
from unmask.verification.proofs.questions import THOROUGH, solved, solver_class
from unmask.verification.proofs.unit_propagation import UnitPropagation


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
