"""Network → gates: every value of every variable becomes a literal, exactly one of which holds.

    [v = c] = ⋁ over the first parent's values i of [parent = i] ∧ [the rest of the table, or the i-th branch, gives c]

Values i with the same rest are taken together. Of two values, one is the negation of the other.
"""

from collections.abc import Sequence

import numpy as np

from unmask.limits import stage
from unmask.problems.circuits.circuit import FALSE, TRUE, CircuitBuilder
from unmask.verification.symbolic.network import Cases, Network, Variable

Literals = list[int]


class NetworkGates:
    """Literals of a network's variables, made when they are asked for; letters are given by their literals."""

    def __init__(self, network: Network, builder: CircuitBuilder, letters: Sequence[Literals]) -> None:
        self._network, self._builder = network, builder
        self._literals: dict[int, Literals] = dict(zip(network.letters, letters, strict=True))

    def holds(self, cases: Cases, labels: np.ndarray) -> int:
        """The literal of "the label is true"."""
        for v in stage("variables as gates", self._network.below(cases.variables)):
            if v not in self._literals:
                variable = self._network.variables[v]
                if variable.table is None:
                    self._literals[v] = self._switch(variable)
                else:
                    self._literals[v] = self._table(variable.parents, variable.table, variable.size)
        true = labels.astype(bool)[cases.index].astype(np.int32)
        return self._table(cases.variables, true, 2)[1]

    def _switch(self, variable: Variable) -> Literals:
        terms: list[list[int]] = [[] for _ in range(variable.size)]
        for guard, branch in zip(self._literals[variable.parents[0]], variable.branches, strict=True):
            for value, literal in enumerate(self._table(branch.variables, branch.index, variable.size)):
                terms[value].append(self._builder.and_(guard, literal))
        return [self._builder.or_(*some) for some in terms]

    def _table(self, parents: Sequence[int], table: np.ndarray, size: int) -> Literals:
        known: dict[bytes, Literals] = {}

        def literals(depth: int, part: np.ndarray) -> Literals:
            if depth == len(parents):
                return [TRUE if value == int(part) else FALSE for value in range(size)]
            key = bytes([depth % 256]) + part.tobytes()
            if key in known:
                return known[key]
            groups: dict[bytes, tuple[list[int], np.ndarray]] = {}
            for value, literal in enumerate(self._literals[parents[depth]]):
                groups.setdefault(part[value].tobytes(), ([], part[value]))[0].append(literal)
            terms: list[list[int]] = [[] for _ in range(size)]
            for alike, rest in groups.values():
                guard = TRUE if len(groups) == 1 else self._builder.or_(*alike)
                for value, literal in enumerate(literals(depth + 1, rest)):
                    if literal != FALSE:
                        terms[value].append(self._builder.and_(guard, literal))
            used = [value for value in range(size) if terms[value]]
            result = [FALSE] * size
            for value in used:
                result[value] = self._builder.or_(*terms[value])
            if len(used) == 2:
                result[used[1]] = result[used[0]] ^ 1
            known[key] = result
            return result

        return literals(0, np.asarray(table, order="C"))
