"""Letters: what the words of a problem are made of, and what a model reads for each.

    letter (as it is typed)  ↦  input symbol of the model, or None: the model cannot read it

One character stands for all those that neither side of a comparison tells apart. Which letters there are is said by
the problem, never by the model: a word that a model cannot read is a word of the problem all the same.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import product

from unmask.problems.problem import Words, is_plain
from unmask.reasoners.typed_words import reads_expressions
from unmask.weights.model import Model

Ranges = Sequence[tuple[int, int, Hashable]]
"""Code points from first to last, and the class they belong to, in increasing order."""


def read_letters(model: Model, letters: Sequence[str], characters: Ranges | None) -> dict[str, str | None]:
    """Letter → the symbol that the model reads, or None.

    Words are made of `letters`, or of `characters` where words are any text: then a letter for every class of these
    and every symbol of the model that meet in a character.
    """
    if characters is None:
        return {letter: symbol_of(model, letter) for letter in letters}
    shown: dict[tuple[Hashable, str | None], str] = {}
    readable = _readable(model)
    for low, high, kind in characters:
        for start, end, symbol in _within(readable, low, high):
            candidates = (chr(c) for c in range(start, min(end, start + 128) + 1))
            nice = next((c for c in candidates if c.isprintable() and not c.isspace()), None)
            shown.setdefault((kind, symbol), nice or chr(start))
    order = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    return {shown[key]: key[1] for key in sorted(shown, key=lambda key: order.get(key[1] or "", len(order)))}


def symbol_of(model: Model, letter: str) -> str | None:
    """The input symbol that a model reads for a letter, if it reads one."""
    if model.characters is None:
        return letter if letter in model.input_symbols else None
    if len(letter) != 1:
        return None
    return next((symbol for first, last, symbol in model.characters if first <= ord(letter) <= last), None)


def words_of_letters(letters: Sequence[str], length: int, gap: str) -> Words:
    """All words of a length over the letters, in order."""
    return Words(len(letters) ** length, (gap.join(word) for word in product(letters, repeat=length)))


def gap_between(letters: Sequence[str], characters: Ranges | None) -> str:
    """What keeps letters apart: nothing where each is a character, unless digits side by side would be one number."""
    return "" if characters is not None or (is_plain(letters) and not reads_expressions(letters)) else " "


def _readable(model: Model) -> list[tuple[int, int, str]]:
    """The characters that a model reads in any text, and their symbols, in increasing order."""
    if model.characters is not None:
        return list(model.characters)
    if not is_plain(model.input_symbols) or reads_expressions(model.input_symbols):
        return []
    return [(ord(symbol), ord(symbol), symbol) for symbol in sorted(model.input_symbols)]


def _within(ranges: Sequence[tuple[int, int, str]], low: int, high: int) -> Iterator[tuple[int, int, str | None]]:
    """The parts of [low, high] that the ranges cut it into; what they leave out has no name."""
    for start, end, name in ranges:
        if end < low or start > high:
            continue
        if low < start:
            yield low, start - 1, None
        yield max(low, start), min(high, end), name
        low = end + 1
    if low <= high:
        yield low, high, None
