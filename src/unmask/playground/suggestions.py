"""Subject → words that are worth trying: one for each answer, so that nobody has to guess how a word looks."""

from contextlib import suppress
from typing import Any

from unmask.errors import UnmaskError
from unmask.playground.subject import Subject
from unmask.problems.outcome import Outcome

DRAWN = 12
LENGTHS = range(1, 17)
"""Where to look for an answer that no word of the length at hand has."""


def suggestions(subject: Subject) -> dict[str, Any]:
    """Words of the length that was typed if they have both answers, else also shorter or longer ones."""
    shown: dict[str, dict[str, str]] = {}
    if not subject.problem.has_answers:
        return {"words": []}
    for length in (_length(subject), *LENGTHS):
        for word, right in _answered(subject, length):
            shown.setdefault(str(right).split()[0].rstrip(","), {"word": word, "right": str(right)})
        if len(shown) > 1 or subject.problem.length is not None:
            break
    return {"words": list(shown.values())}


def _answered(subject: Subject, length: int) -> list[tuple[str, Outcome]]:
    """(word, what is right of it), of characters that can be typed, those of the problem first."""
    drawn = subject.some_words(DRAWN, length) if subject.problem.has_length(length) else []
    drawn += [_backwards(word) for word in drawn]  # the same letters, and often another answer
    typed = set(subject.question.problem)
    answered = []
    for word in sorted(drawn, key=lambda word: len(set(word) - typed)):
        if word == subject.question.word or not word or not (word.isascii() and word.isprintable()):
            continue
        with suppress(UnmaskError):
            answered.append((word, subject.problem.outcome(word).last(1)))
    # where words have values, one that has none is no example
    valued = [(word, right) for word, right in answered if right.value is not None]
    return valued or answered


def _length(subject: Subject) -> int:
    try:
        return subject.length
    except UnmaskError:  # the word is too long
        return LENGTHS[-1]


def _backwards(word: str) -> str:
    return " ".join(reversed(word.split())) if " " in word else word[::-1]
