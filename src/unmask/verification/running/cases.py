"""Question × words → Verdict, by running cases; the first that differs refutes."""

from collections.abc import Iterator
from itertools import islice

from unmask.errors import OutOfTime
from unmask.limits import stage
from unmask.problems.problem import Outcome
from unmask.reasoners.run_words import words_at_once
from unmask.verification.question.question import Question
from unmask.verification.question.verdict import Verdict

BATCH = 1 << 10


def check_words(question: Question, words: Iterator[str], *, method: str, total: int | None = None) -> Verdict:
    """Run every word, and compare with what is right; when the time is over, it is unknown what the others do."""
    cases = 0
    try:
        for word, got in stage("running words", _said(question, words), total):
            cases += 1
            expected = question.standard.right(word)
            if got != expected:
                return Verdict("refuted", method, cases, counterexample=word, expected=str(expected), got=str(got))
    except OutOfTime as end:
        return Verdict("unknown", method, cases, reason=f"no case differs so far, but {end}")
    return Verdict("held", method, cases)


def _said(question: Question, words: Iterator[str]) -> Iterator[tuple[str, Outcome]]:
    """Each word and what the model says of it; in batches that grow, so that the first answers come soon."""
    size, most = 1, min(BATCH, words_at_once(question.model, question.engine))
    while batch := list(islice(words, size)):
        yield from zip(batch, question.said(batch), strict=True)
        size = min(2 * size, most)
