"""Model × reference → Verdict: the entry point of `unmask verify`.

    problem, function or model ──▶ Reference ──▶ Comparison ─┬─ exhaustive, sample: run words ──▶ Verdict
                                                             └─ prove: read the weights ────────▶ Verdict

| stage                                            | module                                                     |
|--------------------------------------------------|------------------------------------------------------------|
| 1. what the model is compared with               | `problems.catalogue`, `words.function_reference`           |
| 2. its words, letters and answers                | `words.references`                                         |
| 3. exhaustive, sample: run words                 | this module, `model_outcomes`, `reasoners.run_words`       |
|    prove: decide all words                       | `words.equivalence`, whose entry point lists its stages    |
| 4. prove: check the certificate of an induction  | `checker.check_induction`                                  |
| 5. state which answers were compared             | this module, `verdict`                                     |

Words drawn at random rarely contain a character that a model reads as the wrong symbol. `misread_words` therefore
constructs such words from the character ranges of the model and of the problem, and these are run first.
"""

import random
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
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
from unmask.verification.model_outcomes import outcomes
from unmask.verification.verdict import Verdict
from unmask.verification.words.equivalence import prove_comparison
from unmask.verification.words.function_reference import (
    FunctionReference,
    UserFunction,
    load_user_function,
    names_function,
    user_function_of,
)
from unmask.verification.words.induction import InductionDocument
from unmask.verification.words.references import (
    CharacterClasses,
    Comparison,
    Reference,
    RestrictedReference,
    answer_count,
    largest_answer_count,
    letter_read_by_model_alone,
    reference_of,
)
from unmask.weights.model import Model

METHODS = ("exhaustive", "sample", "prove")
PROOFS = ("induction", "sat")
LETTERS = ("problem", "model", "common")
"""The letters of the words that are compared: those of the problem, those of the model, or those that both have."""
FEW_WORDS = 1 << 14
MOST_REPEATED = 1000  # the number of repeats, beyond that of distinct words, after which a source of words is abandoned
MOST_WORDS = 1 << 20

Against = str | Problem | System | Model | Callable[[Any], Any] | None
"""A PROBLEM string or FILE.py:function, a problem, a program, a model, a function of words, or None for the problem
that the model folder names."""

Progress = Callable[[Iterator[str], int], Iterator[str]]
"""(words, their number) → the same words; shows progress while they are consumed."""


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

    The stages are listed at the top of this module. If the time of the budget is over, the verdict is unknown.
    """
    if letters not in (None, *LETTERS):
        raise UnmaskError(f"unknown choice of letters {shortened(letters)!r}; use {', '.join(LETTERS)}")
    try:
        subject, run_words = compared_with(model, against), partial(outcomes, engine=engine)
        if isinstance(subject, UserFunction):
            reference: Reference = FunctionReference(model, subject)
        else:
            reference = reference_of(model, subject, run_words)
        comparison, difference = _over_letters(
            Comparison(model, reference, run_words, certified, by),
            letters,
            is_own_problem=against is None or _is_own_problem(model, subject),
        )
        if difference is not None:
            return Verdict(
                "unknown", method or "undecided", 0, reason=f"not comparable: {difference}", comparable=False
            )
        verdict = replace(_answer(comparison, engine, method, cases, seed, progress), about=comparison.reference.about)
        return _with_answers_compared(verdict, model, comparison.reference)
    except OutOfTime as end:
        return Verdict.out_of_time(method, end)


def compared_with(model: Model, against: Against) -> Problem | Model | UserFunction:
    """Return the problem, model or function that `against` names."""
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


def _over_letters(
    comparison: Comparison, letters: str | None, *, is_own_problem: bool
) -> tuple[Comparison, str | None]:
    """Return (the comparison over the letters that were chosen, why the two sides cannot be compared or None).

    A model is compared with its own problem over all letters of the problem: a letter that it cannot read refutes it.
    If another problem or model has letters that the model cannot read, the two are not comparable unless the caller
    chooses the letters.
    """
    model, reference = comparison.model, comparison.reference
    unreadable = [letter for letter in comparison.letters if comparison.readings[letter] is None]
    model_letter = letter_read_by_model_alone(model, reference.letters, reference.characters)
    name = shortened(reference.name)
    if letters is None and unreadable and not is_own_problem:
        return comparison, (
            f"the alphabets differ: {name} has the letter {shortened(unreadable[0])!r}, which the model does not read; "
            "use --letters common to compare words over the letters of both, or --letters problem to count a word that "
            "the model cannot read as wrong"
        )
    if letters == "model" and model_letter is not None:
        return comparison, (
            f"the alphabets differ: the model reads {shortened(model_letter)!r}, which {name} does not have; "
            "use --letters common to compare words over the letters of both"
        )
    if letters not in ("model", "common") or not (unreadable or model_letter is not None):
        return comparison, None
    common = [letter for letter, symbol in comparison.readings.items() if symbol is not None]
    if not common:
        return comparison, f"{name} and the model have no letter in common"
    return replace(comparison, reference=RestrictedReference(model, reference, common)), None


def _is_own_problem(model: Model, subject: Problem | Model | UserFunction) -> bool:
    """Return whether the subject is the problem that the model's folder names, or a model of that problem."""
    if isinstance(subject, UserFunction):
        return True  # its words are those that the model reads
    problems = []
    for stored in (model.problem, subject.problem if isinstance(subject, Model) else subject.to_json()):
        try:
            document = problem_from_json(stored).to_json()
        except UnmaskError:
            return False
        problems.append({name: value for name, value in document.items() if name not in ("outputs", "slots")})
    return bool(problems[0]) and problems[0] == problems[1]


def _answer(
    comparison: Comparison, engine: Engine, method: str | None, cases: int, seed: int, progress: Progress | None
) -> Verdict:
    """Decide the comparison by a method: all words if there are few and no method was chosen, else a sample."""
    every = comparison.reference.every_word()
    if method is None:
        method = "exhaustive" if every.count <= FEW_WORDS else "sample"
    if method not in METHODS:
        raise UnmaskError(f"unknown method {method!r}; use {', '.join(METHODS)}")
    if comparison.by not in (None, *PROOFS):
        raise UnmaskError(f"unknown way to prove {shortened(comparison.by)!r}; use {' or '.join(PROOFS)}")
    if method == "prove":
        return _with_certificate_checked(comparison, prove_comparison(comparison))
    if comparison.certified or comparison.by is not None:
        only_of_proofs = "has a certificate" if comparison.certified else "is by induction or by sat"
        raise UnmaskError(f"only a proof {only_of_proofs}, not the method {method}; use --method prove")
    return _by_running_words(comparison, engine, method, every, cases, seed, progress)


def _by_running_words(
    comparison: Comparison,
    engine: Engine,
    method: str,
    every: Words,
    cases: int,
    seed: int,
    progress: Progress | None,
) -> Verdict:
    """Run words that the model may misread, then every word or a sample."""
    unread = comparison.unread(method)
    if unread is not None:
        return unread
    misread = compare_words(comparison, engine, misread_words(comparison), method=method)
    if misread.status != "held":
        return misread
    if method == "exhaustive" and every.count > MOST_WORDS:
        length = comparison.model.length
        reason = f"there are {every.count} words of length {length}, more than {MOST_WORDS}; use --method prove"
        return Verdict("unknown", method, 0, reason=reason)
    if not comparison.reference.lists_every_word:  # such a list may contain a word twice
        every = Words(every.count, _distinct(every.each))
    words = every if method == "exhaustive" else _sample(comparison, every, cases, seed)
    each = words.each if progress is None else progress(words.each, words.count)
    verdict = compare_words(comparison, engine, each, method=method, total=words.count)
    complete = verdict.status == "held" and words is every and comparison.reference.lists_every_word
    return replace(verdict, complete=complete)


def _with_certificate_checked(comparison: Comparison, verdict: Verdict) -> Verdict:
    """Check the certificate of an induction; if the checker refuses it, prove by SAT instead."""
    if not isinstance(verdict.certificate, InductionDocument):
        return verdict
    try:
        checked = check(verdict.certificate.document, comparison.model, limits.check)
    except Refused as refusal:
        if comparison.by is not None:
            return Verdict("unknown", "prove", 0, reason=f"the certificate of the induction is refused: {refusal}")
        return prove_comparison(replace(comparison, by="sat"))
    return replace(verdict, proof={**(verdict.proof or {}), "certificate": checked})


def _with_answers_compared(verdict: Verdict, model: Model, reference: Reference) -> Verdict:
    """Return the verdict with the number of answers that were compared, if there are several.

    If one side does not give all answers, a proof or a check of some answers becomes unknown: it says nothing about the
    others.
    """
    stated = answer_count(model)
    if reference.outputs == reference.answers < stated:
        return replace(verdict, compared=f"{_the_last(reference.answers)} of the model's {stated} answers")
    if reference.answers == 1:
        return verdict
    if reference.outputs == reference.answers:
        return replace(verdict, compared=f"all {reference.answers} answers")
    compared = f"{_the_last(reference.outputs)} of {reference.answers} answers"
    if verdict.status in ("refuted", "unknown"):
        return replace(verdict, compared=compared)
    agreement = "agrees on every word" if verdict.status == "proved" else f"agrees on {verdict.cases:,} words"
    side = "the model gives" if largest_answer_count(model) == reference.outputs else "the other model gives"
    number = "one answer" if reference.outputs == 1 else f"{reference.outputs} answers"
    reason = f"only {compared} could be compared, since {side} {number}; what was compared {agreement}"
    return Verdict("unknown", verdict.method, verdict.cases, reason=reason, about=verdict.about, compared=compared)


def _the_last(count: int) -> str:
    return "the last" if count == 1 else f"the last {count}"


BATCH = 1 << 10


def compare_words(
    comparison: Comparison, engine: Engine, words: Iterator[str], *, method: str, total: int | None = None
) -> Verdict:
    """Run every word and compare it with the expected outcome; unknown if the time is over before the last word."""
    cases = 0
    try:
        for word, actual in stage("running words", _outcomes(comparison, engine, words), total):
            cases += 1
            expected = comparison.reference.expected(word)
            if actual != expected:
                return Verdict("refuted", method, cases, counterexample=word, expected=str(expected), got=str(actual))
    except OutOfTime as end:
        return Verdict("unknown", method, cases, reason=f"no case differs so far, but {end}")
    return Verdict("held", method, cases)


def _outcomes(comparison: Comparison, engine: Engine, words: Iterator[str]) -> Iterator[tuple[str, Outcome]]:
    """Yield each word and the model's outcome, in batches that grow, so that the first results come soon."""
    size, most = 1, min(BATCH, words_at_once(comparison.model, engine))
    while batch := list(islice(words, size)):
        yield from zip(batch, comparison.outcomes_of(batch), strict=True)
        size = min(2 * size, most)


def _sample(comparison: Comparison, every: Words, cases: int, seed: int) -> Words:
    """Return distinct words: all of them if there are no more than `cases`, else that many at random."""
    if every.count <= cases and comparison.reference.lists_every_word:
        return every
    random_words = comparison.reference.words(random.Random(seed))
    listed = every.each if every.count <= cases else iter(())
    return Words(cases, islice(_distinct(listed, random_words, every.each), min(cases, sys.maxsize)))


def _distinct(*sources: Iterator[str]) -> Iterator[str]:
    """Yield the words of the sources, each once; go on to the next source if one mostly repeats itself."""
    digests: set[bytes] = set()
    for source in sources:
        repeated = 0
        for word in source:
            key = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key not in digests:
                digests.add(key)
                yield word
            elif (repeated := repeated + 1) > MOST_REPEATED + len(digests):
                break


RANDOM_WORDS_PER_LETTER = 32
"""The number of random words for a letter that the model may misread."""
MOST_SEARCH_STEPS = 1 << 20


def misread_words(comparison: Comparison) -> Iterator[str]:
    """Yield words with a letter that the model may misread.

    A letter may be misread if the model reads another letter as the same symbol, or another letter of its class as
    another symbol. There are no such words if every class of characters is read as one symbol of its own.
    """
    characters = comparison.reference.characters
    if characters is None or not comparison.model.length:
        return
    classes = {letter: _class_of(characters, letter) for letter in comparison.letters}
    first_of_symbol: dict[str | None, str] = {}
    first_of_class: dict[Hashable, str] = {}
    for letter in comparison.letters:
        same_symbol = first_of_symbol.setdefault(comparison.readings[letter], letter)
        if same_symbol != letter:
            yield from _distinguishing_words(comparison, (same_symbol, letter), classes)
        same_class = first_of_class.setdefault(classes[letter], letter)
        if same_class != letter or same_symbol != letter:
            yield from _random_words_with(comparison, letter, classes)


def _distinguishing_words(
    comparison: Comparison, letters: tuple[str, str], classes: dict[str, Hashable]
) -> Iterator[str]:
    """Yield two words with different answers that differ in one position, where they have these two letters."""
    automaton = comparison.reference.specification()
    if not isinstance(automaton, Automaton) or automaton.characters is None:
        return
    tokens = [int(automaton.token_ids(letter)[0]) for letter in letters]
    word = distinguishing_word(automaton, *tokens, comparison.model.length)
    if word is not None:
        letter_of_token: dict[int, str] = {}
        for letter in classes:
            letter_of_token.setdefault(int(automaton.token_ids(letter)[0]), letter)
        for letter in letters:
            yield "".join(letter if token is None else letter_of_token[token] for token in word)


def distinguishing_word(
    automaton: Automaton, first_token: int, second_token: int, length: int
) -> list[int | None] | None:
    """Return a word with one gap (None) whose answer depends on which of the two tokens fills the gap.

    None if there is no such word of this length, or if `MOST_SEARCH_STEPS` steps did not find one. The search runs over
    nodes (state with the first token in the gap, state with the second, whether the gap has been passed).
    """
    rows, accepting = automaton.delta.tolist(), automaton.accepting.tolist()
    layers: list[dict] = [{(automaton.start, automaton.start, False): None}]
    steps = 0
    for _ in range(length):
        after: dict = {}
        for node in layers[-1]:
            p, q, passed_gap = node
            steps += len(automaton.tokens)
            for token in range(len(automaton.tokens)):
                after.setdefault((rows[p][token], rows[q][token], passed_gap), (node, token))
            if not passed_gap:
                after.setdefault((rows[p][first_token], rows[p][second_token], True), (node, None))
        layers.append({node: origin for node, origin in after.items() if not node[2] or node[0] != node[1]})
        if steps > MOST_SEARCH_STEPS:
            return None
    node = next((n for n in layers[-1] if n[2] and accepting[n[0]] != accepting[n[1]]), None)
    if node is None:
        return None
    word: list[int | None] = []
    for layer in reversed(layers[1:]):
        node, token = layer[node]
        word.append(token)
    return word[::-1]


def _random_words_with(comparison: Comparison, letter: str, classes: dict[str, Hashable]) -> Iterator[str]:
    """Yield random words of the problem in which every character of the letter's class is replaced by the letter."""
    characters = comparison.reference.characters or ()
    for random_word in islice(comparison.reference.words(random.Random(0)), RANDOM_WORDS_PER_LETTER):
        word = "".join(letter if _class_of(characters, c) == classes[letter] else c for c in random_word)
        if letter in word:
            yield word


def _class_of(characters: CharacterClasses, letter: str) -> Hashable:
    return next(character_class for first, last, character_class in characters if first <= ord(letter) <= last)
