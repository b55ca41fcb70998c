"""Network: finite variables, each a table of others, down to the letters of the input.

    variable v = table_v[parents…],   value in 0 … size - 1;   a letter has no parents

`Cases` is what a quantity can be: a table over a few variables that says which of its cases holds. In every
assignment exactly one case holds; this is so by construction, never assumed.

Joining quantities enumerates the assignments of a *basis*: variables from which all of theirs follow. A variable
whose parents are in the basis is no choice of its own, and several variables of common parents are one choice; what
is left may still name combinations that no word leads to, which is sound and only costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from unmask.errors import TooLarge

MOST_ASSIGNMENTS = 1 << 18
FEW_ASSIGNMENTS = 64
DEEPEST = 8


@dataclass(frozen=True, eq=False)
class Cases:
    """index[value of each variable] = case, 0 … count - 1; without variables, one case."""

    variables: tuple[int, ...]
    index: np.ndarray
    count: int

    @property
    def constant(self) -> bool:
        return not self.variables

    def same(self, other: "Cases") -> bool:
        return self.variables == other.variables and np.array_equal(self.index, other.index)


CERTAIN = Cases((), np.zeros((), dtype=np.int32), 1)


@dataclass(frozen=True, eq=False)
class Variable:
    """A letter (its row of the input) or a table of earlier variables; `support` has the bits of the letters below."""

    size: int
    parents: tuple[int, ...]
    table: np.ndarray | None
    support: int
    letter: int | None = None


class TooManyCases(TooLarge):
    """A join has more assignments than will be looked at."""


@dataclass(eq=False)
class Network:
    """Variables in an order in which each comes after its parents; equal ones are made once."""

    variables: list[Variable] = field(default_factory=list)
    letters: list[int] = field(default_factory=list)
    _known: dict[tuple[tuple[int, ...], bytes], int] = field(default_factory=dict)
    _bases: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def letter(self, size: int) -> Cases:
        """The next letter of the input."""
        place = len(self.letters)
        self.variables.append(Variable(size, (), None, 1 << place, place))
        self.letters.append(len(self.variables) - 1)
        return self._alone(len(self.variables) - 1) if size > 1 else CERTAIN

    def cut(self, cases: Cases) -> Cases:
        """The same cases over one variable."""
        if cases.constant:
            return cases
        if len(cases.variables) == 1 and cases.count == self.variables[cases.variables[0]].size:
            return cases
        key = cases.variables, cases.index.tobytes()
        if key not in self._known:
            support = 0
            for v in cases.variables:
                support |= self.variables[v].support
            self.variables.append(Variable(cases.count, cases.variables, cases.index, support))
            self._known[key] = len(self.variables) - 1
        return self._alone(self._known[key])

    def join(self, parts: Sequence[Cases], *, most: int = MOST_ASSIGNMENTS) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """(basis, the case of each part in every assignment of the basis)."""
        wanted = tuple(sorted({v for part in parts for v in part.variables}))
        basis = self._basis(wanted)
        sizes = [self.variables[v].size for v in basis]
        total = prod(sizes)
        if total > most:
            raise TooManyCases(f"{total} assignments of {len(basis)} variables")
        values = {v: axis.ravel() for v, axis in zip(basis, np.indices(sizes, dtype=np.int32), strict=True)}
        chosen = (part.index[tuple(self._value(v, values) for v in part.variables)] for part in parts)
        return basis, [np.broadcast_to(cases, (total,)) for cases in chosen]

    def cases(self, basis: tuple[int, ...], labels: np.ndarray) -> tuple[Cases, np.ndarray]:
        """(cases, the label of each) of a label per assignment, in any shape.

        Variables that change nothing are left out, and cases are numbered as they first occur, so that equal
        partitions are equal arrays.
        """
        if not basis:
            return CERTAIN, labels.reshape(1)
        table = labels.reshape([self.variables[v].size for v in basis])
        kept = []
        for axis in range(len(basis) - 1, -1, -1):
            first = table.take([0], axis)
            if (table == first).all():
                table = first.squeeze(axis)
            else:
                kept.append(basis[axis])
        if not kept:
            return CERTAIN, table.reshape(1)
        found, first, inverse = np.unique(table, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(order.size, dtype=np.int32)
        rank[order] = np.arange(order.size)
        index = np.ascontiguousarray(rank[inverse].reshape(table.shape))
        return Cases(tuple(reversed(kept)), index, found.size), found[order]

    def evaluate(self, words: np.ndarray, wanted: Sequence[int]) -> dict[int, np.ndarray]:
        """The value of the wanted variables on words [batch, letters]."""
        values = {v: words[:, place] for place, v in enumerate(self.letters)}
        for v in self.below(wanted):
            variable = self.variables[v]
            if variable.table is not None:
                values[v] = variable.table[tuple(values[u] for u in variable.parents)]
        return values

    def below(self, wanted: Sequence[int]) -> list[int]:
        """The wanted variables and all they depend on, in order."""
        seen: set[int] = set()
        waiting = list(wanted)
        while waiting:
            v = waiting.pop()
            if v not in seen:
                seen.add(v)
                waiting += self.variables[v].parents
        return sorted(seen)

    def _alone(self, v: int) -> Cases:
        size = self.variables[v].size
        return Cases((v,), np.arange(size, dtype=np.int32), size)

    def _value(self, v: int, values: dict[int, np.ndarray]) -> np.ndarray:
        waiting = [v]
        while v not in values:  # not by recursion: a chain of variables is as long as a run has steps
            variable = self.variables[waiting[-1]]
            missing = [u for u in variable.parents if u not in values]
            waiting += missing
            if not missing:
                assert variable.table is not None
                values[waiting.pop()] = variable.table[tuple(values[u] for u in variable.parents)]
        return values[v]

    def _basis(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        if wanted not in self._bases:
            self._bases[wanted] = self._find_basis(wanted)
        return self._bases[wanted]

    def _find_basis(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """Few assignments: without what follows from the rest; then parents in place of children, while it pays."""
        best = self._independent(set(wanted))
        while self._assignments(best) > FEW_ASSIGNMENTS:
            families = {self.variables[v].parents for v in best if self.variables[v].parents}
            candidates = [
                self._independent({v for v in best if self.variables[v].parents != family} | set(family))
                for family in families
            ]
            better = min(candidates, key=self._assignments, default=best)
            if self._assignments(better) >= self._assignments(best):
                break
            best = better
        support = 0
        for v in best:
            support |= self.variables[v].support
        if support.bit_count() <= 17:
            letters = {v for place, v in enumerate(self.letters) if support >> place & 1}
            if self._assignments(letters) < self._assignments(best):
                best = letters
        return tuple(sorted(best))

    def _assignments(self, variables: set[int]) -> int:
        return prod(self.variables[v].size for v in variables)

    def _independent(self, variables: set[int]) -> set[int]:
        """Without those that follow from the others; a variable follows only from earlier ones."""
        kept = set(variables)
        for v in sorted(variables, reverse=True):
            parents = self.variables[v].parents
            if parents and all(self._follows(u, kept, {}, DEEPEST) for u in parents):
                kept.discard(v)
        return kept

    def _follows(self, v: int, given: set[int], known: dict[int, bool], depth: int) -> bool:
        if v in given:
            return True
        if v not in known:
            parents = self.variables[v].parents
            known[v] = (
                depth > 0
                and bool(parents)
                and min(parents) >= min(given, default=0)
                and all(self._follows(u, given, known, depth - 1) for u in parents)
            )
        return known[v]
