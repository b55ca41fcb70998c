"""Question → Subject: the problem with its compiler and its oracle, ready to be compiled to any kind.

Question ──subject_of──▶ Subject ──model──▶ Model        the length N is that of the word
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.numerics.precision import Precision
from unmask.pipeline import compile_problem, oracle_of, output_count
from unmask.playground import limits
from unmask.playground.question import Question
from unmask.problems.aiger import parse_aiger
from unmask.problems.boolean import CircuitProblem
from unmask.problems.problem import Problem, automaton_of, parse_problem
from unmask.programs.compiler import Compiler, compiler_for
from unmask.traces.trace import Trace
from unmask.verification.cases import symbols_outcome
from unmask.weights.model import Kind, Model

PRECISION = 2


@dataclass(frozen=True)
class Subject:
    """What is asked about, for words of one length; `problem` is None for random weights, of which nothing is right."""

    question: Question
    problem: Problem | None

    @cached_property
    def compiler(self) -> Compiler:
        assert self.problem is not None
        return compiler_for(self.problem)

    @cached_property
    def length(self) -> int:
        """N: what the problem implies, else as many symbols as the word has."""
        length = None if self.problem is None else self.compiler.length
        length = _symbols(self.problem, self.question.word) if length is None else length
        _check("the word has", length, limits.LENGTH, "symbols")
        return length

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return () if self.problem is None else self.compiler.kinds

    def model(self, kind: Kind, length: int | None = None) -> Model:
        """Compiled, and no larger than a playground allows."""
        length = self.length if length is None else length
        if self.problem is None:
            return _checked(compile_problem(self.question.problem, kind, length=length))
        if kind not in self.kinds:
            raise ProblemError(f"{shortened(self.problem.name)} is compiled into {', '.join(self.kinds)}, not {kind}")
        return _checked(self.compiler.compile(kind, length, Precision(PRECISION)))

    def right(self, word: str, outputs: int) -> str | None:
        """What a run should say of a word."""
        return None if self.problem is None else oracle_of(self.problem, outputs)(word)

    def some_words(self, count: int, length: int | None = None) -> list[str]:
        """Words to try, with both answers among them where both occur; the same at each call."""
        length = self.length if length is None else length
        return list(islice(self._words(length), count))

    def _words(self, length: int) -> Iterator[str]:
        return iter(()) if self.problem is None else self.compiler.words(length, random.Random(length))


def subject_of(question: Question) -> Subject:
    """Read the problem; nothing here opens a file."""
    if question.is_circuit:
        return Subject(question, CircuitProblem("aiger:pasted", parse_aiger(question.problem.encode(), "the circuit")))
    if question.problem.startswith("random:"):
        return Subject(question, None)
    return Subject(question, parse_problem(question.problem))


def outputs_of(model: Model) -> int:
    """How many of the last slots are the answer: a looped model says one bit, a circuit may have several."""
    return 1 if model.kind == "plt" else output_count(model)


def answer_of(model: Model, trace: Trace, outputs: int) -> str:
    """`accepted`, `rejected`, `gives 19`, or `undecided: …`."""
    return symbols_outcome(model, trace.output[-outputs:])


def _symbols(problem: Problem | None, word: str) -> int:
    """How many symbols a word has: characters, unless the letters of the problem are longer than that."""
    if problem is None or not hasattr(type(problem), "automaton"):
        return len(word)
    automaton = automaton_of(problem)
    single = automaton.characters is not None or all(len(token) == 1 for token in automaton.tokens)
    return len(word) if single else len(word.split())


def _checked(model: Model) -> Model:
    _check("the model has", model.rows, limits.ROWS, "rows")
    _check("the model has", max(t.width for t in model.transformers.values()), limits.WIDTH, "columns")
    return model


def _check(what: str, size: int, most: int, unit: str) -> None:
    if size > most:
        raise TooLarge(
            f"{what} {size:,} {unit}, more than the {most:,} of the playground; take a shorter word or a smaller "
            "problem, or use `unmask compile`"
        )
