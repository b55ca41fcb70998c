"""Network: finite variables, each a table of others, down to the letters of the input.

    variable v = table_v[parents…],   value in 0 … size - 1;   a letter has no parents
    or       v = table_{v,u}[…],      where the value u of the first parent selects the table and its variables

`Cases` describes the values of a quantity: a table over a few variables that gives the number of the case. In every
assignment exactly one case applies, by construction.

A join of quantities enumerates the assignments of a *basis*: variables that determine all of theirs. A variable whose
parents are in the basis is not chosen separately. The basis may still contain combinations that no word leads to,
which is sound and only costs time.

Two variables have the same *shape* if they are the same function of other letters (`Shapes`). A computation over cases
depends on their tables and not on the names of their variables (`pattern_of`, `ResultCache`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from unmask.errors import TooLarge
from unmask.limits import check

FEW_COLUMNS = 16
FEW_LABELS = 64
MOST_CODES = 1 << 62

Partition = tuple[np.ndarray, np.ndarray]
"""(the first place of each class, the number of every place's class)"""


def ranked(codes: np.ndarray, size: int) -> Partition:
    """The classes of equal codes 0 … size - 1, in the order of the codes."""
    if size > 4 * codes.size + 1024:
        _, first, number = np.unique(codes, return_index=True, return_inverse=True)
        return first, number.reshape(-1)
    first = np.full(size, -1)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # of places that share a code, the last that is set stays
    there = np.flatnonzero(first >= 0)
    number = np.empty(size, dtype=np.int64)
    number[there] = np.arange(there.size)
    return first[there], number[codes]


def numbered(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the label of each class, the number of every place's class) of labels that may be any integers.

    Classes are numbered as they first occur.
    """
    if labels.size <= FEW_LABELS:
        numbers: dict[int, int] = {}
        places = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        return np.array(list(numbers), dtype=labels.dtype), np.array(places, dtype=np.int32)
    wide = labels.astype(np.int64)
    wide -= int(wide.min())
    first, number = ranked(wide, int(wide.max()) + 1)
    order = np.argsort(first)
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return labels[first[order]], rank[number]


def distinct(columns: np.ndarray) -> Partition:
    """The classes of equal columns."""
    count = columns.shape[1]
    if count == 1 or not columns.shape[0]:
        return np.zeros(1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    if count <= FEW_COLUMNS:
        return _looked_up(columns)
    low = columns.min(axis=1).astype(np.int64)
    spans = columns.max(axis=1).astype(np.int64) - low + 1
    telling = np.flatnonzero(spans > 1)
    codes, size = np.zeros(count, dtype=np.int64), 1
    for row, least, span in zip(columns[telling], low[telling].tolist(), spans[telling].tolist(), strict=True):
        if size * span > MOST_CODES:
            first, codes = ranked(codes, size)
            size = first.size
        codes *= span
        codes += row
        codes -= least
        size *= span
    return ranked(codes, size)


def contents(columns: np.ndarray) -> Iterator[bytes]:
    """What each column holds."""
    size = columns.shape[0] * columns.itemsize
    whole = columns.tobytes("F")
    return (whole[place * size : (place + 1) * size] for place in range(columns.shape[1]))


def _looked_up(columns: np.ndarray) -> Partition:
    numbers: dict[bytes, int] = {}
    first, labels = [], []
    for place, content in enumerate(contents(columns)):
        number = numbers.setdefault(content, len(first))
        if number == len(first):
            first.append(place)
        labels.append(number)
    return np.array(first), np.array(labels)


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
        """Return whether no two of these variables depend on the same letter."""
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


Pattern = tuple[tuple[Any, ...], ...]


def pattern_of(network: Network, parts: Sequence[Cases]) -> tuple[tuple[int, ...], Pattern] | None:
    """(the variables in order, the pattern); None where some variable follows from others."""
    varying = [part for part in parts if part.variables]
    if not varying:
        return (), tuple(() for _ in parts)
    if len(varying) == 1:
        wanted = varying[0].variables
    else:
        wanted = tuple(sorted({v for part in varying for v in part.variables}))
    if network.basis(wanted) != wanted:
        return None
    place = {v: i for i, v in enumerate(wanted)}
    return wanted, tuple(
        (tuple(place[v] for v in part.variables), part.content) if part.variables else () for part in parts
    )


@dataclass(frozen=True, eq=False)
class UnnamedCases:
    """Cases over numbered variables, and what was computed for each."""

    places: tuple[int, ...]
    index: np.ndarray
    count: int
    results: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, cases: Cases, wanted: Sequence[int], results: tuple[np.ndarray, ...]) -> "UnnamedCases | None":
        """None where the cases are over other variables."""
        place = {v: i for i, v in enumerate(wanted)}
        if not set(cases.variables) <= set(place):
            return None
        return cls(tuple(place[v] for v in cases.variables), cases.index, cases.count, results)

    def over(self, variables: Sequence[int]) -> Cases:
        if not self.places:
            return CERTAIN
        return Cases(tuple(variables[i] for i in self.places), self.index, self.count)


@dataclass(eq=False)
class ResultCache:
    """Results by pattern and integers."""

    known: dict[Any, UnnamedCases] = field(default_factory=dict)

    def keep(self, key: Any, cases: Cases, wanted: Sequence[int], results: tuple[np.ndarray, ...]) -> None:
        nameless = UnnamedCases.of(cases, wanted, results)
        if nameless is not None:
            self.known[key] = nameless


class Shapes:
    """Each variable's first variable of its shape."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._first: dict[int, int] = {}
        self._known: dict[Any, int] = {}

    def interval(self, v: int) -> tuple[int, int]:
        """The letters [first, last) between which all lie that a variable depends on."""
        support = self._network.variables[v].support
        return (support & -support).bit_length() - 1, support.bit_length()

    def representative(self, v: int) -> int:
        """The first variable asked about that has this shape."""
        if v not in self._first:
            for u in self._unknown(v):
                self._first[u] = self._known.setdefault(self._signature(u), u)
        return self._first[v]

    def _unknown(self, v: int) -> list[int]:
        """A variable and those below it that were not looked at, parents first."""
        seen: set[int] = set()
        waiting = [v]
        while waiting:
            u = waiting.pop()
            if u not in seen and u not in self._first:
                seen.add(u)
                waiting += self._network.variables[u].parents
        return sorted(seen)

    def _signature(self, v: int) -> Any:
        variable = self._network.variables[v]
        if variable.letter is not None:
            return variable.size
        first, last = self.interval(v)
        parents = tuple((self._first[u], self.interval(u)[0] - first) for u in variable.parents)
        if variable.table is not None:
            return last - first, parents, variable.table.shape, variable.table.tobytes()
        place = {u: i for i, u in enumerate(variable.parents)}
        return last - first, parents, tuple(self._branch(branch, place) for branch in variable.branches)

    def _branch(self, branch: Cases, place: dict[int, int]) -> Any:
        return tuple(place[u] for u in branch.variables), branch.index.shape, branch.index.tobytes()
