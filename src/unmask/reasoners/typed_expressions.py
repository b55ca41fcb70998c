"""Expressions as people type them ↔ symbols, for models whose input symbols are integers and + - * ( ) =.

    (12+3)*-4        →  ( 12 + 3 ) * -4 =

Blanks separate and mean nothing else; × and − stand for * and -; a missing = is added. A - is a sign where an operand
must follow and a digit does, an operator elsewhere.
"""

import re
from collections.abc import Sequence

MARKS = ("+", "-", "*", "(", ")", "=")

_INTEGER = re.compile(r"-?[0-9]+")
_SYMBOL = re.compile(r"[0-9]+|\S")
_SPELLINGS = str.maketrans("×−", "*-")


def is_integer(symbol: str) -> bool:
    return _INTEGER.fullmatch(symbol) is not None


def reads_expressions(input_symbols: Sequence[str]) -> bool:
    """Are the input symbols integers and the six marks, and nothing else?"""
    return set(MARKS) <= set(input_symbols) and all(s in MARKS or is_integer(s) for s in input_symbols)


def is_value(symbol: str, vocabulary: Sequence[str]) -> bool:
    """Is the symbol a number, in a vocabulary that has the marks?"""
    return is_integer(symbol) and set(MARKS) <= set(vocabulary)


def spelled(word: str, input_symbols: Sequence[str], length: int) -> list[str]:
    """The symbols of a word: those between its blanks if they are the right number, else those of an expression."""
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
    """Must a blank keep two symbols apart? Not beside a mark, and not between two masks."""
    return left not in MARKS and right not in MARKS and not left == mask == right
