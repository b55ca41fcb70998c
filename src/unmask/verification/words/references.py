"""Reference: what a model is compared with, which is a problem or another model.

A reference gives the expected outcome of a word, the number of answers to compare, the words to try, and the
specification that a proof uses. Its words are those of the problem, even if the model cannot read some of them:

    letter (as it is typed)  ↦  input symbol of the model, or None if the model cannot read it

One character represents all characters that neither the model nor the reference distinguishes.
"""

import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, ProblemError, UnmaskError, WordError, shortened
from unmask.problems.automata.automaton import Automaton
from unmask.problems.catalogue import problem_from_json
from unmask.problems.problem import Outcome, Problem, Specification, Words, is_plain, words_over
from unmask.reasoners.run_words import answers
from unmask.reasoners.typed_words import is_value, read_word, reads_expressions
from unmask.weights.model import Model

Ranges = Sequence[tuple[int, int, Hashable]]
"""Code points from first to last, and the class they belong to, in increasing order."""


def read_letters(model: Model, letters: Sequence[str], characters: Ranges | None) -> dict[str, str | None]:
    """Letter → the symbol that the model reads, or None.

    Words are made of `letters`, or of `characters` where words are any text: then a letter for every class of these
    and every symbol of the model that meet in a character.
    """
    if characters is None:
        return {letter: symbol_of(model, letter) for letter in letters}
    shown: dict[tuple[Hashable, str | None], str] = {}
    readable = _readable(model)
    for low, high, kind in characters:
        for start, end, symbol in _within(readable, low, high):
            candidates = (chr(c) for c in range(start, min(end, start + 128) + 1))
            nice = next((c for c in candidates if c.isprintable() and not c.isspace()), None)
            shown.setdefault((kind, symbol), nice or chr(start))
    order = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    return {shown[key]: key[1] for key in sorted(shown, key=lambda key: order.get(key[1] or "", len(order)))}


def symbol_of(model: Model, letter: str) -> str | None:
    """The input symbol that a model reads for a letter, if it reads one."""
    if model.characters is None:
        return letter if letter in model.input_symbols else None
    if len(letter) != 1:
        return None
    return next((symbol for first, last, symbol in model.characters if first <= ord(letter) <= last), None)


def words_of_letters(letters: Sequence[str], length: int, gap: str) -> Words:
    """All words of a length over the letters, in order."""
    return Words(len(letters) ** length, (gap.join(word) for word in product(letters, repeat=length)))


def gap_between(letters: Sequence[str], characters: Ranges | None) -> str:
    """What keeps letters apart: nothing where each is a character, unless digits side by side would be one number."""
    return "" if characters is not None or (is_plain(letters) and not reads_expressions(letters)) else " "


def _readable(model: Model) -> list[tuple[int, int, str]]:
    """The characters that a model reads in any text, and their symbols, in increasing order."""
    if model.characters is not None:
        return list(model.characters)
    if not is_plain(model.input_symbols) or reads_expressions(model.input_symbols):
        return []
    return [(ord(symbol), ord(symbol), symbol) for symbol in sorted(model.input_symbols)]


def _within(ranges: Sequence[tuple[int, int, str]], low: int, high: int) -> Iterator[tuple[int, int, str | None]]:
    """The parts of [low, high] that the ranges cut it into; what they leave out has no name."""
    for start, end, name in ranges:
        if end < low or start > high:
            continue
        if low < start:
            yield low, start - 1, None
        yield max(low, start), min(high, end), name
        low = end + 1
    if low <= high:
        yield low, high, None


def outcomes(
    model: Model, words: Sequence[str], engine: Engine, *, outputs: int = 1, answers: frozenset[str] = frozenset()
) -> list[Outcome]:
    """What the model says of each word; an error of the run is an outcome too, and so is a word that it cannot read."""
    try:
        tokens = np.array([read_word(model, word) for word in words], dtype=np.int64).reshape(len(words), model.length)
    except WordError as error:
        if len(words) == 1:
            return [Outcome(error=str(error))]
        return [said for word in words for said in outcomes(model, [word], engine, outputs=outputs, answers=answers)]
    return _outcomes(model, tokens, engine, outputs, answers)


def outcome_of_symbols(model: Model, symbols: list[str], answers: frozenset[str] = frozenset()) -> Outcome:
    """What the last symbols of a run say: bits, the value of an expression, `answers` asked for, or neither.

    Where truth values occur among other answers, they are written 0 and 1.
    """
    meaning = {model.accept: True, model.reject: False}
    symbols = model.plain(symbols)
    if answers and all(symbol in meaning or symbol in answers for symbol in symbols):
        return Outcome(value=" ".join(str(int(meaning[s])) if s in meaning else s for s in symbols))
    bits = [meaning[symbol] for symbol in symbols if symbol in meaning]
    if len(bits) == len(symbols):
        return Outcome.of_bits(bits)
    if len(symbols) == 1 and is_value(symbols[0], model.vocabulary):
        return Outcome(value=symbols[0])
    return Outcome(undecided=" ".join(symbols))


def _outcomes(model: Model, tokens: np.ndarray, engine: Engine, outputs: int, symbols: frozenset[str]) -> list[Outcome]:
    try:
        slots = answers(model, tokens, engine=engine).slots[:, -outputs:]
    except (AttendsToNothing, EditsWrittenSlot) as error:
        if len(tokens) == 1:
            return [Outcome(error=str(error))]
        half = len(tokens) // 2
        parts = tokens[:half], tokens[half:]
        return [outcome for part in parts for outcome in _outcomes(model, part, engine, outputs, symbols)]
    return [outcome_of_symbols(model, model.symbols(row), symbols) for row in slots]


class Reference(Protocol):
    """What is right, for words of one length."""

    @property
    def name(self) -> str: ...

    @property
    def outputs(self) -> int:
        """How many answers are compared: that many of the last symbols of the model."""
        ...

    @property
    def answers(self) -> int:
        """How many answers there are; `outputs` is smaller where the model does not give all of them."""
        ...

    @property
    def answer_symbols(self) -> frozenset[str]:
        """Which symbols an answer may be, besides accept and reject."""
        ...

    @property
    def letters(self) -> Sequence[str]:
        """What words are made of."""
        ...

    @property
    def characters(self) -> Ranges | None:
        """The classes of characters, if words are any text."""
        ...

    @property
    def gap(self) -> str:
        """What is written between two letters of a word."""
        ...

    @property
    def about(self) -> str | None:
        """Which words it speaks of, where it says nothing of others that the model reads."""
        ...

    def right(self, word: str) -> Outcome: ...

    def words(self, rng: random.Random) -> Iterator[str]:
        """Words to try, without end."""
        ...

    def every_word(self) -> Words: ...

    @property
    def lists_every_word(self) -> bool:
        """Whether `every_word` lists all words, or only those that an exhaustive check tries."""
        ...

    def specification(self) -> Specification | Model | None:
        """What a proof compares the model with; raises TooLarge with the reason if it cannot be made."""
        ...


def reference_of(model: Model, against: Problem | Model, engine: Engine) -> Reference:
    """What `against` says of the words that the model reads."""
    if isinstance(against, Model):
        return ModelReference.of(model, against, engine)
    return ProblemReference.of(model, against)


@dataclass(frozen=True, eq=False)
class ProblemReference:
    """A problem, which knows by itself what is right."""

    model: Model
    problem: Problem
    outputs: int
    answers: int

    @classmethod
    def of(cls, model: Model, problem: Problem) -> "ProblemReference":
        if not problem.has_answers:
            raise ProblemError(problem.why_no_answers)
        if problem.length not in (None, model.length):
            raise UnmaskError(
                f"the model reads {model.length} symbols, but {shortened(problem.name)} has {problem.length}; "
                "compare with a problem of the same length"
            )
        answers = problem.outputs(model.length)
        return cls(model, problem, min(answers, answers_available(model)), answers)

    @property
    def name(self) -> str:
        return self.problem.name

    @property
    def answer_symbols(self) -> frozenset[str]:
        return self.problem.answer_symbols(self.model.length)

    @property
    def letters(self) -> Sequence[str]:
        return self.problem.letters

    @property
    def characters(self) -> Ranges | None:
        return self.problem.characters

    @property
    def gap(self) -> str:
        return gap_between(self.letters, self.characters)

    @property
    def about(self) -> str | None:
        alone = letter_read_by_model_alone(self.model, self)
        if alone is None:
            return None
        return f"every word of {shortened(self.name)}; it has no letter {shortened(alone)!r}, and the model reads it"

    def right(self, word: str) -> Outcome:
        return self.problem.outcome(word).last(self.outputs)

    def words(self, rng: random.Random) -> Iterator[str]:
        return self.problem.words(self.model.length, rng)

    def every_word(self) -> Words:
        return self.problem.every_word(self.model.length) or _every_word(self.model, self)

    @property
    def lists_every_word(self) -> bool:
        return self.problem.every_word(self.model.length) is None

    def specification(self) -> Specification | None:
        return self.problem.specification(self.model.length)


@dataclass(frozen=True, eq=False)
class ModelReference:
    """Another model: right is what it says."""

    model: Model
    other: Model
    outputs: int
    answers: int
    engine: Engine

    @classmethod
    def of(cls, model: Model, other: Model, engine: Engine) -> "ModelReference":
        """As many answers as the model with more of them has; a model that does not say how many gives all its slots.

        Where one model gives fewer, the verdict says so.
        """
        if other.length != model.length:
            raise UnmaskError(
                f"the models read words of length {model.length} and {other.length}; compare models of the same length"
            )
        if other.length and other.characters == ():
            raise UnmaskError(
                "the other model cannot read any character, so it has no answers to compare; give another model"
            )
        answers = max(stated_answers(m) or 1 for m in (model, other))
        given = [stated_answers(m) or answers_available(m) for m in (model, other)]
        return cls(model, other, min(answers, *given), answers, engine)

    @property
    def name(self) -> str:
        return "the other model"

    @property
    def answer_symbols(self) -> frozenset[str]:
        return frozenset()

    @property
    def letters(self) -> Sequence[str]:
        return self.other.input_symbols

    @property
    def characters(self) -> Ranges | None:
        return self.other.characters

    @property
    def gap(self) -> str:
        return gap_between(self.letters, self.characters)

    @property
    def about(self) -> str | None:
        alone = letter_read_by_model_alone(self.model, self)
        if alone is None:
            return None
        return f"every word that the other model reads; it reads no {shortened(alone)!r}, and this one does"

    def right(self, word: str) -> Outcome:
        return outcomes(self.other, [word], self.engine, outputs=self.outputs)[0]

    def words(self, rng: random.Random) -> Iterator[str]:
        letters = list(read_letters(self.model, self.letters, self.characters))
        return words_over(letters, self.model.length, rng, gap=gap_between(self.letters, self.characters))

    def every_word(self) -> Words:
        return _every_word(self.model, self)

    @property
    def lists_every_word(self) -> bool:
        return True

    def specification(self) -> Model:
        return self.other


@dataclass(frozen=True, eq=False)
class RestrictedReference:
    """Another reference, for words over some of its letters."""

    model: Model
    whole: Reference
    letters: Sequence[str]

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def outputs(self) -> int:
        return self.whole.outputs

    @property
    def answers(self) -> int:
        return self.whole.answers

    @property
    def answer_symbols(self) -> frozenset[str]:
        return self.whole.answer_symbols

    @property
    def characters(self) -> None:
        return None

    @property
    def gap(self) -> str:
        """As the model reads words; the whole reference may write them in another way."""
        return gap_between(self.model.input_symbols, self.model.characters)

    @property
    def about(self) -> str:
        return f"every word over the letters {shortened(' '.join(self.letters))}"

    def right(self, word: str) -> Outcome:
        return self.whole.right(self.whole.gap.join(word.split(self.gap) if self.gap else word))

    def words(self, rng: random.Random) -> Iterator[str]:
        """In turn a word over the letters, and one of the whole reference, if it has these letters alone."""
        anything = words_over(self.letters, self.model.length, rng, gap=self.gap)
        allowed, apart = set(self.letters), self.whole.gap
        for one, other in zip(anything, self.whole.words(rng), strict=False):
            yield one
            letters = other.split(apart) if apart else list(other)
            if allowed.issuperset(letters):
                yield self.gap.join(letters)

    def every_word(self) -> Words:
        return words_of_letters(self.letters, self.model.length, self.gap)

    @property
    def lists_every_word(self) -> bool:
        return True

    def specification(self) -> Specification | Model | None:
        """An automaton loses the letters that are left out, so that its certificate speaks of these alone."""
        found = self.whole.specification()
        if not isinstance(found, Automaton):
            return found
        tokens = [int(found.token_ids([letter])[0]) for letter in self.letters]
        return Automaton(tuple(self.letters), found.delta[:, tokens], found.start, found.accepting)


def letter_read_by_model_alone(model: Model, reference: Reference) -> str | None:
    """Return a letter that the model reads and the reference does not have, or None."""
    if not model.length:
        return None
    if model.characters is None and reference.characters is None:
        return next((symbol for symbol in model.input_symbols if symbol not in reference.letters), None)
    own = _as_ranges(model.input_symbols, model.characters)
    rest = sorted((first, last) for first, last, *_ in _as_ranges(reference.letters, reference.characters))
    for low, last, *_ in own:
        for start, end in rest:
            if start > low or low > last:
                break
            low = max(low, end + 1)
        if low <= last:
            points = range(low, min([last, low + 128, *(start - 1 for start, _ in rest if start > low)]) + 1)
            return next((c for c in map(chr, points) if c.isprintable() and not c.isspace()), chr(low))
    return None


def _as_ranges(letters: Sequence[str], characters: Ranges | None) -> Ranges:
    """Ranges of code points; letters of several characters are not text and have none."""
    return characters if characters is not None else [(ord(x), ord(x), x) for x in sorted(letters) if len(x) == 1]


def output_count(model: Model) -> int:
    """How many answers the problem has that the folder names; 1 where it names none."""
    return _outputs_of_problem(model) or 1


def answer_count(model: Model) -> int:
    """How many of the last symbols of a model are its answers."""
    return stated_answers(model) or 1


def stated_answers(model: Model) -> int | None:
    """The number of answers as the folder states it (`outputs`), else as its problem says; None if neither does."""
    if model.outputs is not None or model.kind == "plt":
        return model.answer_rows
    outputs = _outputs_of_problem(model)
    return None if outputs is None else min(outputs, model.padding)


def answers_available(model: Model) -> int:
    """How many symbols at the end of a run can be answers."""
    return model.symbols_written if model.outputs is None else model.outputs


def with_stated_outputs(model: Model) -> Model:
    """The same model, with `outputs` stated where its problem has several answers: conversions carry the number on."""
    outputs = output_count(model)
    if model.outputs is not None or outputs == 1:
        return model
    return replace(model, outputs=1 if model.kind == "plt" else min(outputs, model.padding))


def _outputs_of_problem(model: Model) -> int | None:
    try:
        return max(1, problem_from_json(model.problem).outputs(model.length)) if model.problem else None
    except UnmaskError:
        return None


def _every_word(model: Model, reference: Reference) -> Words:
    letters = list(read_letters(model, reference.letters, reference.characters))
    return words_of_letters(letters, model.length, gap_between(reference.letters, reference.characters))
