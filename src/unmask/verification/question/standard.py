"""Standard: what a model is held against, a problem or another model.

It says what is right about a word, how many outputs count, which words to try, and what a proof may hold the model
against. Its words are those of the problem, whatever the model can read. That lengths and outputs can be compared at
all is checked when it is made.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from unmask.engines.engine import Engine
from unmask.errors import ProblemError, UnmaskError, shortened
from unmask.problems.automata.automaton import Automaton
from unmask.problems.catalogue import problem_from_json
from unmask.problems.problem import Outcome, Problem, Specification, Words, words_over
from unmask.verification.question.letters import Ranges, gap_between, read_letters, words_of_letters
from unmask.verification.question.outcomes import outcomes
from unmask.weights.model import Model


class Standard(Protocol):
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
        """Characters as they are classed here, where words are any text."""
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
        """Does `every_word` list all words, or only those that an exhaustive check tries?"""
        ...

    def specification(self) -> Specification | Model | None:
        """What a proof compares the model with; raises TooLarge with the reason if it cannot be made."""
        ...


def standard_of(model: Model, against: Problem | Model, engine: Engine) -> Standard:
    """What `against` says of the words that the model reads."""
    if isinstance(against, Model):
        return ModelStandard.of(model, against, engine)
    return ProblemStandard.of(model, against)


@dataclass(frozen=True, eq=False)
class ProblemStandard:
    """A problem, which knows by itself what is right."""

    model: Model
    problem: Problem
    outputs: int
    answers: int

    @classmethod
    def of(cls, model: Model, problem: Problem) -> "ProblemStandard":
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
class ModelStandard:
    """Another model: right is what it says."""

    model: Model
    other: Model
    outputs: int
    answers: int
    engine: Engine

    @classmethod
    def of(cls, model: Model, other: Model, engine: Engine) -> "ModelStandard":
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
class RestrictedStandard:
    """Another standard, for words over some of its letters."""

    model: Model
    whole: Standard
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
        """As the model reads words; the whole standard may write them in another way."""
        return gap_between(self.model.input_symbols, self.model.characters)

    @property
    def about(self) -> str:
        return f"every word over the letters {shortened(' '.join(self.letters))}"

    def right(self, word: str) -> Outcome:
        return self.whole.right(self.whole.gap.join(word.split(self.gap) if self.gap else word))

    def words(self, rng: random.Random) -> Iterator[str]:
        """In turn a word over the letters, and one of the whole standard, if it has these letters alone."""
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


def letter_read_by_model_alone(model: Model, standard: Standard) -> str | None:
    """A letter that the model reads and the standard does not have; None if there is none."""
    if not model.length:
        return None
    if model.characters is None and standard.characters is None:
        return next((symbol for symbol in model.input_symbols if symbol not in standard.letters), None)
    own = _as_ranges(model.input_symbols, model.characters)
    rest = sorted((first, last) for first, last, *_ in _as_ranges(standard.letters, standard.characters))
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


def _every_word(model: Model, standard: Standard) -> Words:
    letters = list(read_letters(model, standard.letters, standard.characters))
    return words_of_letters(letters, model.length, gap_between(standard.letters, standard.characters))
