"""Model × what is right → Verdict: the one walk from a question to its answer.

Problem or Model ──standard_of──▶ Standard ──▶ Question ─┬─ exhaustive, sample: words ──check_words──▶ Verdict
                                                         └─ prove: weights ──────────────────────────▶ Verdict
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Any, cast

from unmask import limits
from unmask.checker.certificate import Refused
from unmask.checker.check_induction import check
from unmask.engines.engine import Engine
from unmask.errors import OutOfTime, ProblemError, UnmaskError, shortened
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.problem import Problem, Words
from unmask.problems.program_problems import program_problem
from unmask.recurrences.system import System
from unmask.verification.proofs.equivalence import prove
from unmask.verification.proofs.induction_certificate import InductionCertificate
from unmask.verification.question.misreadings import misread_words
from unmask.verification.question.oracle import Oracle, OracleStandard, load_oracle, names_function, oracle_of
from unmask.verification.question.question import Question
from unmask.verification.question.standard import (
    RestrictedStandard,
    Standard,
    answers_available,
    letter_read_by_model_alone,
    standard_of,
    stated_answers,
)
from unmask.verification.question.verdict import Verdict
from unmask.verification.running.cases import check_words
from unmask.weights.model import Model

METHODS = ("exhaustive", "sample", "prove")
WAYS = ("induction", "sat")
LETTERS = ("problem", "model", "common")
"""Over which letters words are compared: those of the problem, those of the model, or those that both have."""
FEW_WORDS = 1 << 14
MOST_REPEATED = 1000  # known words, beyond as many as are known, after which a source of words is left
MOST_WORDS = 1 << 20

Against = str | Problem | System | Model | Callable[[Any], Any] | None
"""A PROBLEM string or FILE.py:function; a problem; a program; a model; a function of words; None for the problem that
the folder names."""

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
    letters: str | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Compare a model with the problem that its folder names, another problem, a function or another model.

    When the time of the budget is over, the verdict is unknown.
    """
    if letters not in (None, *LETTERS):
        raise UnmaskError(f"there is no choice of letters {shortened(letters)!r}; use {', '.join(LETTERS)}")
    try:
        right = compared_with(model, against)
        standard = OracleStandard(model, right) if isinstance(right, Oracle) else standard_of(model, right, engine)
        question = Question(model, standard, engine, certified, by)
        question, difference = _over_letters(question, letters, own=against is None or _is_own_problem(model, right))
        if difference is not None:
            return Verdict(
                "unknown", method or "undecided", 0, reason=f"not comparable: {difference}", comparable=False
            )
        verdict = replace(_answer(question, method, cases, seed, progress), about=question.standard.about)
        return _with_answers_compared(verdict, model, question.standard)
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
    if not question.standard.lists_every_word:  # such a list may hold a word twice
        every = Words(every.count, _distinct(every.each))
    words = every if method == "exhaustive" else _sample(question, every, cases, seed)
    each = words.each if progress is None else progress(words.each, words.count)
    verdict = check_words(question, each, method=method, total=words.count)
    complete = verdict.status == "held" and words is every and question.standard.lists_every_word
    return replace(verdict, complete=complete)


def compared_with(model: Model, against: Against) -> Problem | Model | Oracle:
    """What is meant by `against`."""
    if isinstance(against, str):
        named = names_function(against)
        return load_oracle(*named) if named is not None else parse_problem(against)
    if isinstance(against, System):
        return program_problem(against)
    if isinstance(against, Model) or hasattr(against, "outcome"):
        return cast("Problem | Model", against)
    if callable(against):
        return oracle_of(against)
    if against is not None:
        raise UnmaskError(
            f"a model cannot be compared with {shortened(repr(against))}; give a PROBLEM string, a problem, a program, "
            "a model or a function of words"
        )
    if not model.problem:
        raise ProblemError("the folder names no problem to compare with; give one with --against")
    return problem_from_json(model.problem)


def _with_answers_compared(verdict: Verdict, model: Model, standard: Standard) -> Verdict:
    """The verdict, which says how many answers were compared where there are several.

    Where the model does not give all answers, finding no difference proves nothing about the others: unknown.
    """
    stated = stated_answers(model) or 1
    if standard.outputs == standard.answers < stated:
        last = "the last" if standard.answers == 1 else f"the last {standard.answers}"
        return replace(verdict, compared=f"{last} of the model's {stated} answers")
    if standard.answers == 1:
        return verdict
    if standard.outputs == standard.answers:
        return replace(verdict, compared=f"all {standard.answers} answers")
    some = "the last" if standard.outputs == 1 else f"the last {standard.outputs}"
    compared = f"{some} of {standard.answers} answers"
    if verdict.status in ("refuted", "unknown"):
        return replace(verdict, compared=compared)
    found = "agrees on every word" if verdict.status == "proved" else f"agrees on {verdict.cases:,} words"
    side = "the model gives" if answers_available(model) == standard.outputs else "the other model gives"
    number = "one answer" if standard.outputs == 1 else f"{standard.outputs} answers"
    reason = f"only {compared} could be compared, since {side} {number}; what was compared {found}"
    return Verdict("unknown", verdict.method, verdict.cases, reason=reason, about=verdict.about, compared=compared)


def _checked(question: Question, verdict: Verdict) -> Verdict:
    """A proof whose certificate was checked: what the small checker does not accept goes through the solver."""
    if not isinstance(verdict.certificate, InductionCertificate):
        return verdict
    try:
        checked = check(verdict.certificate.document, question.model, limits.check)
    except Refused as refusal:
        if question.by is not None:
            return Verdict("unknown", "prove", 0, reason=f"the certificate of the induction is refused: {refusal}")
        return prove(replace(question, by="sat"))
    return replace(verdict, proof={**(verdict.proof or {}), "certificate": checked})


def _over_letters(question: Question, letters: str | None, *, own: bool) -> tuple[Question, str | None]:
    """(the question over the letters that were chosen, why the two sides cannot be compared or None).

    A model is compared with its own problem over all letters of the problem: one that it cannot read refutes it.
    Another problem, or another model, may have other letters: then nothing is said about the model, unless the caller
    chooses the letters.
    """
    model, standard, unreadable = question.model, question.standard, question.unreadable
    alone = letter_read_by_model_alone(model, standard)
    shown = f"{shortened(standard.name)} has the letter {shortened(unreadable[0])!r}" if unreadable else ""
    if letters is None and unreadable and not own:
        return question, (
            f"the alphabets differ: {shown}, which the model does not read; use --letters common to compare words over "
            "the letters of both, or --letters problem to count a word that the model cannot read as wrong"
        )
    if letters == "model" and alone is not None:
        return question, (
            f"the alphabets differ: the model reads {shortened(alone)!r}, which {shortened(standard.name)} does not "
            "have; use --letters common to compare words over the letters of both"
        )
    if letters not in ("model", "common") or not (unreadable or alone is not None):
        return question, None
    common = [letter for letter, symbol in question.readings.items() if symbol is not None]
    if not common:
        return question, f"{shortened(standard.name)} and the model have no letter in common"
    return replace(question, standard=RestrictedStandard(model, standard, common)), None


def _is_own_problem(model: Model, right: Problem | Model | Oracle) -> bool:
    """Was the model compiled for this problem? A model of the same problem counts, too."""
    if isinstance(right, Oracle):
        return True  # it is asked about the words that the model reads
    named = []
    for stored in (model.problem, right.problem if isinstance(right, Model) else right.to_json()):
        try:
            kept = problem_from_json(stored).to_json()
            named.append({name: value for name, value in kept.items() if name not in ("outputs", "slots")})
        except UnmaskError:
            return False
    return bool(named[0]) and named[0] == named[1]


def _sample(question: Question, every: Words, cases: int, seed: int) -> Words:
    """Distinct words: all of them if there are no more than `cases`, else that many at random."""
    if every.count <= cases and question.standard.lists_every_word:
        return every
    drawn = question.standard.words(random.Random(seed))
    listed = every.each if every.count <= cases else iter(())
    return Words(cases, islice(_distinct(listed, drawn, every.each), min(cases, sys.maxsize)))


def _distinct(*sources: Iterator[str]) -> Iterator[str]:
    """Words of the sources, none of them twice; a source that mostly repeats itself is left for the next."""
    seen: set[bytes] = set()
    for source in sources:
        repeated = 0
        for word in source:
            key = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key not in seen:
                seen.add(key)
                yield word
            elif (repeated := repeated + 1) > MOST_REPEATED + len(seen):
                break
