"""Network: finite variables, each a table of others, down to the letters of the input.

    variable v = table_v[parents…],   value in 0 … size - 1;   a letter has no parents
    or       v = table_{v,u}[…],      which table, and over which variables, the value of the first parent u says

`Cases` is what a quantity can be: a table over a few variables that says which of its cases holds. In every
assignment exactly one case holds; this is so by construction, never assumed.

Joining quantities enumerates the assignments of a *basis*: variables from which all of theirs follow. A variable
whose parents are in the basis is no choice of its own, and several variables of common parents are one choice; what
is left may still name combinations that no word leads to, which is sound and only costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from unmask.errors import TooLarge
from unmask.limits import check
from unmask.verification.symbolic.partition import numbered

MOST_ASSIGNMENTS = 1 << 18
FEW_ASSIGNMENTS = 64
DEEPEST = 8
FEW_VARIABLES = 12


@dataclass(frozen=True, eq=False)
class Cases:
    """index[value of each variable] = case, 0 … count - 1; without variables, one case."""

    variables: tuple[int, ...]
    index: np.ndarray
    count: int

    @property
    def constant(self) -> bool:
        return not self.variables

    @cached_property
    def content(self) -> tuple[tuple[int, ...], bytes]:
        """The table without the names of its variables."""
        return self.index.shape, self.index.tobytes()

    def same(self, other: "Cases") -> bool:
        return self.variables == other.variables and np.array_equal(self.index, other.index)


CERTAIN = Cases((), np.zeros((), dtype=np.int32), 1)


@dataclass(frozen=True, eq=False)
class Variable:
    """A letter (its row of the input) or a table of earlier variables; `support` has the bits of the letters below.

    A switch has `branches` in place of a table: its value for each value of its first parent.
    """

    size: int
    parents: tuple[int, ...]
    table: np.ndarray | None
    support: int
    letter: int | None = None
    branches: tuple[Cases, ...] = ()

    def of(self, values: Mapping[int, np.ndarray]) -> np.ndarray:
        """The value, given those of the parents."""
        if self.table is not None:
            return self.table[tuple(values[u] for u in self.parents)]
        selector = values[self.parents[0]]
        result = np.zeros(selector.shape, dtype=np.int32)
        for number, branch in enumerate(self.branches):
            there = np.flatnonzero(selector == number)
            if there.size:
                result[there] = branch.index[tuple(values[u][there] for u in branch.variables)]
        return result


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
        check()
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
        key = cases.variables, cases.content[1]
        if key not in self._known:
            support = 0
            for v in cases.variables:
                support |= self.variables[v].support
            self.variables.append(Variable(cases.count, cases.variables, cases.index, support))
            self._known[key] = len(self.variables) - 1
        return self._alone(self._known[key])

    def switch(self, selector: Cases, branches: Sequence[Cases], size: int) -> Cases:
        """A variable whose value is that of a branch; which one, the case of the selector says.

        A branch reads nothing but its own variables: what the selector leaves out is never looked at.
        """
        check()
        selector = self.cut(selector)
        key = selector.variables, b"".join(repr(b.variables).encode() + b.index.tobytes() for b in branches)
        if key not in self._known:
            read = sorted({v for branch in branches for v in branch.variables})
            parents = (*selector.variables, *(v for v in read if v not in selector.variables))
            support = 0
            for v in parents:
                support |= self.variables[v].support
            self.variables.append(Variable(size, parents, None, support, branches=tuple(branches)))
            self._known[key] = len(self.variables) - 1
        return self._alone(self._known[key])

    def join(self, parts: Sequence[Cases], *, most: int = MOST_ASSIGNMENTS) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """(basis, the case of each part in every assignment of the basis)."""
        check()
        wanted = tuple(sorted({v for part in parts for v in part.variables}))
        basis = self.basis(wanted)
        sizes = [self.variables[v].size for v in basis]
        total = prod(sizes)
        if total > most:
            raise TooManyCases(f"{total} assignments of {len(basis)} variables")
        values = {v: axis.ravel() for v, axis in zip(basis, np.indices(sizes, dtype=np.int32), strict=True)}
        case_of = (part.index[tuple(self._value(v, values) for v in part.variables)] for part in parts)
        return basis, [np.broadcast_to(cases, (total,)) for cases in case_of]

    def assignments(self, variables: set[int], most: int) -> int:
        """How many assignments a join over these variables has; where that is not known to be at most `most`, more."""
        total = self._assignments(variables)
        if total <= most or len(variables) > FEW_VARIABLES:
            return total
        return self._assignments(set(self.basis(tuple(sorted(variables)))))

    def disjoint(self, variables: Sequence[int]) -> bool:
        """Does no letter stand below two of these variables?"""
        seen = 0
        for v in variables:
            support = self.variables[v].support
            if seen & support:
                return False
            seen |= support
        return True

    def cases(self, basis: tuple[int, ...], labels: np.ndarray) -> tuple[Cases, np.ndarray]:
        """(cases, the label of each) of a label per assignment, in any shape.

        Variables that change nothing are left out, and cases are numbered as they first occur, so that equal
        partitions are equal arrays.
        """
        if not basis:
            return CERTAIN, labels.reshape(1)
        table = labels.reshape([self.variables[v].size for v in basis])
        telling = list(basis)
        for axis in range(len(basis) - 1, -1, -1) if len(basis) > 1 else ():
            before = (slice(None),) * axis
            if (table == table[(*before, slice(0, 1))]).all():
                table = table[(*before, 0)]
                del telling[axis]
        found, index = numbered(table.ravel())
        if found.size == 1:
            return CERTAIN, found
        return Cases(tuple(telling), index.reshape(table.shape), found.size), found

    def evaluate(self, words: np.ndarray, wanted: Sequence[int]) -> dict[int, np.ndarray]:
        """The value of the wanted variables on words [batch, letters]."""
        values = {v: words[:, place] for place, v in enumerate(self.letters)}
        for v in self.below(wanted):
            variable = self.variables[v]
            if variable.letter is None:
                values[v] = variable.of(values)
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
                values[waiting.pop()] = variable.of(values)
        return values[v]

    def basis(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """Variables from which all of the wanted ones follow, with few assignments."""
        if wanted not in self._bases:
            self._bases[wanted] = self._find_basis(wanted)
        return self._bases[wanted]

    def _find_basis(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """Few assignments: without what follows from the rest; then parents in place of children, while it pays."""
        best = self._independent(set(wanted))
        while self._assignments(best) > FEW_ASSIGNMENTS:
            families = {self.variables[v].parents for v in best if self.variables[v].table is not None}
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
        independent = set(variables)
        for v in sorted(variables, reverse=True):
            parents = self.variables[v].parents if self.variables[v].table is not None else ()
            if parents and all(self._follows(u, independent, {}, DEEPEST) for u in parents):
                independent.discard(v)
        return independent

    def _follows(self, v: int, given: set[int], known: dict[int, bool], depth: int) -> bool:
        if v in given:
            return True
        if v not in known:
            parents = self.variables[v].parents if self.variables[v].table is not None else ()
            known[v] = (
                depth > 0
                and bool(parents)
                and min(parents) >= min(given, default=0)
                and all(self._follows(u, given, known, depth - 1) for u in parents)
            )
        return known[v]
