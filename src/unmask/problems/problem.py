"""Problem: what is to be decided about words, and the interface that the rest of the package uses.

Only `name`, `letters`, `outcome` and `stored` must be given; everything else has a default. A problem whose words
form a regular language gives an automaton instead of letters (`regular_problems`).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Protocol

import msgspec

from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.groups_and_monoids import PermutationGroup
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.context_free_grammars import Grammar
from unmask.problems.expression_shapes import ExpressionShape
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.system import System

# Outcome: the answer for a word, given by a problem (the correct answer) or by the run of a model.


@dataclass(frozen=True)
class Outcome:
    """One of four things, and their text:

    bits        output bits, the last of them the answer     accepted; rejected; accepted, outputs 011
    value       a number, as it is written                   gives 19
    undecided   symbols that are neither                     undecided: q3 m
    error       why the answer is missing                   error: row 4 attends to nothing
    """

    bits: tuple[bool, ...] = ()
    value: str | None = None
    undecided: str | None = None
    error: str | None = None

    @classmethod
    def of_bits(cls, bits: Sequence[bool | int]) -> "Outcome":
        return cls(bits=tuple(bool(bit) for bit in bits))

    @property
    def accepted(self) -> bool | None:
        """The answer; a word that has a value is accepted. None if the outcome is undecided or an error."""
        return self.bits[-1] if self.bits else True if self.value is not None else None

    def last(self, outputs: int) -> "Outcome":
        """Return the outcome with its last `outputs` bits, or the last `outputs` symbols of its value."""
        value = None if self.value is None else " ".join(self.value.split(" ")[-outputs:])
        return Outcome(self.bits[-outputs:], value, self.undecided, self.error)

    def __str__(self) -> str:
        if self.error is not None:
            return f"error: {self.error}"
        if self.undecided is not None:
            return f"undecided: {self.undecided}"
        if self.value is not None:
            return f"gives {self.value}"
        answer = "accepted" if self.accepted else "rejected"
        return f"{answer}, outputs {''.join(str(int(bit)) for bit in self.bits)}" if len(self.bits) > 1 else answer


ACCEPTED, REJECTED = Outcome((True,)), Outcome((False,))


# Stored problem: the JSON object {"kind": …, fields} under `problem` in a model folder. It names no file.


class Stored(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """The fields of one kind of problem: exactly these, of these types."""

    def problem(self) -> "Problem":
        """Return the problem that was stored."""
        raise NotImplementedError


# Specification: what a proof compares a model of one length with. It shares nothing with what is compiled.
#
# | specification   | gives for a word                                     |
# |-----------------|------------------------------------------------------|
# | Automaton       | whether it is accepted                               |
# | LetteredCircuit | the output bits, the last of them the answer         |
# | Shape           | its value, or that it does not have this shape       |
# | Recurrences     | the values of the answer slots                       |
# | Grammar         | whether it is derived                                |
# | DecisionGraph   | its outputs, as returned by a function               |
#
# `verification/words/deciders.py` turns each of them into gates.


@dataclass(frozen=True, eq=False)
class LetteredCircuit:
    """A circuit whose input i is letter i of the word: letters[0] stands for 0, letters[1] for 1."""

    circuit: Circuit
    letters: tuple[str, str]


@dataclass(frozen=True, eq=False)
class Recurrences:
    """A system of recurrences at one length, as its interpreter computes it."""

    interpreter: Interpreter


@dataclass(frozen=True, eq=False)
class DecisionGraph:
    """levels[i][node][letter] is a node of the next level, or a leaf after the last level; node 0 is the root.

    A leaf is a tuple of outputs: accept (True), reject (False), or the name of another symbol.
    """

    levels: list[list[tuple[int, ...]]]
    leaves: list[tuple[bool | str, ...]]


Specification = Automaton | LetteredCircuit | ExpressionShape | Recurrences | Grammar | DecisionGraph


# Words to try: an endless sequence, the same for the same seed.


def is_plain(letters: Sequence[str]) -> bool:
    """Return whether a word is a plain string, because every letter is one character."""
    return all(len(letter) == 1 for letter in letters)


def words_over(letters: Sequence[str], length: int, rng: random.Random, *, gap: str | None = None) -> Iterator[str]:
    """Yield random words over the letters, written with `gap` between the letters."""
    gap = ("" if is_plain(letters) else " ") if gap is None else gap
    while True:
        # Half of the words consist almost entirely of one letter, because some answers are rare among uniform words:
        # in a random graph with many edges every path exists.
        favoured, rare = rng.choice(letters), isqrt(length) + 1
        even = bool(rng.getrandbits(1))
        letters_drawn = (rng.choice(letters) if even or rng.randrange(rare) == 0 else favoured for _ in range(length))
        yield gap.join(letters_drawn)


def words_of(automaton: Automaton, length: int, rng: random.Random) -> Iterator[str]:
    """Yield in turn a member, a non-member, a word one edit away from a member, and a random word.

    Both answers occur even if one of them is rare. A random word replaces a member or non-member that does not exist.
    """

    def random_word() -> str:
        return automaton.spelled([rng.randrange(len(automaton.tokens)) for _ in range(length)], rng=rng)

    def word_with_answer(*, accepted: bool, edited: bool = False) -> str:
        word = automaton.random_word(length, accepted=accepted, rng=rng)
        if word is None:
            return random_word()
        return one_edit_away(word, random_word(), length, rng) if edited else word

    while True:
        yield word_with_answer(accepted=True)
        yield word_with_answer(accepted=False)
        yield word_with_answer(accepted=True, edited=True)
        yield random_word()


def one_edit_away(word: str, other: str, length: int, rng: random.Random) -> str:
    """Return the word with one symbol replaced by the symbol of another word at the same index."""
    plain = len(word) == length
    symbols, other_symbols = (list(word), list(other)) if plain else (word.split(), other.split())
    if symbols:
        index = rng.randrange(len(symbols))
        symbols[index] = other_symbols[index]
    return ("" if plain else " ").join(symbols)


Word = str | Sequence[str]
Characters = tuple[tuple[int, int, int], ...]
"""(first, last, letter) ranges of code points that cover all of Unicode; a letter is its number."""


@dataclass(frozen=True, eq=False)
class Words:
    """A number of words, and an iterator over them."""

    count: int
    each: Iterator[str]


class Problem(Protocol):
    """A question about words, with an oracle that is independent of everything compiled."""

    @property
    def name(self) -> str:
        """The PROBLEM string."""
        ...

    @property
    def letters(self) -> tuple[str, ...]:
        """The symbols of the input alphabet, of which words consist."""
        ...

    def outcome(self, word: Word) -> Outcome:
        """The correct answer for a word, computed in the simplest possible way."""
        ...

    def stored(self) -> Stored | None:
        """What a folder stores of the problem; None if it cannot be restored."""
        ...

    @property
    def characters(self) -> Characters | None:
        """The letter of each character if words are arbitrary text; None if a word is a list of letters."""
        return None

    @property
    def length(self) -> int | None:
        """The length of all words if it is fixed."""
        return None

    def has_length(self, length: int) -> bool:
        """Return whether there are words of this length."""
        return self.length in (None, length)

    @property
    def automaton(self) -> Automaton | None:
        """The minimal automaton of the accepted words if they form a regular language."""
        return None

    @property
    def system(self) -> System | None:
        """The system of recurrences that is compiled, if the problem is defined by one."""
        return None

    @property
    def group(self) -> PermutationGroup | None:
        """The group, if this is the word problem of a group."""
        return None

    @property
    def accepts(self) -> str | None:
        """A phrase for a model card that says which words are accepted; None if the name of the problem says it."""
        return None

    @property
    def has_answers(self) -> bool:
        """Return whether words have a correct answer at all."""
        return True

    @property
    def why_no_answers(self) -> str:
        """An error message for a problem that has no answers, with what to do."""
        return f"{self.name} solves no problem to compare with; give one with --against"

    def answer_symbols(self, length: int) -> frozenset[str]:  # noqa: ARG002
        """The symbols besides accept and reject that are valid answers."""
        return frozenset()

    def outputs(self, length: int) -> int:  # noqa: ARG002
        """The number of output bits for a word of this length."""
        return 1

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """An endless sequence of words to try, with both answers if both occur."""
        return words_over(self.letters, length, rng)

    def every_word(self, length: int) -> Words | None:  # noqa: ARG002
        """The words that an exhaustive check tries if it cannot try all words over the letters."""
        return None

    def specification(self, length: int) -> Specification | None:  # noqa: ARG002
        """What a proof compares a model of this length with, or None. It shares nothing with what is compiled."""
        return self.automaton

    def symbols_in(self, word: str) -> int:
        """The number of letters of a word as it is typed."""
        return len(word) if self.characters is not None or is_plain(self.letters) else len(word.split())

    def to_json(self) -> dict[str, Any]:
        """The JSON object that a folder stores; {} if it stores none."""
        stored = self.stored()
        return {} if stored is None else msgspec.to_builtins(stored)
