"""What a model is compared with: a problem or another model (`Reference`). Both sides together are a `Comparison`.

A reference gives the expected outcome of a word, the number of answers to compare, the words to try, and the
specification that a proof uses. Its words are those of the problem, even if the model cannot read some of them:

    letter (as it is typed)  ↦  input symbol of the model, or None if the model cannot read it

One character represents all characters that neither the model nor the reference distinguishes.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from unmask.errors import ProblemError, UnmaskError, WordError, shortened
from unmask.problems.automata.automaton import Automaton
from unmask.problems.catalogue import problem_from_json
from unmask.problems.problem import Outcome, Problem, Specification, Words, is_plain, words_over
from unmask.reasoners.typed_words import read_word, reads_expressions
from unmask.verification.verdict import Verdict
from unmask.weights.model import Model

CharacterClasses = Sequence[tuple[int, int, Hashable]]
"""(first code point, last code point, class of these characters), in increasing order."""


class RunWords(Protocol):
    """A function that runs a model on words, such as `model_outcomes.outcomes` with an engine."""

    def __call__(
        self, model: Model, words: Sequence[str], *, outputs: int, answers: frozenset[str]
    ) -> list[Outcome]: ...


class Reference(Protocol):
    """What a model is compared with, for words of one length."""

    @property
    def name(self) -> str: ...

    @property
    def outputs(self) -> int:
        """The number of answers that are compared: the last symbols of the model."""
        ...

    @property
    def answers(self) -> int:
        """The number of answers that there are; `outputs` is smaller if the model does not give all of them."""
        ...

    @property
    def answer_symbols(self) -> frozenset[str]:
        """The symbols that an answer may be, besides accept and reject."""
        ...

    @property
    def letters(self) -> Sequence[str]:
        """The letters that words consist of."""
        ...

    @property
    def characters(self) -> CharacterClasses | None:
        """The classes of characters, if words are any text."""
        ...

    @property
    def gap(self) -> str:
        """The separator between two letters of a word."""
        ...

    @property
    def about(self) -> str | None:
        """The words that are compared, described for the verdict; None if these are all words that the model reads."""
        ...

    def expected(self, word: str) -> Outcome: ...

    def words(self, rng: random.Random) -> Iterator[str]:
        """Yield words to try, without end."""
        ...

    def every_word(self) -> Words: ...

    @property
    def lists_every_word(self) -> bool:
        """Whether `every_word` lists all words, or only those that an exhaustive check tries."""
        ...

    def specification(self) -> Specification | Model | None:
        """Return what a proof compares the model with; None if there is nothing. Raise TooLarge if it is too large."""
        ...


def reference_of(model: Model, against: Problem | Model, run_words: RunWords) -> Reference:
    """Return the problem or the other model as the reference of a model."""
    if isinstance(against, Model):
        return ModelReference.of(model, against, run_words)
    return ProblemReference.of(model, against)


@dataclass(frozen=True, eq=False)
class _AllWords(ABC):
    """What references to problems and to models share: their words are all words over their own letters."""

    model: Model
    letters: Sequence[str]
    characters: CharacterClasses | None
    outputs: int
    answers: int

    @property
    def gap(self) -> str:
        return gap_between(self.letters, self.characters)

    @property
    def about(self) -> str | None:
        letter = letter_read_by_model_alone(self.model, self.letters, self.characters)
        return None if letter is None else self._about_words_without(shortened(letter))

    @abstractmethod
    def _about_words_without(self, letter: str) -> str: ...

    def every_word(self) -> Words:
        letters = list(read_letters(self.model, self.letters, self.characters))
        return words_of_letters(letters, self.model.length, self.gap)


@dataclass(frozen=True, eq=False)
class ProblemReference(_AllWords):
    """A problem as the reference."""

    problem: Problem

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
        outputs = min(answers, largest_answer_count(model))
        return cls(model, problem.letters, problem.characters, outputs, answers, problem)

    @property
    def name(self) -> str:
        return self.problem.name

    @property
    def answer_symbols(self) -> frozenset[str]:
        return self.problem.answer_symbols(self.model.length)

    def _about_words_without(self, letter: str) -> str:
        return f"every word of {shortened(self.name)}; it has no letter {letter!r}, and the model reads it"

    def expected(self, word: str) -> Outcome:
        return self.problem.outcome(word).last(self.outputs)

    def words(self, rng: random.Random) -> Iterator[str]:
        return self.problem.words(self.model.length, rng)

    def every_word(self) -> Words:
        return self.problem.every_word(self.model.length) or super().every_word()

    @property
    def lists_every_word(self) -> bool:
        return self.problem.every_word(self.model.length) is None

    def specification(self) -> Specification | None:
        return self.problem.specification(self.model.length)


@dataclass(frozen=True, eq=False)
class ModelReference(_AllWords):
    """Another model as the reference."""

    other: Model
    run_words: RunWords

    @classmethod
    def of(cls, model: Model, other: Model, run_words: RunWords) -> "ModelReference":
        """Compare as many answers as both models give.

        A model whose folder does not state a number of answers gives all its slots. `answers` is the larger of the
        stated numbers, so that the verdict can report that fewer were compared.
        """
        if other.length != model.length:
            raise UnmaskError(
                f"the models read words of length {model.length} and {other.length}; compare models of the same length"
            )
        if other.length and other.characters == ():
            raise UnmaskError(
                "the other model cannot read any character, so it has no answers to compare; give another model"
            )
        answers = max(answer_count(m) for m in (model, other))
        available = [known_answer_count(m) or largest_answer_count(m) for m in (model, other)]
        return cls(model, other.input_symbols, other.characters, min(answers, *available), answers, other, run_words)

    @property
    def name(self) -> str:
        return "the other model"

    @property
    def answer_symbols(self) -> frozenset[str]:
        return frozenset()

    def _about_words_without(self, letter: str) -> str:
        return f"every word that the other model reads; it reads no {letter!r}, and this one does"

    def expected(self, word: str) -> Outcome:
        return self.run_words(self.other, [word], outputs=self.outputs, answers=self.answer_symbols)[0]

    def words(self, rng: random.Random) -> Iterator[str]:
        letters = list(read_letters(self.model, self.letters, self.characters))
        return words_over(letters, self.model.length, rng, gap=self.gap)

    @property
    def lists_every_word(self) -> bool:
        return True

    def specification(self) -> Model:
        return self.other


@dataclass(frozen=True, eq=False)
class RestrictedReference:
    """Another reference, restricted to words over some of its letters."""

    model: Model
    full: Reference
    letters: Sequence[str]

    @property
    def name(self) -> str:
        return self.full.name

    @property
    def outputs(self) -> int:
        return self.full.outputs

    @property
    def answers(self) -> int:
        return self.full.answers

    @property
    def answer_symbols(self) -> frozenset[str]:
        return self.full.answer_symbols

    @property
    def characters(self) -> None:
        return None

    @property
    def gap(self) -> str:
        """The separator of the model, which may differ from that of the full reference."""
        return gap_between(self.model.input_symbols, self.model.characters)

    @property
    def about(self) -> str:
        return f"every word over the letters {shortened(' '.join(self.letters))}"

    def expected(self, word: str) -> Outcome:
        return self.full.expected(self.full.gap.join(word.split(self.gap) if self.gap else word))

    def words(self, rng: random.Random) -> Iterator[str]:
        """Yield, in turn, a random word over the letters and a word of the full reference that has no other letters."""
        random_words = words_over(self.letters, self.model.length, rng, gap=self.gap)
        allowed, separator = set(self.letters), self.full.gap
        for random_word, full_word in zip(random_words, self.full.words(rng), strict=False):
            yield random_word
            letters = full_word.split(separator) if separator else list(full_word)
            if allowed.issuperset(letters):
                yield self.gap.join(letters)

    def every_word(self) -> Words:
        return words_of_letters(self.letters, self.model.length, self.gap)

    @property
    def lists_every_word(self) -> bool:
        return True

    def specification(self) -> Specification | Model | None:
        """Return the full specification; an automaton without the other letters, so that its certificate has none."""
        specification = self.full.specification()
        if not isinstance(specification, Automaton):
            return specification
        tokens = [int(specification.token_ids([letter])[0]) for letter in self.letters]
        delta = specification.delta[:, tokens]
        return Automaton(tuple(self.letters), delta, specification.start, specification.accepting)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model, the reference it is compared with, and the function that runs words to confirm a refutation."""

    model: Model
    reference: Reference
    run_words: RunWords
    certified: bool = False
    """Whether the proof must have a certificate."""
    by: str | None = None
    """The only method of proof to try: induction or sat; None for any."""

    @cached_property
    def readings(self) -> dict[str, str | None]:
        """Letter as it is typed → the symbol that the model reads for it, or None."""
        return read_letters(self.model, self.reference.letters, self.reference.characters)

    @property
    def letters(self) -> list[str]:
        """One letter for each class of characters that the model or the reference distinguishes; none if N = 0."""
        return list(self.readings) if self.model.length else []

    def word(self, numbers: Sequence[int]) -> str:
        """Return the word of letters given by their indices."""
        letters = self.letters
        return self.reference.gap.join(letters[k] for k in numbers)

    def outcomes_of(self, words: Sequence[str]) -> list[Outcome]:
        reference = self.reference
        return self.run_words(self.model, words, outputs=reference.outputs, answers=reference.answer_symbols)

    def unread(self, method: str) -> Verdict | None:
        """Return refuted, with a word, if the model cannot read a letter or a word of the reference; else None."""
        readable = next((letter for letter, symbol in self.readings.items() if symbol is not None), None)
        last = next((letter for letter, symbol in self.readings.items() if symbol is None), readable)
        if last is None or not self.model.length:
            return None
        word = self.reference.gap.join([readable or last] * (self.model.length - 1) + [last])
        try:
            read_word(self.model, word)
        except WordError as error:
            expected = str(self.reference.expected(word))
            return Verdict("refuted", method, 1, counterexample=word, expected=expected, got=f"error: {error}")
        return None


# The letters of words, and what the model reads for them.


def read_letters(model: Model, letters: Sequence[str], characters: CharacterClasses | None) -> dict[str, str | None]:
    """Return letter → the symbol that the model reads, or None.

    Words are made of `letters`. If words are any text, `characters` has their classes instead. Then there is one letter
    for each pair (class, symbol that the model reads) that occurs for some character.
    """
    if characters is None:
        return {letter: symbol_of(model, letter) for letter in letters}
    letter_of: dict[tuple[Hashable, str | None], str] = {}
    readable = _readable_characters(model)
    for low, high, character_class in characters:
        for start, end, symbol in _split_range(readable, low, high):
            candidates = (chr(c) for c in range(start, min(end, start + 128) + 1))
            printable = next((c for c in candidates if c.isprintable() and not c.isspace()), None)
            letter_of.setdefault((character_class, symbol), printable or chr(start))
    order = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    return {letter_of[key]: key[1] for key in sorted(letter_of, key=lambda key: order.get(key[1] or "", len(order)))}


def symbol_of(model: Model, letter: str) -> str | None:
    """Return the input symbol that a model reads for a letter, or None if it cannot read the letter."""
    if model.characters is None:
        return letter if letter in model.input_symbols else None
    if len(letter) != 1:
        return None
    return next((symbol for first, last, symbol in model.characters if first <= ord(letter) <= last), None)


def symbol_numbers(model: Model, letters: Sequence[str]) -> np.ndarray:
    """Return the number of the input symbol that a model reads for each letter."""
    numbers = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    symbols = [symbol_of(model, letter) for letter in letters]
    for letter, symbol in zip(letters, symbols, strict=True):
        if symbol is None:  # `Comparison.unread` finds such letters earlier
            raise WordError(f"the letter {shortened(letter)!r} occurs on only one side; compare over common letters")
    return np.array([numbers[symbol] for symbol in symbols if symbol is not None], dtype=np.int64)


def token_numbers(automaton: Automaton, letters: Sequence[str]) -> np.ndarray:
    """Return the automaton's token for each letter."""
    return np.array([int(automaton.token_ids([letter])[0]) for letter in letters])


def words_of_letters(letters: Sequence[str], length: int, gap: str) -> Words:
    """Return all words of a length over the letters, in order."""
    return Words(len(letters) ** length, (gap.join(word) for word in product(letters, repeat=length)))


def gap_between(letters: Sequence[str], characters: CharacterClasses | None) -> str:
    """Return the separator of letters in a word.

    It is empty if every letter is one character. In expressions it is a space, because adjacent digits are one number.
    """
    return "" if characters is not None or (is_plain(letters) and not reads_expressions(letters)) else " "


def _readable_characters(model: Model) -> list[tuple[int, int, str]]:
    """Return (first, last, symbol) of the characters that a model reads, in increasing order."""
    if model.characters is not None:
        return list(model.characters)
    if not is_plain(model.input_symbols) or reads_expressions(model.input_symbols):
        return []
    return [(ord(symbol), ord(symbol), symbol) for symbol in sorted(model.input_symbols)]


def _split_range(ranges: Sequence[tuple[int, int, str]], low: int, high: int) -> Iterator[tuple[int, int, str | None]]:
    """Split [low, high] at the ranges: yield (first, last, symbol), with None for code points outside of all ranges."""
    for start, end, symbol in ranges:
        if end < low or start > high:
            continue
        if low < start:
            yield low, start - 1, None
        yield max(low, start), min(high, end), symbol
        low = end + 1
    if low <= high:
        yield low, high, None


def letter_read_by_model_alone(model: Model, letters: Sequence[str], characters: CharacterClasses | None) -> str | None:
    """Return a letter that the model reads and a reference with these letters does not have, or None."""
    if not model.length:
        return None
    if model.characters is None and characters is None:
        return next((symbol for symbol in model.input_symbols if symbol not in letters), None)
    covered = sorted((first, last) for first, last, *_ in _as_ranges(letters, characters))
    for low, last, *_ in _as_ranges(model.input_symbols, model.characters):
        for start, end in covered:
            if start > low or low > last:
                break
            low = max(low, end + 1)
        if low <= last:
            points = range(low, min([last, low + 128, *(start - 1 for start, _ in covered if start > low)]) + 1)
            return next((c for c in map(chr, points) if c.isprintable() and not c.isspace()), chr(low))
    return None


def _as_ranges(letters: Sequence[str], characters: CharacterClasses | None) -> CharacterClasses:
    """Return letters as ranges of code points, without letters of several characters."""
    return characters if characters is not None else [(ord(x), ord(x), x) for x in sorted(letters) if len(x) == 1]


# The number of answers of a model.


def output_count(model: Model) -> int:
    """Return the number of answers of the problem that the model folder names; 1 if it names none."""
    return _outputs_of_problem(model) or 1


def answer_count(model: Model) -> int:
    """Return how many of the last symbols of a model are its answers."""
    return known_answer_count(model) or 1


def known_answer_count(model: Model) -> int | None:
    """Return the number of answers that the model folder states (`outputs`), else that of its problem, else None."""
    if model.outputs is not None or model.kind == "plt":
        return model.answer_rows
    outputs = _outputs_of_problem(model)
    return None if outputs is None else min(outputs, model.padding)


def largest_answer_count(model: Model) -> int:
    """Return how many symbols at the end of a run can be answers."""
    return model.symbols_written if model.outputs is None else model.outputs


def with_stated_outputs(model: Model) -> Model:
    """Return the model with `outputs` set if its problem has several answers: a conversion keeps `outputs`."""
    outputs = output_count(model)
    if model.outputs is not None or outputs == 1:
        return model
    return replace(model, outputs=1 if model.kind == "plt" else min(outputs, model.padding))


def _outputs_of_problem(model: Model) -> int | None:
    try:
        return max(1, problem_from_json(model.problem).outputs(model.length)) if model.problem else None
    except UnmaskError:
        return None
