"""Subject → how many steps each framework takes as words grow: really compiled, really run.

Lengths double; a length is left out, and said so, when the time for it does not suffice or the model is too large.
"""

import time
from typing import Any

from unmask.errors import TooLarge, UnmaskError
from unmask.pipeline import run_word
from unmask.playground.subject import Subject
from unmask.verification.question.standard import answer_count
from unmask.weights.model import Kind

LENGTHS = (2, 4, 8, 16, 32, 64)
SHOWN: tuple[Kind, ...] = ("mdm", "plt", "cot")
BUDGET = 8.0
GROWTH = 5.0  # twice the length takes at most so many times as long, or the next length is not begun
WORDS = 2


def growth(subject: Subject) -> dict[str, Any]:
    """Points (kind, N, steps), and what was left out."""
    if not subject.problem.has_answers:
        raise UnmaskError(
            "random weights do not solve a problem, so there are no steps to compare; type another problem"
        )
    kinds = [kind for kind in (*SHOWN, subject.question.kind) if kind in subject.kinds]
    lengths = lengths_of(subject)
    points: list[dict[str, Any]] = []
    remarks: list[str] = []
    end = time.monotonic() + BUDGET
    for i, length in enumerate(lengths):
        start = time.monotonic()
        try:
            points += [_point(subject, kind, length) for kind in dict.fromkeys(kinds)]
        except TooLarge as error:
            remarks.append(f"N = {length} is left out: {error}.")
            break
        took = time.monotonic() - start
        if i + 1 < len(lengths) and time.monotonic() + GROWTH * took > end:
            remarks.append(f"N = {lengths[i + 1]} and more are left out: they would take too long here.")
            break
    return {"points": points, "remarks": remarks, "fixed": subject.problem.length is not None}


def lengths_of(subject: Subject) -> list[int]:
    """The lengths to measure: the one that the problem fixes, or those that its words have."""
    fixed = subject.problem.length
    return [fixed] if fixed is not None else [length for length in LENGTHS if subject.problem.has_length(length)]


def _point(subject: Subject, kind: Kind, length: int) -> dict[str, Any]:
    """The model of one length, run on a few words; `right` if all of its answers are."""
    model = subject.model(kind, length)
    outputs = answer_count(model)
    steps, right = model.steps, True
    for word in subject.some_words(WORDS, length):
        trace = run_word(model, word, canvas=False)
        steps = trace.steps_taken
        right = right and subject.said(model, trace.output[-outputs:]) == subject.right(word, outputs)
    return {"kind": kind, "length": length, "steps": steps, "padding": model.padding, "right": right}
