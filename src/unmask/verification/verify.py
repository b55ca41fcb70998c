"""Model × what is right → Verdict: the one walk from a question to its answer.

Problem or Model ──standard_of──▶ Standard ──▶ Question ─┬─ exhaustive, sample: words ──check_words──▶ Verdict
                                                         └─ prove: weights ──────────────────────────▶ Verdict
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice

from unmask import budget
from unmask.checker.certificate import Refused
from unmask.checker.induction import check
from unmask.engines.engine import Engine
from unmask.errors import OutOfTime, ProblemError, UnmaskError, shortened
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.problem import Problem, Words
from unmask.problems.program import program_problem
from unmask.recurrences.system import System
from unmask.verification.proofs.equivalence import prove
from unmask.verification.proofs.induction_certificate import InductionCertificate
from unmask.verification.question.misreadings import misread_words
from unmask.verification.question.question import Question
from unmask.verification.question.standard import standard_of
from unmask.verification.question.verdict import Verdict
from unmask.verification.running.cases import check_words
from unmask.weights.model import Model

METHODS = ("exhaustive", "sample", "prove")
WAYS = ("induction", "sat")
FEW_WORDS = 1 << 14
MOST_WORDS = 1 << 20

Against = str | Problem | System | Model | None
"""A PROBLEM string, or a problem; a program; a model; None for the problem that the folder names."""

Progress = Callable[[Iterator[str], int], Iterator[str]]
"""Given the words and how many there are, passes them on."""


def verify(
    model: Model,
    *,
    against: Against = None,
    method: str | None = None,
    cases: int = 1000,
    seed: int = 0,
    engine: Engine,
    certified: bool = False,
    by: str | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Hold a model against the problem that its folder names, another problem, or another model.

    When the time of the budget is over, the verdict is unknown.
    """
    try:
        question = Question(model, standard_of(model, compared_with(model, against), engine), engine, certified, by)
        if against is not None:
            _check_alphabets(question)
        return replace(_answer(question, method, cases, seed, progress), about=question.standard.about)
    except OutOfTime as end:
        return Verdict.out_of_time(method, end)


def _answer(question: Question, method: str | None, cases: int, seed: int, progress: Progress | None) -> Verdict:
    every = question.standard.every_word()
    if method is None:
        method = "exhaustive" if every.count <= FEW_WORDS else "sample"
    if method not in METHODS:
        raise UnmaskError(f"there is no method {method!r}; use {', '.join(METHODS)}")
    if question.by not in (None, *WAYS):
        raise UnmaskError(f"there is no proof by {shortened(question.by)!r}; use {' or '.join(WAYS)}")
    if method == "prove":
        return _checked(question, prove(question))
    if question.certified or question.by is not None:
        lacking = "has a certificate" if question.certified else "is by induction or by sat"
        raise UnmaskError(f"only a proof {lacking}, not the method {method}; use --method prove")
    unread = question.unread(method)
    if unread is not None:
        return unread
    misread = check_words(question, misread_words(question), method=method)
    if misread.status != "held":
        return misread
    if method == "exhaustive" and every.count > MOST_WORDS:
        length = question.model.length
        reason = f"there are {every.count} words of length {length}, more than {MOST_WORDS}; use --method prove"
        return Verdict("unknown", method, 0, reason=reason)
    words = every if method == "exhaustive" else _sample(question, every, cases, seed)
    each = words.each if progress is None else progress(words.each, words.count)
    return check_words(question, each, method=method, total=words.count)


def compared_with(model: Model, against: Against) -> Problem | Model:
    """What is meant by `against`."""
    if isinstance(against, str):
        return parse_problem(against)
    if isinstance(against, System):
        return program_problem(against)
    if against is not None:
        return against
    if not model.problem:
        raise ProblemError("the folder names no problem to compare with; give one with --against")
    return problem_from_json(model.problem)


def _checked(question: Question, verdict: Verdict) -> Verdict:
    """A proof whose certificate was checked: what the small checker does not accept goes through the solver."""
    if not isinstance(verdict.certificate, InductionCertificate):
        return verdict
    try:
        checked = check(verdict.certificate.document, question.model, budget.check)
    except Refused as refusal:
        if question.by is not None:
            return Verdict("unknown", "prove", 0, reason=f"the certificate of the induction is refused: {refusal}")
        return prove(replace(question, by="sat"))
    return replace(verdict, proof={**(verdict.proof or {}), "certificate": checked})


def _check_alphabets(question: Question) -> None:
    """What was given to compare with may be something else altogether: then nothing is said about the model.

    Not so where words are any text: there a model that reads none of them is wrong about all.
    """
    model, standard = question.model, question.standard
    symbols = model.characters is None and standard.characters is None
    if model.length and symbols and not any(question.readings.values()):
        raise UnmaskError(
            f"the model and {shortened(standard.name)} read different alphabets, "
            f"{shortened(' '.join(model.input_symbols))} and {shortened(' '.join(sorted(standard.letters)))}; "
            "compare like with like"
        )


def _sample(question: Question, every: Words, cases: int, seed: int) -> Words:
    """So many words: every word first, if these are no more than that, and others at random."""
    drawn = question.standard.words(random.Random(seed))
    most = min(cases, sys.maxsize)  # more, `islice` does not count, and nobody waits for
    return Words(cases, islice(chain(every.each if every.count <= cases else (), drawn), most))
