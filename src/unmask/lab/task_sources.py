"""Problem → symbols, letters and answers of a task: the monoid of a regular problem, or the values of a program."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Protocol

import numpy as np

from unmask.errors import ProblemError, shortened
from unmask.limits import check
from unmask.problems.automata.groups_and_monoids import PermutationGroup
from unmask.problems.catalogue import CATALOGUE, parse_problem
from unmask.problems.program_problems import ProgramProblem
from unmask.programs.regular.monoid_codes import elements_of, products_of
from unmask.recurrences.system import is_truth, symbol_names

# Source: what the symbols of a task are, which of them are letters, and what the answer to a word is.


class TaskSource(Protocol):
    """An algebra or a program. Symbols are numbered from 0; a word is an array of the numbers of its letters."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all symbols that a row may hold, except mask and pad."""
        ...

    @property
    def letters(self) -> np.ndarray:
        """Return the symbols from which words are drawn."""
        ...

    @property
    def verdicts(self) -> dict[str, bool]:
        """Return the names that mean accepted, and those that mean rejected."""
        ...

    def answers(self, words: np.ndarray) -> np.ndarray:
        """Return the answers, [batch, answers]."""
        ...

    def chance(self, length: int) -> float:
        """Return how often the best constant guess is right for a word of uniform letters."""
        ...


def unused_name(name: str, names: Collection[str]) -> str:
    """Return a name that differs from all of these."""
    while name in names:
        name += "'"
    return name


# Words by number: word i of a seed is the same on every machine, whatever was drawn before it.
#
# Different streams keep training words and evaluation words apart.


class Stream(IntEnum):
    """The purpose of a draw."""

    training = 0
    watching = 1
    judging = 2
    steps = 3
    masks = 4
    guessing = 5


def generator(seed: int, stream: Stream, number: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, (number << 4) + stream]))


def words(source: TaskSource, count: int, length: int, seed: int, stream: Stream, number: int = 0) -> np.ndarray:
    """Return [count, length] uniform letters, as symbols."""
    numbers = generator(seed, stream, number).integers(0, len(source.letters), size=(count, length))
    return source.letters[numbers].astype(np.int64)


# Problem → Algebra: the finite monoid in which the letters of a word are multiplied.


IDENTITY = 0
REGULAR = ("regex", "dfa", "group")
"""The problems that a config may name. A config is data and may come from others, so it must not run code."""


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
        """Return how often the best constant guess is right for a word of uniform letters; 1/|G| if they are all G."""
        law = np.zeros(self.size)
        law[self.identity] = 1.0
        for _ in range(length):
            law = np.mean([np.bincount(self.table[:, a], law, self.size) for a in self.letters], axis=0)
        return float(law.max())

    def product(self, words: np.ndarray) -> np.ndarray:
        """Return the product of every row of elements, from left to right."""
        product = np.full(len(words), self.identity)
        for column in words.T:
            product = self.table[product, column]
        return product

    def answers(self, words: np.ndarray) -> np.ndarray:
        return self.product(words)[:, None]


def algebra_of(problem: str) -> Algebra:
    """Return the algebra of a regular problem; its elements have the same names as in compiled models."""
    prefix = problem.partition(":")[0] if ":" in problem else ""
    irregular = {row.prefix for row in CATALOGUE}.difference(REGULAR)  # refused before it is read
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
    """Return [order, order]: (i · j)(x) = j(i(x))."""
    number = {row.tobytes(): i for i, row in enumerate(group.elements)}
    images = group.elements[:, group.elements]  # [j, i, points]
    return np.array([[number[row.tobytes()] for row in rows] for rows in images], dtype=np.int64).T


# The user's own program as the source of a task: its values are the symbols, its interpreter gives the answers.


GUESSED = 1024  # words from which the best constant guess is estimated
TRUTH = {"1": True, "0": False}


@dataclass(frozen=True, eq=False)
class ProgramSource(TaskSource):
    """The values of a program as symbols: its letters first, truth values last."""

    problem: ProgramProblem

    @cached_property
    def _value_of_name(self) -> dict[str, object]:
        """Return the mapping from names to values."""
        names = {name: value for value, name in symbol_names(self.problem.system).items()}
        if any(is_truth(value) for group in self.problem.system.groups for value in group.values):
            for name, value in TRUTH.items():
                names[unused_name(name, names)] = value
        return names

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._value_of_name)

    @cached_property
    def symbol(self) -> dict[object, int]:
        """Return the number of a value."""
        return {value: number for number, value in enumerate(self._value_of_name.values())}

    @cached_property
    def letters(self) -> np.ndarray:
        return np.array([self.symbol[letter] for letter in self.problem.letters])

    @property
    def verdicts(self) -> dict[str, bool]:
        return {name: value for name, value in self._value_of_name.items() if isinstance(value, bool)}

    def spelled(self, word: np.ndarray) -> list[str]:
        return [self.names[number] for number in word]

    def answers(self, words: np.ndarray) -> np.ndarray:
        interpreter = self.problem.interpreter(words.shape[1])
        answers = []
        for word in words:
            check()
            answers.append([self.symbol[value] for value in interpreter.run(self.spelled(word)).answers])
        return np.array(answers, dtype=np.int64)

    def chance(self, length: int) -> float:
        """Estimate the chance as the share of the most common answer among GUESSED words; there is no formula."""
        guessed_words = words(self, GUESSED, length, 0, Stream.guessing)
        _, counts = np.unique(self.answers(guessed_words), axis=0, return_counts=True)
        return float(counts.max() / GUESSED)
