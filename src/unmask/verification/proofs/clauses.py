"""Gates as clauses, for a solver or a checker: node n of a circuit is variable n + 1, negated where the literal is."""

import numpy as np

from unmask.problems.circuits.circuit import FALSE, Circuit, Gate

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
