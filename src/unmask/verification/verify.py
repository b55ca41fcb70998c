"""Model × reference → Verdict: the entry point of `unmask verify`.

    problem, function or model ──▶ Reference ──▶ Comparison ─┬─ exhaustive, sample: run words ──▶ Verdict
                                                             └─ prove: read the weights ────────▶ Verdict

Words drawn at random rarely contain a character that a model reads as the wrong symbol. `misread_words` therefore
constructs such words from the character ranges of the model and of the problem, and these are run first.
"""

import random
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Any, cast

from unmask import limits
from unmask.checker.certificate import Refused
from unmask.checker.check_induction import check
from unmask.engines.engine import Engine
from unmask.errors import OutOfTime, ProblemError, UnmaskError, shortened
from unmask.limits import stage
from unmask.problems.automata.automaton import Automaton
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.problem import Outcome, Problem, Words
from unmask.problems.program_problems import program_problem
from unmask.reasoners.run_words import words_at_once
from unmask.recurrences.system import System
from unmask.verification.verdict import Verdict
from unmask.verification.words.comparison import Comparison
from unmask.verification.words.equivalence import prove
from unmask.verification.words.function_reference import (
    FunctionReference,
    UserFunction,
    load_user_function,
    names_function,
    user_function_of,
)
from unmask.verification.words.induction import InductionDocument
from unmask.verification.words.references import (
    Reference,
    RestrictedReference,
    answers_available,
    letter_read_by_model_alone,
    reference_of,
    stated_answers,
)
from unmask.weights.model import Model

BATCH = 1 << 10


def check_words(comparison: Comparison, words: Iterator[str], *, method: str, total: int | None = None) -> Verdict:
    """Run every word, and compare with what is right; when the time is over, it is unknown what the others do."""
    cases = 0
    try:
        for word, got in stage("running words", _outcomes(comparison, words), total):
            cases += 1
            expected = comparison.reference.right(word)
            if got != expected:
                return Verdict("refuted", method, cases, counterexample=word, expected=str(expected), got=str(got))
    except OutOfTime as end:
        return Verdict("unknown", method, cases, reason=f"no case differs so far, but {end}")
    return Verdict("held", method, cases)


def _outcomes(comparison: Comparison, words: Iterator[str]) -> Iterator[tuple[str, Outcome]]:
    """Each word and what the model says of it; in batches that grow, so that the first answers come soon."""
    size, most = 1, min(BATCH, words_at_once(comparison.model, comparison.engine))
    while batch := list(islice(words, size)):
        yield from zip(batch, comparison.outcomes_of(batch), strict=True)
        size = min(2 * size, most)


DRAWN = 32
"""Words that are drawn for a letter of a class that is read as several symbols."""
MOST_STEPS = 1 << 20


def misread_words(comparison: Comparison) -> Iterator[str]:
    """Words in which a misread letter shows; none where every class is read as one symbol of its own."""
    characters = comparison.reference.characters
    if characters is None or not comparison.model.length:
        return
    classes = {letter: _class_of(characters, letter) for letter in comparison.letters}
    of_symbol: dict[str | None, str] = {}
    of_class: dict[Hashable, str] = {}
    for letter in comparison.letters:
        known = of_symbol.setdefault(comparison.readings[letter], letter)
        if known != letter:
            yield from _distinguished(comparison, known, letter, classes)
        usual = of_class.setdefault(classes[letter], letter)
        if usual != letter or known != letter:
            yield from _drawn_with(comparison, letter, classes)


def _distinguished(comparison: Comparison, one: str, other: str, classes: dict[str, Hashable]) -> Iterator[str]:
    """Two words that differ in one letter, which the problem does not answer alike."""
    automaton = comparison.reference.specification()
    if not isinstance(automaton, Automaton) or automaton.characters is None:
        return
    tokens = [int(automaton.token_ids(letter)[0]) for letter in (one, other)]
    word = telling_word(automaton, *tokens, comparison.model.length)
    if word is not None:
        usual: dict[int, str] = {}
        for letter in classes:
            usual.setdefault(int(automaton.token_ids(letter)[0]), letter)
        for letter in (one, other):
            yield "".join(letter if token is None else usual[token] for token in word)


def telling_word(automaton: Automaton, one: int, other: int, length: int) -> list[int | None] | None:
    """Tokens of a word of this length with a gap (None), such that the answer is not the same with either token in it.

    None if there is no such word, or if it was not found in `MOST_STEPS` steps.
    """
    rows, accepting = automaton.delta.tolist(), automaton.accepting.tolist()
    layers: list[dict] = [{(automaton.start, automaton.start, False): None}]
    steps = 0
    for _ in range(length):
        after: dict = {}
        for node in layers[-1]:
            p, q, parted = node
            steps += len(automaton.tokens)
            for token in range(len(automaton.tokens)):
                after.setdefault((rows[p][token], rows[q][token], parted), (node, token))
            if not parted:
                after.setdefault((rows[p][one], rows[p][other], True), (node, None))
        layers.append({node: came for node, came in after.items() if not node[2] or node[0] != node[1]})
        if steps > MOST_STEPS:
            return None
    node = next((n for n in layers[-1] if n[2] and accepting[n[0]] != accepting[n[1]]), None)
    if node is None:
        return None
    word: list[int | None] = []
    for layer in reversed(layers[1:]):
        node, token = layer[node]
        word.append(token)
    return word[::-1]


def _drawn_with(comparison: Comparison, letter: str, classes: dict[str, Hashable]) -> Iterator[str]:
    """Words of the problem that hold this letter wherever they held one of its class."""
    characters = comparison.reference.characters or ()
    drawn = comparison.reference.words(random.Random(0))
    for word in islice(drawn, DRAWN):
        spelled = "".join(letter if _class_of(characters, c) == classes[letter] else c for c in word)
        if letter in spelled:
            yield spelled


def _class_of(characters: Sequence[tuple[int, int, Hashable]], letter: str) -> Hashable:
    return next(kind for first, last, kind in characters if first <= ord(letter) <= last)


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
        raise UnmaskError(f"unknown choice of letters {shortened(letters)!r}; use {', '.join(LETTERS)}")
    try:
        right = compared_with(model, against)
        reference = (
            FunctionReference(model, right) if isinstance(right, UserFunction) else reference_of(model, right, engine)
        )
        comparison = Comparison(model, reference, engine, certified, by)
        comparison, difference = _over_letters(
            comparison, letters, own=against is None or _is_own_problem(model, right)
        )
        if difference is not None:
            return Verdict(
                "unknown", method or "undecided", 0, reason=f"not comparable: {difference}", comparable=False
            )
        verdict = replace(_answer(comparison, method, cases, seed, progress), about=comparison.reference.about)
        return _with_answers_compared(verdict, model, comparison.reference)
    except OutOfTime as end:
        return Verdict.out_of_time(method, end)


def _answer(comparison: Comparison, method: str | None, cases: int, seed: int, progress: Progress | None) -> Verdict:
    every = comparison.reference.every_word()
    if method is None:
        method = "exhaustive" if every.count <= FEW_WORDS else "sample"
    if method not in METHODS:
        raise UnmaskError(f"unknown method {method!r}; use {', '.join(METHODS)}")
    if comparison.by not in (None, *WAYS):
        raise UnmaskError(f"unknown way to prove {shortened(comparison.by)!r}; use {' or '.join(WAYS)}")
    if method == "prove":
        return _checked(comparison, prove(comparison))
    if comparison.certified or comparison.by is not None:
        lacking = "has a certificate" if comparison.certified else "is by induction or by sat"
        raise UnmaskError(f"only a proof {lacking}, not the method {method}; use --method prove")
    unread = comparison.unread(method)
    if unread is not None:
        return unread
    misread = check_words(comparison, misread_words(comparison), method=method)
    if misread.status != "held":
        return misread
    if method == "exhaustive" and every.count > MOST_WORDS:
        length = comparison.model.length
        reason = f"there are {every.count} words of length {length}, more than {MOST_WORDS}; use --method prove"
        return Verdict("unknown", method, 0, reason=reason)
    if not comparison.reference.lists_every_word:  # such a list may hold a word twice
        every = Words(every.count, _distinct(every.each))
    words = every if method == "exhaustive" else _sample(comparison, every, cases, seed)
    each = words.each if progress is None else progress(words.each, words.count)
    verdict = check_words(comparison, each, method=method, total=words.count)
    complete = verdict.status == "held" and words is every and comparison.reference.lists_every_word
    return replace(verdict, complete=complete)


def compared_with(model: Model, against: Against) -> Problem | Model | UserFunction:
    """What is meant by `against`."""
    if isinstance(against, str):
        named = names_function(against)
        return load_user_function(*named) if named is not None else parse_problem(against)
    if isinstance(against, System):
        return program_problem(against)
    if isinstance(against, Model) or hasattr(against, "outcome"):
        return cast("Problem | Model", against)
    if callable(against):
        return user_function_of(against)
    if against is not None:
        raise UnmaskError(
            f"a model cannot be compared with {shortened(repr(against))}; give a PROBLEM string, a problem, a program, "
            "a model or a function of words"
        )
    if not model.problem:
        raise ProblemError("the folder names no problem to compare with; give one with --against")
    return problem_from_json(model.problem)


def _with_answers_compared(verdict: Verdict, model: Model, reference: Reference) -> Verdict:
    """The verdict, which says how many answers were compared where there are several.

    Where the model does not give all answers, finding no difference proves nothing about the others: unknown.
    """
    stated = stated_answers(model) or 1
    if reference.outputs == reference.answers < stated:
        last = "the last" if reference.answers == 1 else f"the last {reference.answers}"
        return replace(verdict, compared=f"{last} of the model's {stated} answers")
    if reference.answers == 1:
        return verdict
    if reference.outputs == reference.answers:
        return replace(verdict, compared=f"all {reference.answers} answers")
    some = "the last" if reference.outputs == 1 else f"the last {reference.outputs}"
    compared = f"{some} of {reference.answers} answers"
    if verdict.status in ("refuted", "unknown"):
        return replace(verdict, compared=compared)
    found = "agrees on every word" if verdict.status == "proved" else f"agrees on {verdict.cases:,} words"
    side = "the model gives" if answers_available(model) == reference.outputs else "the other model gives"
    number = "one answer" if reference.outputs == 1 else f"{reference.outputs} answers"
    reason = f"only {compared} could be compared, since {side} {number}; what was compared {found}"
    return Verdict("unknown", verdict.method, verdict.cases, reason=reason, about=verdict.about, compared=compared)


def _checked(comparison: Comparison, verdict: Verdict) -> Verdict:
    """A proof whose certificate was checked: what the small checker does not accept goes through the solver."""
    if not isinstance(verdict.certificate, InductionDocument):
        return verdict
    try:
        checked = check(verdict.certificate.document, comparison.model, limits.check)
    except Refused as refusal:
        if comparison.by is not None:
            return Verdict("unknown", "prove", 0, reason=f"the certificate of the induction is refused: {refusal}")
        return prove(replace(comparison, by="sat"))
    return replace(verdict, proof={**(verdict.proof or {}), "certificate": checked})


def _over_letters(comparison: Comparison, letters: str | None, *, own: bool) -> tuple[Comparison, str | None]:
    """(the comparison over the letters that were chosen, why the two sides cannot be compared or None).

    A model is compared with its own problem over all letters of the problem: one that it cannot read refutes it.
    Another problem, or another model, may have other letters: then nothing is said about the model, unless the caller
    chooses the letters.
    """
    model, reference, unreadable = comparison.model, comparison.reference, comparison.unreadable
    alone = letter_read_by_model_alone(model, reference)
    shown = f"{shortened(reference.name)} has the letter {shortened(unreadable[0])!r}" if unreadable else ""
    if letters is None and unreadable and not own:
        return comparison, (
            f"the alphabets differ: {shown}, which the model does not read; use --letters common to compare words over "
            "the letters of both, or --letters problem to count a word that the model cannot read as wrong"
        )
    if letters == "model" and alone is not None:
        return comparison, (
            f"the alphabets differ: the model reads {shortened(alone)!r}, which {shortened(reference.name)} does not "
            "have; use --letters common to compare words over the letters of both"
        )
    if letters not in ("model", "common") or not (unreadable or alone is not None):
        return comparison, None
    common = [letter for letter, symbol in comparison.readings.items() if symbol is not None]
    if not common:
        return comparison, f"{shortened(reference.name)} and the model have no letter in common"
    return replace(comparison, reference=RestrictedReference(model, reference, common)), None


def _is_own_problem(model: Model, right: Problem | Model | UserFunction) -> bool:
    """Was the model compiled for this problem? A model of the same problem counts, too."""
    if isinstance(right, UserFunction):
        return True  # it is asked about the words that the model reads
    named = []
    for stored in (model.problem, right.problem if isinstance(right, Model) else right.to_json()):
        try:
            kept = problem_from_json(stored).to_json()
            named.append({name: value for name, value in kept.items() if name not in ("outputs", "slots")})
        except UnmaskError:
            return False
    return bool(named[0]) and named[0] == named[1]


def _sample(comparison: Comparison, every: Words, cases: int, seed: int) -> Words:
    """Distinct words: all of them if there are no more than `cases`, else that many at random."""
    if every.count <= cases and comparison.reference.lists_every_word:
        return every
    drawn = comparison.reference.words(random.Random(seed))
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
