"""A word as a person types it → token ids."""

import re
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from unmask.errors import WordError, shortened
from unmask.weights.model import Model

# Expressions as people type them ↔ symbols, for models whose input symbols are integers and + - * ( ) =.
#
#     (12+3)*-4        →  ( 12 + 3 ) * -4 =
#
# Blanks only separate; × and − are read as * and -; a missing = is added. A - is a sign if an operand must follow and a
# digit follows, else an operator.


MARKS = ("+", "-", "*", "(", ")", "=")

_INTEGER = re.compile(r"-?[0-9]+")
_SYMBOL = re.compile(r"[0-9]+|\S")
_SPELLINGS = str.maketrans("×−", "*-")


def is_integer(symbol: str) -> bool:
    """Return whether a symbol is written as an integer."""
    return _INTEGER.fullmatch(symbol) is not None


def reads_expressions(input_symbols: Sequence[str]) -> bool:
    """Return whether the input symbols are exactly integers and the six marks."""
    return set(MARKS) <= set(input_symbols) and all(s in MARKS or is_integer(s) for s in input_symbols)


def is_value(symbol: str, vocabulary: Sequence[str]) -> bool:
    """Return whether the symbol is a number, in a vocabulary that contains the marks."""
    return is_integer(symbol) and set(MARKS) <= set(vocabulary)


def split_expression(word: str, input_symbols: Sequence[str], length: int) -> list[str]:
    """Return the parts between blanks if they are the right number of symbols, else the symbols of the expression."""
    word = word.translate(_SPELLINGS)
    pieces = word.split()
    if len(pieces) == length and set(pieces) <= set(input_symbols):
        return pieces
    symbols: list[str] = []
    signed_at = -1  # where the digits after a sign start
    for match in _SYMBOL.finditer(word):
        if match.start() == signed_at:
            symbols[-1] += match[0]
        else:
            expects_operand = not symbols or symbols[-1] in ("+", "-", "*", "(")
            signs = match[0] == "-" and expects_operand and re.match("[0-9]", word[match.end() :])
            signed_at = match.end() if signs else -1
            symbols.append(match[0])
    return symbols if symbols[-1:] == ["="] else [*symbols, "="]


def blank_between(left: str, right: str, mask: str | None) -> bool:
    """Return whether a blank must separate two symbols: neither is a mark, and they are not both masks."""
    return left not in MARKS and right not in MARKS and not left == mask == right


def read_word(model: Model, word: str | Sequence[str]) -> list[int]:
    """Return the token ids of a word: a string (see `spell`) or a sequence of input symbols."""
    symbols = spell(model, word) if isinstance(word, str) else list(word)
    _check_symbols(model, symbols)
    if len(symbols) != model.length:
        if reads_expressions(model.input_symbols):
            raise WordError(
                f"the model reads expressions of {model.length} symbols, = among them, this one has {len(symbols)}; "
                "type one of the shape that the model was compiled for"
            )
        raise WordError(
            f"the model reads words of length {model.length}, this one has length {len(symbols)}; "
            f"use another word or compile with --length {len(symbols)}"
        )
    return [model.token[s] for s in symbols]


def read_words(model: Model, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray, dict[int, WordError]]:
    """Return (token ids [readable words, N], the indices of these words, the errors of the others)."""
    ranges = _ranges(model)
    fitting = [] if ranges is None else [i for i, word in enumerate(words) if len(word) == model.length]
    points = np.frombuffer("".join(words[i] for i in fitting).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    tokens = np.zeros((0, model.length), dtype=np.int64)
    which, errors = np.array(fitting, dtype=np.int64), {}
    if ranges is not None:
        first, last, token = ranges
        range_index = np.searchsorted(first, points, side="right") - 1
        is_readable = (range_index >= 0) & (points <= last[range_index])
        whole = is_readable.reshape(-1, model.length).all(axis=1) if model.length else np.ones(len(fitting), dtype=bool)
        tokens, which = token[range_index].reshape(len(fitting), model.length)[whole], which[whole]
    unread = np.ones(len(words), dtype=bool)
    unread[which] = False
    read: dict[int, list[int]] = {}
    for i in np.flatnonzero(unread).tolist():
        try:
            read[i] = read_word(model, words[i])
        except WordError as error:
            errors[i] = error
    if read:
        rows = np.array(list(read.values()), dtype=np.int64).reshape(len(read), model.length)
        tokens, which = np.concatenate([tokens, rows]), np.concatenate([which, np.array(list(read), dtype=np.int64)])
        order = np.argsort(which)
        tokens, which = tokens[order], which[order]
    return tokens, which, errors


def _ranges(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return sorted ranges (first, last, token) of code points, or None if words are not read letter by letter."""
    if model.characters is not None:
        ranges = [(first, last, symbol) for first, last, symbol in model.characters if symbol in model.input_symbols]
    elif not reads_expressions(model.input_symbols) and all(len(s) == 1 for s in model.input_symbols):
        ranges = sorted((ord(s), ord(s), s) for s in model.input_symbols)
    else:
        return None
    if not ranges:
        return None
    first, last, symbols = zip(*ranges, strict=True)
    return np.array(first), np.array(last), np.array([model.token[s] for s in symbols])


def spell(model: Model, word: str) -> list[str]:
    """Return the symbols of a string: by the folder's character ranges, else one per letter, else split at blanks.

    A model of expressions also reads an expression as a person types it.
    """
    if model.characters is not None:
        symbols = {c: _symbol_of(model.characters, c, word.index(c)) for c in dict.fromkeys(word)}
        return [symbols[c] for c in word]
    if reads_expressions(model.input_symbols):
        return split_expression(word, model.input_symbols, model.length)
    if all(len(s) == 1 for s in model.input_symbols):
        return list(word)
    return word.split()


def join_symbols(model: Model, symbols: Sequence[str]) -> str:
    """Return symbols as one string: joined if all are single characters, else separated by blanks.

    In a model of expressions, blanks separate only numbers.
    """
    if reads_expressions(model.input_symbols):
        pairs = zip(["(", *symbols], symbols, strict=False)
        return "".join(f"{' ' * blank_between(before, symbol, model.mask)}{symbol}" for before, symbol in pairs)
    return ("" if all(len(s) == 1 for s in model.vocabulary) else " ").join(symbols)


def _symbol_of(ranges: tuple[tuple[int, int, str], ...], character: str, position: int) -> str:
    code = ord(character)
    i = bisect_right(ranges, code, key=lambda r: r[0]) - 1
    if i < 0 or ranges[i][1] < code:
        raise WordError(
            f"the character {character!r} at position {position} of the word has no token in this model, or more than "
            "one; use another"
        )
    return ranges[i][2]


def _check_symbols(model: Model, symbols: list[str]) -> None:
    letters = set(model.input_symbols)
    for i, symbol in enumerate(symbols):
        if symbol not in letters:
            examples = " ".join(model.input_symbols[:12]) + (" …" if len(model.input_symbols) > 12 else "")
            raise WordError(
                f"{shortened(symbol)!r} at position {i} of the word is not an input symbol; use {examples or 'none'}"
            )
