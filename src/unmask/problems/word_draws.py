"""Words to try: drawn without end, the same for the same seed."""

import random
from collections.abc import Iterator, Sequence
from math import isqrt

from unmask.problems.automata.automaton import Automaton


def is_plain(letters: Sequence[str]) -> bool:
    """Is a word a plain string, because every letter is one character?"""
    return all(len(letter) == 1 for letter in letters)


def words_over(letters: Sequence[str], length: int, rng: random.Random, *, gap: str | None = None) -> Iterator[str]:
    """Any words over the letters, written with `gap` between them."""
    gap = ("" if is_plain(letters) else " ") if gap is None else gap
    while True:
        # half of the words are nearly all one letter: a random graph of many edges has every path
        favoured, rare = rng.choice(letters), isqrt(length) + 1
        even = bool(rng.getrandbits(1))
        drawn = (rng.choice(letters) if even or rng.randrange(rare) == 0 else favoured for _ in range(length))
        yield gap.join(drawn)


def words_of(automaton: Automaton, length: int, rng: random.Random) -> Iterator[str]:
    """In turn a member, a non-member, a word one edit away from a member, and any word.

    So both answers occur even where one of them is rare; where there is none of a kind, any word stands in for it.
    """

    def any_word() -> str:
        return automaton.spelled([rng.randrange(len(automaton.tokens)) for _ in range(length)], rng=rng)

    def drawn(*, accepted: bool, edited: bool = False) -> str:
        word = automaton.random_word(length, accepted=accepted, rng=rng)
        if word is None:
            return any_word()
        return one_edit_away(word, any_word(), length, rng) if edited else word

    while True:
        yield drawn(accepted=True)
        yield drawn(accepted=False)
        yield drawn(accepted=True, edited=True)
        yield any_word()


def one_edit_away(word: str, other: str, length: int, rng: random.Random) -> str:
    """The word with one symbol taken from another word."""
    plain = len(word) == length
    symbols, others = (list(word), list(other)) if plain else (word.split(), other.split())
    if symbols:
        place = rng.randrange(len(symbols))
        symbols[place] = others[place]
    return ("" if plain else " ").join(symbols)
