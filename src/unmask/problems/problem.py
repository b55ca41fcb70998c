"""Problem: what is to be decided about words, and all that the rest of the package may ask about it.

Only `name`, `letters`, `outcome` and `stored` must be given; everything else has a default. A problem whose words
form a regular language gives an automaton instead of letters (`regular.py`).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.permutation_group import PermutationGroup
from unmask.problems.outcome import Outcome
from unmask.problems.specification import Specification
from unmask.problems.stored import Stored
from unmask.problems.word_draws import is_plain, words_over

Word = str | Sequence[str]
Characters = tuple[tuple[int, int, int], ...]
"""(first, last, letter) ranges of code points that cover all of Unicode; a letter is its number."""


@dataclass(frozen=True, eq=False)
class Words:
    """Words, and how many there are."""

    count: int
    each: Iterator[str]


class Problem(Protocol):
    """What is to be decided about a word, with an oracle that nothing compiled can influence."""

    @property
    def name(self) -> str:
        """The PROBLEM string."""
        ...

    @property
    def letters(self) -> tuple[str, ...]:
        """What words are made of: the symbols of the input alphabet."""
        ...

    def outcome(self, word: Word) -> Outcome:
        """What is right about a word, computed in the plainest possible way."""
        ...

    def stored(self) -> Stored | None:
        """What a folder keeps of the problem; None if there is nothing to come back to."""
        ...

    @property
    def characters(self) -> Characters | None:
        """Which letter a character stands for, where a word is any text at all; else a word is a list of letters."""
        return None

    @property
    def length(self) -> int | None:
        """The length of all words, where they have but one."""
        return None

    def has_length(self, length: int) -> bool:
        """Are there words of this length?"""
        return self.length in (None, length)

    @property
    def automaton(self) -> Automaton | None:
        """The least automaton of the accepted words, where they form a regular language."""
        return None

    @property
    def group(self) -> PermutationGroup | None:
        """The group whose word problem it is, where it is one."""
        return None

    @property
    def accepts(self) -> str | None:
        """Which words are accepted, in a sentence for a card; None where the name says it."""
        return None

    @property
    def has_answers(self) -> bool:
        """Is there anything right or wrong about a word?"""
        return True

    @property
    def why_no_answers(self) -> str:
        """What to do about a problem that has no answers."""
        return f"{self.name} solves no problem to compare with; give one with --against"

    def answer_symbols(self, length: int) -> frozenset[str]:  # noqa: ARG002
        """Which symbols an answer may be, besides accept and reject."""
        return frozenset()

    def outputs(self, length: int) -> int:  # noqa: ARG002
        """How many output bits a word of this length has."""
        return 1

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Words to try, without end, with both answers among them where both occur."""
        return words_over(self.letters, length, rng)

    def every_word(self, length: int) -> Words | None:  # noqa: ARG002
        """The words that an exhaustive check tries, where it cannot be all words over the letters."""
        return None

    def specification(self, length: int) -> Specification | None:  # noqa: ARG002
        """What a proof holds a model of this length against; None if there is none. Not what is compiled."""
        return self.automaton

    def symbols_in(self, word: str) -> int:
        """How many letters a word has, as it is typed."""
        return len(word) if self.characters is not None or is_plain(self.letters) else len(word.split())

    def to_json(self) -> dict[str, Any]:
        """The JSON object that a folder keeps; {} if it keeps none."""
        stored = self.stored()
        return {} if stored is None else msgspec.to_builtins(stored)
