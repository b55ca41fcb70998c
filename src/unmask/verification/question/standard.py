"""Standard: what a model is held against, a problem or another model.

It says what is right about a word, how many outputs count, which words to try, and what a proof may hold the model
against. Its words are those of the problem, whatever the model can read. That lengths and outputs can be compared at
all is checked when it is made.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from unmask.engines.engine import Engine
from unmask.errors import ProblemError, UnmaskError, shortened
from unmask.problems.catalogue import problem_from_json
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Problem, Words
from unmask.problems.specification import Specification
from unmask.problems.word_draws import words_over
from unmask.verification.question.letters import Ranges, gap_between, read_letters, words_of_letters
from unmask.verification.question.outcomes import outcomes
from unmask.weights.model import Model


class Standard(Protocol):
    """What is right, for words of one length."""

    @property
    def name(self) -> str: ...

    @property
    def outputs(self) -> int:
        """How many of the last symbols of a model are its answer."""
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
    def about(self) -> str | None:
        """Which words it speaks of, where it says nothing of others that the model reads."""
        ...

    def right(self, word: str) -> Outcome: ...

    def words(self, rng: random.Random) -> Iterator[str]:
        """Words to try, without end."""
        ...

    def every_word(self) -> Words: ...

    def specification(self) -> Specification | Model | None: ...


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

    @classmethod
    def of(cls, model: Model, problem: Problem) -> "ProblemStandard":
        if not problem.has_answers:
            raise ProblemError(problem.why_no_answers)
        outputs = 1 if model.kind == "plt" else problem.outputs(model.length)  # a looped model has only the last one
        if outputs > model.padding and model.kind != "plt":
            raise UnmaskError(
                f"the model writes {model.padding} symbols and {shortened(problem.name)} has {outputs} outputs; "
                "compare like with like"
            )
        if problem.length not in (None, model.length):
            raise UnmaskError(
                f"the model reads {model.length} symbols and {shortened(problem.name)} has {problem.length}; "
                "compare like with like"
            )
        return cls(model, problem, outputs)

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
    def about(self) -> None:
        return None

    def right(self, word: str) -> Outcome:
        return self.problem.outcome(word).last(self.outputs)

    def words(self, rng: random.Random) -> Iterator[str]:
        return self.problem.words(self.model.length, rng)

    def every_word(self) -> Words:
        return self.problem.every_word(self.model.length) or _every_word(self.model, self)

    def specification(self) -> Specification | None:
        return self.problem.specification(self.model.length)


@dataclass(frozen=True, eq=False)
class ModelStandard:
    """Another model: right is what it says."""

    model: Model
    other: Model
    outputs: int
    engine: Engine

    @classmethod
    def of(cls, model: Model, other: Model, engine: Engine) -> "ModelStandard":
        """Outputs are those that both models name."""
        if other.length != model.length:
            raise UnmaskError(
                f"the models read words of length {model.length} and {other.length}; compare like with like"
            )
        if other.length and other.characters == ():
            raise UnmaskError("the other model can read no character, so that it says nothing about any word")
        return cls(model, other, min(_written(m) for m in (model, other)), engine)

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
    def about(self) -> str | None:
        own = read_letters(self.other, self.model.input_symbols, self.model.characters)
        unread = next((letter for letter, symbol in own.items() if symbol is None), None)
        if unread is None or not self.model.length:
            return None
        return f"every word that the other model reads; it reads no {shortened(unread)!r}, and this one does"

    def right(self, word: str) -> Outcome:
        return outcomes(self.other, [word], self.engine, outputs=self.outputs)[0]

    def words(self, rng: random.Random) -> Iterator[str]:
        letters = list(read_letters(self.model, self.letters, self.characters))
        return words_over(letters, self.model.length, rng, gap=gap_between(self.letters, self.characters))

    def every_word(self) -> Words:
        return _every_word(self.model, self)

    def specification(self) -> Model:
        return self.other


def output_count(model: Model) -> int:
    """How many outputs the circuit has that the folder names; 1 where it names none."""
    try:
        return problem_from_json(model.problem).outputs(model.length)
    except ProblemError:
        return 1


def answer_count(model: Model) -> int:
    """How many of the last symbols of a model are its answer: a looped model says one bit, a circuit may have more."""
    return 1 if model.kind == "plt" else output_count(model)


def _written(model: Model) -> int:
    return 1 if model.kind == "plt" else min(output_count(model), model.padding)


def _every_word(model: Model, standard: Standard) -> Words:
    letters = list(read_letters(model, standard.letters, standard.characters))
    return words_of_letters(letters, model.length, gap_between(standard.letters, standard.characters))
