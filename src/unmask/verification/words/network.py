"""Network: finite variables, each a table of others, down to the letters of the input.

    variable v = table_v[parents…],   value in 0 … size - 1;   a letter has no parents
    or       v = table_{v,u}[…],      where the value u of the first parent selects the table and its variables

`Cases` describes the values of a quantity: a table over a few variables that gives the number of the case. In every
assignment exactly one case applies, by construction.

A join of quantities enumerates the assignments of a *basis*: variables that determine all of theirs. A variable whose
parents are in the basis is not chosen separately. The basis may still contain combinations that no word leads to,
which is sound and only costs time. A *cut* replaces cases over several variables by cases over one new variable.

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
"""(the index of the first element of each class, the class number of every element)"""


def distinct_codes(codes: np.ndarray, size: int) -> Partition:
    """Return the classes of equal codes 0 … size - 1, in the order of the codes."""
    if size > 4 * codes.size + 1024:
        _, first, number = np.unique(codes, return_index=True, return_inverse=True)
        return first, number.reshape(-1)
    first = np.full(size, -1)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # backwards: the first element of a code is set last
    occurring = np.flatnonzero(first >= 0)
    number = np.empty(size, dtype=np.int64)
    number[occurring] = np.arange(occurring.size)
    return first[occurring], number[codes]


def distinct_labels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (the label of each class, the class number of every element) of labels that may be any integers.

    Classes are numbered in the order of their first elements.
    """
    if labels.size <= FEW_LABELS:
        numbers: dict[int, int] = {}
        class_of = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        return np.array(list(numbers), dtype=labels.dtype), np.array(class_of, dtype=np.int32)
    wide = labels.astype(np.int64)
    wide -= int(wide.min())
    first, number = distinct_codes(wide, int(wide.max()) + 1)
    order = np.argsort(first)
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return labels[first[order]], rank[number]


def distinct_columns(columns: np.ndarray) -> Partition:
    """Return the classes of equal columns."""
    count = columns.shape[1]
    if count == 1 or not columns.shape[0]:
        return np.zeros(1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    if count <= FEW_COLUMNS:
        return _distinct_by_dictionary(columns)
    low = columns.min(axis=1).astype(np.int64)
    spans = columns.max(axis=1).astype(np.int64) - low + 1
    varying = np.flatnonzero(spans > 1)
    codes, size = np.zeros(count, dtype=np.int64), 1
    for row, least, span in zip(columns[varying], low[varying].tolist(), spans[varying].tolist(), strict=True):
        if size * span > MOST_CODES:
            first, codes = distinct_codes(codes, size)
            size = first.size
        codes *= span
        codes += row
        codes -= least
        size *= span
    return distinct_codes(codes, size)


def column_bytes(columns: np.ndarray) -> Iterator[bytes]:
    """Yield the bytes of each column."""
    size = columns.shape[0] * columns.itemsize
    whole = columns.tobytes("F")
    return (whole[column * size : (column + 1) * size] for column in range(columns.shape[1]))


def _distinct_by_dictionary(columns: np.ndarray) -> Partition:
    numbers: dict[bytes, int] = {}
    first, labels = [], []
    for column, content in enumerate(column_bytes(columns)):
        number = numbers.setdefault(content, len(first))
        if number == len(first):
            first.append(column)
        labels.append(number)
    return np.array(first), np.array(labels)


MOST_ASSIGNMENTS = 1 << 18
FEW_ASSIGNMENTS = 64
DEEPEST = 8  # levels of parents that are followed to find dependent variables
FEW_VARIABLES = 12


@dataclass(frozen=True, eq=False)
class Cases:
    """index[value of each variable] = case, 0 … count - 1. Without variables there is one case."""

    variables: tuple[int, ...]
    index: np.ndarray
    count: int

    @property
    def constant(self) -> bool:
        return not self.variables

    @cached_property
    def content(self) -> tuple[tuple[int, ...], bytes]:
        """The table without the names of its variables, to compare and to hash."""
        return self.index.shape, self.index.tobytes()

    def same(self, other: "Cases") -> bool:
        return self.variables == other.variables and np.array_equal(self.index, other.index)


CERTAIN = Cases((), np.zeros((), dtype=np.int32), 1)


@dataclass(frozen=True, eq=False)
class Variable:
    """A letter (with its index in the word), a table of earlier variables, or a switch between tables.

    `support` is the set of letters that the variable depends on, as a bit mask. A switch has `branches` instead of a
    table: branch k gives its value if the first parent has the value k.
    """

    size: int
    parents: tuple[int, ...]
    table: np.ndarray | None
    support: int
    letter: int | None = None
    branches: tuple[Cases, ...] = ()

    def of(self, values: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the value, from the values of the parents."""
        if self.table is not None:
            return self.table[tuple(values[u] for u in self.parents)]
        selector = values[self.parents[0]]
        result = np.zeros(selector.shape, dtype=np.int32)
        for number, branch in enumerate(self.branches):
            selected = np.flatnonzero(selector == number)
            if selected.size:
                result[selected] = branch.index[tuple(values[u][selected] for u in branch.variables)]
        return result


class TooManyCases(TooLarge):
    """A join has more assignments than are enumerated."""


@dataclass(eq=False)
class Network:
    """Variables, each after its parents. Variables with equal tables of equal parents are created once."""

    variables: list[Variable] = field(default_factory=list)
    letters: list[int] = field(default_factory=list)
    _variable_of_table: dict[tuple[tuple[int, ...], bytes], int] = field(default_factory=dict)
    _bases: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def letter(self, size: int) -> Cases:
        """Add the next letter of the word and return its cases."""
        check()
        index = len(self.letters)
        self.variables.append(Variable(size, (), None, 1 << index, index))
        self.letters.append(len(self.variables) - 1)
        return self._cases_of_variable(len(self.variables) - 1) if size > 1 else CERTAIN

    def cut(self, cases: Cases) -> Cases:
        """Return the same cases over a single variable, which is added if necessary."""
        if cases.constant:
            return cases
        if len(cases.variables) == 1 and cases.count == self.variables[cases.variables[0]].size:
            return cases
        key = cases.variables, cases.content[1]
        if key not in self._variable_of_table:
            support = 0
            for v in cases.variables:
                support |= self.variables[v].support
            self.variables.append(Variable(cases.count, cases.variables, cases.index, support))
            self._variable_of_table[key] = len(self.variables) - 1
        return self._cases_of_variable(self._variable_of_table[key])

    def switch(self, selector: Cases, branches: Sequence[Cases], size: int) -> Cases:
        """Add a variable whose value is that of the branch that the selector's case chooses.

        A branch depends only on its own variables, so the branches that are not chosen are never evaluated.
        """
        check()
        selector = self.cut(selector)
        key = selector.variables, b"".join(repr(b.variables).encode() + b.index.tobytes() for b in branches)
        if key not in self._variable_of_table:
            read = sorted({v for branch in branches for v in branch.variables})
            parents = (*selector.variables, *(v for v in read if v not in selector.variables))
            support = 0
            for v in parents:
                support |= self.variables[v].support
            self.variables.append(Variable(size, parents, None, support, branches=tuple(branches)))
            self._variable_of_table[key] = len(self.variables) - 1
        return self._cases_of_variable(self._variable_of_table[key])

    def join(self, parts: Sequence[Cases], *, most: int = MOST_ASSIGNMENTS) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return (basis, the case of each part in every assignment of the basis)."""
        check()
        needed = tuple(sorted({v for part in parts for v in part.variables}))
        basis = self.basis(needed)
        sizes = [self.variables[v].size for v in basis]
        total = prod(sizes)
        if total > most:
            raise TooManyCases(f"{total} assignments of {len(basis)} variables")
        values = {v: axis.ravel() for v, axis in zip(basis, np.indices(sizes, dtype=np.int32), strict=True)}
        case_of = (part.index[tuple(self._value(v, values) for v in part.variables)] for part in parts)
        return basis, [np.broadcast_to(cases, (total,)) for cases in case_of]

    def assignments(self, variables: set[int], most: int) -> int:
        """Return an upper bound on the number of assignments of a join; a basis is computed only above `most`."""
        total = self._assignments(variables)
        if total <= most or len(variables) > FEW_VARIABLES:
            return total
        return self._assignments(set(self.basis(tuple(sorted(variables)))))

    def disjoint(self, variables: Sequence[int]) -> bool:
        """Return whether no two of these variables depend on the same letter."""
        letters_used = 0
        for v in variables:
            support = self.variables[v].support
            if letters_used & support:
                return False
            letters_used |= support
        return True

    def cases(self, basis: tuple[int, ...], labels: np.ndarray) -> tuple[Cases, np.ndarray]:
        """Return (cases, the label of each case) from one label per assignment of the basis, in any shape.

        Variables on which the label does not depend are left out, and cases are numbered in the order in which they
        first occur, so that equal partitions have equal arrays.
        """
        if not basis:
            return CERTAIN, labels.reshape(1)
        table = labels.reshape([self.variables[v].size for v in basis])
        relevant = list(basis)
        for axis in range(len(basis) - 1, -1, -1) if len(basis) > 1 else ():
            before = (slice(None),) * axis
            if (table == table[(*before, slice(0, 1))]).all():
                table = table[(*before, 0)]
                del relevant[axis]
        class_labels, index = distinct_labels(table.ravel())
        if class_labels.size == 1:
            return CERTAIN, class_labels
        return Cases(tuple(relevant), index.reshape(table.shape), class_labels.size), class_labels

    def evaluate(self, words: np.ndarray, variables: Sequence[int]) -> dict[int, np.ndarray]:
        """Return the values of the variables, and of all below them, on words [batch, letters]."""
        values = {v: words[:, index] for index, v in enumerate(self.letters)}
        for v in self.below(variables):
            variable = self.variables[v]
            if variable.letter is None:
                values[v] = variable.of(values)
        return values

    def below(self, variables: Sequence[int]) -> list[int]:
        """Return the variables and everything that they depend on, in order."""
        visited: set[int] = set()
        waiting = list(variables)
        while waiting:
            v = waiting.pop()
            if v not in visited:
                visited.add(v)
                waiting += self.variables[v].parents
        return sorted(visited)

    def _cases_of_variable(self, v: int) -> Cases:
        size = self.variables[v].size
        return Cases((v,), np.arange(size, dtype=np.int32), size)

    def _value(self, v: int, values: dict[int, np.ndarray]) -> np.ndarray:
        waiting = [v]
        while v not in values:  # not recursive: a chain of variables can be as long as the run
            variable = self.variables[waiting[-1]]
            missing = [u for u in variable.parents if u not in values]
            waiting += missing
            if not missing:
                values[waiting.pop()] = variable.of(values)
        return values[v]

    def basis(self, variables: tuple[int, ...]) -> tuple[int, ...]:
        """Return variables that determine all of these, with few assignments."""
        if variables not in self._bases:
            self._bases[variables] = self._find_basis(variables)
        return self._bases[variables]

    def _find_basis(self, variables: tuple[int, ...]) -> tuple[int, ...]:
        """Search greedily for few assignments: drop determined variables, then replace children by their parents."""
        best = self._independent(set(variables))
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
            letters = {v for index, v in enumerate(self.letters) if support >> index & 1}
            if self._assignments(letters) < self._assignments(best):
                best = letters
        return tuple(sorted(best))

    def _assignments(self, variables: set[int]) -> int:
        return prod(self.variables[v].size for v in variables)

    def _independent(self, variables: set[int]) -> set[int]:
        """Return the variables that the others do not determine; only earlier variables determine a variable."""
        independent = set(variables)
        for v in sorted(variables, reverse=True):
            parents = self.variables[v].parents if self.variables[v].table is not None else ()
            if parents and all(self._follows(u, independent, {}, DEEPEST) for u in parents):
                independent.discard(v)
        return independent

    def _follows(self, v: int, basis: set[int], memo: dict[int, bool], depth: int) -> bool:
        if v in basis:
            return True
        if v not in memo:
            parents = self.variables[v].parents if self.variables[v].table is not None else ()
            memo[v] = (
                depth > 0
                and bool(parents)
                and min(parents) >= min(basis, default=0)
                and all(self._follows(u, basis, memo, depth - 1) for u in parents)
            )
        return memo[v]


Pattern = tuple[tuple[Any, ...], ...]


def pattern_of(network: Network, parts: Sequence[Cases]) -> tuple[tuple[int, ...], Pattern] | None:
    """Return (the variables in order, their tables with variables replaced by indices into this order).

    None if some variable is determined by the others.
    """
    varying = [part for part in parts if part.variables]
    if not varying:
        return (), tuple(() for _ in parts)
    if len(varying) == 1:
        variables = varying[0].variables
    else:
        variables = tuple(sorted({v for part in varying for v in part.variables}))
    if network.basis(variables) != variables:
        return None
    index_of = {v: i for i, v in enumerate(variables)}
    return variables, tuple(
        (tuple(index_of[v] for v in part.variables), part.content) if part.variables else () for part in parts
    )


@dataclass(frozen=True, eq=False)
class UnnamedCases:
    """Cases over variables given by their index in a pattern, and the results that were computed for each case."""

    variable_indices: tuple[int, ...]
    index: np.ndarray
    count: int
    results: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, cases: Cases, variables: Sequence[int], results: tuple[np.ndarray, ...]) -> "UnnamedCases | None":
        """Return None if the cases depend on other variables."""
        index_of = {v: i for i, v in enumerate(variables)}
        if not set(cases.variables) <= set(index_of):
            return None
        return cls(tuple(index_of[v] for v in cases.variables), cases.index, cases.count, results)

    def over(self, variables: Sequence[int]) -> Cases:
        if not self.variable_indices:
            return CERTAIN
        return Cases(tuple(variables[i] for i in self.variable_indices), self.index, self.count)


@dataclass(eq=False)
class ResultCache:
    """Results of earlier computations, by a key made of patterns and integers."""

    entries: dict[Any, UnnamedCases] = field(default_factory=dict)

    def store(self, key: Any, cases: Cases, variables: Sequence[int], results: tuple[np.ndarray, ...]) -> None:
        unnamed = UnnamedCases.of(cases, variables, results)
        if unnamed is not None:
            self.entries[key] = unnamed


class Shapes:
    """Finds variables of equal shape: each variable is represented by the first one of its shape."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._representatives: dict[int, int] = {}
        self._variable_of_signature: dict[Any, int] = {}

    def interval(self, v: int) -> tuple[int, int]:
        """Return the smallest interval [first, last) that contains every letter that the variable depends on."""
        support = self._network.variables[v].support
        return (support & -support).bit_length() - 1, support.bit_length()

    def representative(self, v: int) -> int:
        """Return the first variable of this shape that was examined."""
        if v not in self._representatives:
            for u in self._unvisited(v):
                self._representatives[u] = self._variable_of_signature.setdefault(self._signature(u), u)
        return self._representatives[v]

    def _unvisited(self, v: int) -> list[int]:
        """Return the variable and those below it that were not examined yet, parents first."""
        unvisited: set[int] = set()
        waiting = [v]
        while waiting:
            u = waiting.pop()
            if u not in unvisited and u not in self._representatives:
                unvisited.add(u)
                waiting += self._network.variables[u].parents
        return sorted(unvisited)

    def _signature(self, v: int) -> Any:
        variable = self._network.variables[v]
        if variable.letter is not None:
            return variable.size
        first, last = self.interval(v)
        parents = tuple((self._representatives[u], self.interval(u)[0] - first) for u in variable.parents)
        if variable.table is not None:
            return last - first, parents, variable.table.shape, variable.table.tobytes()
        index_of = {u: i for i, u in enumerate(variable.parents)}
        return last - first, parents, tuple(self._branch(branch, index_of) for branch in variable.branches)

    def _branch(self, branch: Cases, index_of: dict[int, int]) -> Any:
        return tuple(index_of[u] for u in branch.variables), branch.index.shape, branch.index.tobytes()
