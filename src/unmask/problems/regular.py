"""Problems whose accepted words form a regular language: an automaton says what there is to know, but for `outcome`.

The oracle of each is something other than its automaton.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Protocol

from unmask.errors import WordError, shortened
from unmask.problems.automata.automaton import Automaton
from unmask.problems.problem import Characters, Problem, Word
from unmask.problems.word_draws import is_plain, words_of


class RegularProblem(Problem, Protocol):
    """Give it a name, an automaton, an outcome and what is stored."""

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton; not built before it is asked for."""
        ...

    @property
    def letters(self) -> tuple[str, ...]:
        return self.automaton.tokens

    @property
    def characters(self) -> Characters | None:
        return self.automaton.characters

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Members, non-members, words one edit away from a member, and any."""
        return words_of(self.automaton, length, rng)


def symbols_of(word: Word, tokens: tuple[str, ...]) -> Sequence[str]:
    """A word as names of tokens: a plain string if every token is one character, else split at blanks."""
    if isinstance(word, str):
        word = word if is_plain(tokens) else word.split()
    unknown = next((name for name in word if name not in tokens), None)
    if unknown is not None:
        raise WordError(f"{shortened(unknown)!r} is not an input symbol; use {shortened(' '.join(tokens))}")
    return word
