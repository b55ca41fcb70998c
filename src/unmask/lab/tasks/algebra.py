"""Problem → Algebra: the finite monoid in which the letters of a word are multiplied."""

from dataclasses import dataclass

import numpy as np

from unmask.errors import ProblemError, shortened
from unmask.problems.automata.permutation_group import PermutationGroup
from unmask.problems.catalogue import CATALOGUE, parse_problem
from unmask.programs.regular.products.elements import elements_of, products_of

IDENTITY = 0
REGULAR = ("regex", "dfa", "group")
"""What a config may name: it is data, and comes with folders from elsewhere."""


@dataclass(frozen=True, eq=False)
class Algebra:
    """table[i, j] = i · j, first i; element 0 is the identity. Letter a of the problem is the element letters[a]."""

    problem: str
    names: tuple[str, ...]
    table: np.ndarray
    letters: np.ndarray
    accepting: np.ndarray

    @property
    def size(self) -> int:
        return len(self.table)

    @property
    def identity(self) -> int:
        return IDENTITY

    @property
    def verdicts(self) -> dict[str, bool]:
        return {name: bool(yes) for name, yes in zip(self.names, self.accepting, strict=True)}

    def chance(self, length: int) -> float:
        """How often the best constant guess is right about a word of uniform letters; 1/|G| if they are all of G."""
        law = np.zeros(self.size)
        law[self.identity] = 1.0
        for _ in range(length):
            law = np.mean([np.bincount(self.table[:, a], law, self.size) for a in self.letters], axis=0)
        return float(law.max())

    def product(self, words: np.ndarray) -> np.ndarray:
        """The product of every row of elements, from left to right."""
        at = np.full(len(words), self.identity)
        for column in words.T:
            at = self.table[at, column]
        return at

    def answers(self, words: np.ndarray) -> np.ndarray:
        return self.product(words)[:, None]


def algebra_of(problem: str) -> Algebra:
    """The algebra of a regular problem; its elements have the names that they have in compiled models."""
    prefix = problem.partition(":")[0] if ":" in problem else ""
    irregular = {row.prefix for row in CATALOGUE}.difference(REGULAR)  # not even read
    source = None if prefix in irregular else parse_problem(problem)
    automaton = None if source is None else source.automaton
    if source is None or automaton is None:
        raise ProblemError(
            f"the lab cannot train on {shortened(problem)}, which is not regular; use regex:, dfa:, group: or program:"
        )
    products, monoid = products_of(automaton, source.group), elements_of(automaton, source.group)
    if isinstance(monoid, PermutationGroup):
        table, accepting = _group_table(monoid), np.arange(monoid.order) == 0
    else:
        table, accepting = monoid.product_table, monoid.accepting
    return Algebra(source.name, products.element_names, np.array(table), np.array(products.letters), accepting)


def _group_table(group: PermutationGroup) -> np.ndarray:
    """[order, order]: (i · j)(x) = j(i(x))."""
    number = {row.tobytes(): i for i, row in enumerate(group.elements)}
    images = group.elements[:, group.elements]  # [j, i, points]
    return np.array([[number[row.tobytes()] for row in rows] for rows in images], dtype=np.int64).T
