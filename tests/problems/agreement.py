"""Compare an automaton with an oracle, word by word."""

import itertools
import random
import re
import warnings
from collections.abc import Callable, Iterable

from unmask.problems.automata.automaton import Automaton

# One character of each kind that `re` distinguishes: newline, blanks, digits, letters with unusual case partners
# (KELVIN SIGN, LONG S, dotted I, sharp s, final sigma, titlecase dz), combining, non-BMP, lone surrogate.
STRANGE = "\n\r\x1c\x85 0٣²a_Kk\u212asſİiıßẞσςǅ\u0345é\u200b𐐀𐐨𝟘\ud800\U0010ffff"


def disagreement(automaton: Automaton, oracle: Callable[[str], bool], words: Iterable[str]) -> str | None:
    """Return the first word on which the two differ, or None."""
    return next((word for word in words if automaton.accepts(word) != oracle(word)), None)


def fullmatch(pattern: str, *, flags: int = re.ASCII) -> Callable[[str], bool]:
    """`re` itself as an oracle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `[[` may get another meaning in a later version of Python
        compiled = re.compile(pattern, flags)
    return lambda word: compiled.fullmatch(word) is not None


def all_words(letters: str, longest: int) -> Iterable[str]:
    """Yield every word over some letters up to a length, short words first."""
    for length in range(longest + 1):
        yield from map("".join, itertools.product(letters, repeat=length))


def sampled_words(automaton: Automaton, rng: random.Random, *, count: int, longest: int) -> Iterable[str]:
    """Yield members, words one edit away from a member, non-members, and words of unusual characters."""
    letters = [automaton.representative(t, rng=rng) for t in range(len(automaton.tokens))] + list(STRANGE)
    lengths = [n for n in range(longest + 1) if automaton.count(n)] or [0]
    for _ in range(count):
        member = automaton.random_word(rng.choice(lengths), accepted=True, rng=rng) or ""
        yield member
        yield edited(member, letters, rng)
        yield automaton.random_word(rng.randint(0, longest), accepted=False, rng=rng) or ""
        yield "".join(rng.choices(letters, k=rng.randint(0, 6)))


def edited(word: str, letters: list[str], rng: random.Random) -> str:
    """Return the word with one character dropped, inserted, replaced or swapped with the next."""
    at = rng.randint(0, len(word))
    letter = rng.choice(letters)
    return rng.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
        ]
    )
