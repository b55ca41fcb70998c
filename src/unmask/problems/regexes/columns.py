r"""Pattern text → the columns of the constructs that Python's parse tree keeps without a place.

The scan assumes a pattern that Python accepts, and follows its tokenizer: escapes, classes, comments,
verbose mode with its scopes, and `\1` against octal escapes.
"""

import re
from collections.abc import Iterator

BACK_REFERENCE, CONDITIONAL, LOOK_AHEAD, LOOK_BEHIND = (
    "back-reference",
    "conditional group",
    "look-ahead",
    "look-behind",
)
ATOMIC, POSSESSIVE = "atomic group", "possessive quantifier"

_OPENINGS = (
    ("(?P=", BACK_REFERENCE),
    ("(?(", CONDITIONAL),
    ("(?=", LOOK_AHEAD),
    ("(?!", LOOK_AHEAD),
    ("(?<=", LOOK_BEHIND),
    ("(?<!", LOOK_BEHIND),
    ("(?>", ATOMIC),
)
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_CLASS = re.compile(r"\[\^?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]", re.DOTALL)
_COMMENT = re.compile(r"\(\?#(?:\\.|[^)\\])*\)", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?!\})\d*(?:,\d*)?\})([+?]?)")
_ESCAPE = re.compile(r"\\(?:N\{[^}]*\}|0[0-7]{0,2}|[1-7][0-7][0-7]|([1-9][0-9]?)|.)", re.DOTALL)
_NAME = re.compile(r"\(\?(?:P<[^>]*>|P=[^)]*\)|\([^)]*\)|<?[=!]|>)|\(")


def column_of(pattern: str, construct: str, *, verbose: bool = False, occurrence: int = 0) -> int | None:
    """The column, from 1, of an occurrence (from 0) of a construct; None if there is none."""
    columns = [column for name, column in constructs(pattern, verbose=verbose) if name == construct]
    return columns[occurrence] if occurrence < len(columns) else None


def constructs(pattern: str, *, verbose: bool = False) -> Iterator[tuple[str, int]]:
    """(construct, column) in the order of the text; a quantifier stands where its sign does."""
    scopes = [verbose]
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            escape = _matched(_ESCAPE, pattern, at)
            if escape[1]:
                yield BACK_REFERENCE, at + 1
            at = escape.end()
        elif sign == "[":
            at = _matched(_CLASS, pattern, at).end()
        elif sign == "#" and scopes[-1]:
            end = pattern.find("\n", at)
            at = len(pattern) if end < 0 else end + 1
        elif sign == "(":
            name = next((name for opening, name in _OPENINGS if pattern.startswith(opening, at)), None)
            if name is not None:
                yield name, at + 1
            at = _opened(pattern, at, scopes)
        elif sign == ")":
            scopes.pop()
            at += 1
        elif quantifier := _QUANTIFIER.match(pattern, at):
            if quantifier[1] == "+":
                yield POSSESSIVE, at + 1
            at = quantifier.end()
        else:
            at += 1


def _opened(pattern: str, at: int, scopes: list[bool]) -> int:
    """Step over an opening parenthesis with all that belongs to it; keep the scopes of verbose mode."""
    if comment := _COMMENT.match(pattern, at):
        return comment.end()
    if flags := _FLAGS.match(pattern, at):
        verbose = (scopes[-1] or "x" in flags[1]) and "x" not in (flags[2] or "")
        if flags[3] == ")":
            scopes[-1] = verbose
        else:
            scopes.append(verbose)
        return flags.end()
    if not pattern.startswith("(?P=", at):
        scopes.append(scopes[-1])
    return _matched(_NAME, pattern, at).end()


def _matched(expression: re.Pattern[str], pattern: str, at: int) -> re.Match[str]:
    match = expression.match(pattern, at)
    assert match is not None, (pattern, at)
    return match
