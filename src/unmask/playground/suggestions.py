"""Subject → words that are worth trying: one for each answer, so that nobody has to guess how a word looks."""

from collections.abc import Iterator
from typing import Any

from unmask.errors import UnmaskError
from unmask.playground.subject import Subject
from unmask.problems.expression import ExpressionProblem

DRAWN = 12
LENGTHS = range(1, 17)
"""Where to look for an answer that no word of the length at hand has."""


def suggestions(subject: Subject) -> dict[str, Any]:
    """Words of the length that was typed if they have both answers, else also shorter or longer ones."""
    found: dict[str, dict[str, str]] = {}
    for length in (_length(subject), *LENGTHS):
        for word, right in _answered(subject, length):
            found.setdefault(right.split()[0].rstrip(","), {"word": word, "right": right})
        if len(found) > 1 or _fixed(subject):
            break
    return {"words": list(found.values())}


def _answered(subject: Subject, length: int) -> Iterator[tuple[str, str]]:
    """(word, what is right of it), of characters that can be typed, those of the problem first."""
    try:
        drawn = subject.some_words(DRAWN, length)
    except UnmaskError:  # a length that the problem has not
        return
    drawn += [_backwards(word) for word in drawn]  # the same letters, and often another answer
    typed = set(subject.question.problem)
    for word in sorted(drawn, key=lambda word: len(set(word) - typed)):
        if word == subject.question.word or not word or not (word.isascii() and word.isprintable()):
            continue
        try:
            right = subject.right(word, 1)
        except UnmaskError:
            continue
        if right is not None and not (right == "rejected" and isinstance(subject.problem, ExpressionProblem)):
            yield word, right


def _length(subject: Subject) -> int:
    try:
        return subject.length
    except UnmaskError:  # the word is too long
        return LENGTHS[-1]


def _fixed(subject: Subject) -> bool:
    return subject.problem is None or subject.compiler.length is not None


def _backwards(word: str) -> str:
    return " ".join(reversed(word.split())) if " " in word else word[::-1]
