"""Question → Subject: the problem with its compiler, ready to be compiled to any kind.

Question ──subject_of──▶ Subject ──model──▶ Model        the length N is that of the word
"""

import random
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.numerics.precision import Precision
from unmask.playground import limits
from unmask.playground.programs import KNOWN
from unmask.playground.question import Question
from unmask.problems.catalogue import parse_problem
from unmask.problems.circuit import pasted_circuit
from unmask.problems.grammar import GrammarProblem
from unmask.problems.problem import Problem
from unmask.problems.program import ProgramProblem
from unmask.programs.compilers.compiler import Compiler, compiler_for
from unmask.verification.question.outcomes import outcome_of_symbols
from unmask.weights.model import Kind, Model

PRECISION = 2


@dataclass(frozen=True)
class Subject:
    """What is asked about, for words of one length."""

    question: Question
    problem: Problem

    @cached_property
    def compiler(self) -> Compiler:
        return compiler_for(self.problem)

    @cached_property
    def length(self) -> int:
        """N: what the problem implies, else as many symbols as the word has."""
        length = self.problem.length
        length = self.problem.symbols_in(self.question.word) if length is None else length
        _check("the word has", length, limits.LENGTH, "symbols")
        return length

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.compiler.kinds

    def model(self, kind: Kind, length: int | None = None) -> Model:
        """Compiled, and no larger than a playground allows."""
        length = self.length if length is None else length
        if kind not in self.kinds:
            raise ProblemError(
                f"{shortened(self.problem.name)} does not compile to {kind}; choose {', '.join(self.kinds)}"
            )
        return _checked(self.compiler.compile(kind, length, Precision(PRECISION)))

    def right(self, word: str, outputs: int) -> str | None:
        """What a run should say of a word; None where nothing is right or wrong."""
        return str(self.problem.outcome(word).last(outputs)) if self.problem.has_answers else None

    def said(self, model: Model, symbols: list[str]) -> str:
        """What the last symbols of a run say: `accepted`, `rejected`, `gives 19`, or `undecided: …`."""
        return str(outcome_of_symbols(model, symbols, self.problem.answer_symbols(model.length)))

    def some_words(self, count: int, length: int | None = None) -> list[str]:
        """Words to try, with both answers among them where both occur; the same at each call."""
        length = self.length if length is None else length
        return list(islice(self.problem.words(length, random.Random(length)), count))


def subject_of(question: Question) -> Subject:
    """Read the problem; nothing here opens a file, and no code comes with it."""
    return Subject(question, _problem(question))


def _problem(question: Question) -> Problem:
    if question.is_circuit:
        return pasted_circuit(question.problem)
    prefix, _, rest = question.problem.partition(":")
    if question.is_grammar:
        return GrammarProblem("cfg:", rest)
    if prefix == "program":
        return ProgramProblem(question.problem, KNOWN[rest])
    return parse_problem(question.problem)


def _checked(model: Model) -> Model:
    _check("the model has", model.rows, limits.ROWS, "rows")
    _check("the model has", max(t.width for t in model.transformers.values()), limits.WIDTH, "columns")
    return model


def _check(what: str, size: int, most: int, unit: str) -> None:
    if size > most:
        raise TooLarge(
            f"{what} {size:,} {unit}, and the playground allows {most:,}; use a shorter word or a smaller "
            "problem, or use `unmask compile`"
        )
