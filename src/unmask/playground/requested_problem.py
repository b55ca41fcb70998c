"""Request → PlaygroundQuestion → RequestedProblem: a checked request, then its problem and compiler.

A PROBLEM is written as on the command line, except that it may not name a file: a circuit is pasted as ASCII AIGER, a
grammar as `cfg:` and its rules. `program:` takes the name of a program in `programs/`, never code.
"""

import random
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal, get_args

import msgspec

from unmask.compilers.compiler import Compiler, compiler_for
from unmask.errors import ProblemError, TooLarge, UnmaskError, shortened
from unmask.files import DocumentErrors, must_be, read_document
from unmask.numerics.arithmetic import Precision
from unmask.playground import request_limits
from unmask.playground.programs import KNOWN
from unmask.problems.catalogue import CATALOGUE, parse_problem
from unmask.problems.circuit_problems import pasted_circuit
from unmask.problems.grammar_problems import GrammarProblem
from unmask.problems.problem import Problem
from unmask.problems.program_problems import ProgramProblem
from unmask.verification.model_outcomes import outcome_of_symbols
from unmask.weights.kinds import DIFFUSION, KINDS, Kind
from unmask.weights.model import Model

PlannerName = Literal["own", "uniform", "confidence", "left-to-right"]
PLANNERS: tuple[PlannerName, ...] = get_args(PlannerName)
PROGRAMS = ("palindrome", "corridor", "rook", "traffic")
READ_FILES = tuple(row.prefix for row in CATALOGUE if row.reads_file)


class BadQuestion(UnmaskError):
    """Raised for a request that cannot be understood or exceeds a limit."""


ERRORS = DocumentErrors(
    no_object='a request must be a JSON object such as {{"problem": "(a|b)*abb", "word": "aabb"}}',
    unknown="a request has no field {key!r}; use problem, word, kind, planner, k, seed",
    missing="the request has no {key}; add it as a string",
    wrong="the request's {key} must be {expected}, not {value}",
    error=BadQuestion,
)


def _one_of(choices: tuple[str, ...]) -> msgspec.Meta:
    return must_be(f"one of {', '.join(choices)}")


class PlaygroundQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request. `planner` is "own" for the model's own planner, or a planner that takes k slots in each step."""

    problem: Annotated[str, must_be("a string")]
    word: Annotated[str, must_be("a string")]
    kind: Annotated[Kind, _one_of(KINDS)] = "mdm"
    planner: Annotated[PlannerName, _one_of(PLANNERS)] = "own"
    k: Annotated[
        int,
        msgspec.Meta(ge=1, le=request_limits.LARGEST_K),
        must_be(f"an integer from 1 to {request_limits.LARGEST_K:,}"),
    ] = 1
    seed: Annotated[
        int,
        msgspec.Meta(ge=0, le=request_limits.LARGEST_SEED),
        must_be(f"an integer from 0 to {request_limits.LARGEST_SEED:,}"),
    ] = 0

    @classmethod
    def of(cls, document: Any) -> "PlaygroundQuestion":
        """Read a question from a JSON object; the fields `problem` and `word` are required."""
        question = read_document(document, cls, ERRORS)
        question.check_characters()
        question.check_sizes()
        question.check_files()
        return question

    def check_characters(self) -> None:
        for name, text in (("problem", self.problem), ("word", self.word)):
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise BadQuestion(f"the {name} contains half of a surrogate pair, which is not a character; remove it")

    def check_sizes(self) -> None:
        for name, text, most in (
            ("problem", self.problem, request_limits.CIRCUIT if self.is_circuit else request_limits.PROBLEM),
            ("word", self.word, request_limits.WORD),
        ):
            if len(text) > most:
                raise BadQuestion(f"the {name} has {len(text):,} characters, more than {most:,}; use a shorter one")

    def check_files(self) -> None:
        """Refuse a problem that names a file: the playground reads no files, and does not run code from requests."""
        prefix, colon, rest = self.problem.partition(":")
        if not colon or prefix not in READ_FILES or self.is_grammar:
            return
        if prefix == "program":
            if rest in PROGRAMS:
                return
            raise BadQuestion(
                f"the playground runs only its own programs: {', '.join(PROGRAMS)}; "
                "use `unmask compile` for your own file"
            )
        raise BadQuestion(
            f"the playground does not read files, so it refuses {prefix}:; paste a circuit as ASCII AIGER (aag …) or a "
            "grammar (cfg: S -> …), or use `unmask compile`"
        )

    @property
    def is_grammar(self) -> bool:
        """Return whether the problem is a grammar: `cfg:` and rules, which have arrows."""
        return self.problem.startswith("cfg:") and any(arrow in self.problem for arrow in ("->", "→", "::="))

    @property
    def is_circuit(self) -> bool:
        """Return whether the problem is a circuit pasted as ASCII AIGER, whose first word is `aag`."""
        return self.problem.startswith("aag ")

    @property
    def planner_name(self) -> str | None:
        """Return the planner as `--planner` takes it; None for the model's own, or if the model has no planner."""
        return None if self.planner == "own" or self.kind not in DIFFUSION else f"{self.planner}:{self.k}"

    def to_json(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


PRECISION = 2


@dataclass(frozen=True)
class RequestedProblem:
    """The problem of a request, for words of one length."""

    question: PlaygroundQuestion
    problem: Problem

    @cached_property
    def compiler(self) -> Compiler:
        return compiler_for(self.problem)

    @cached_property
    def length(self) -> int:
        """Return N: the length that the problem implies, otherwise the number of symbols of the word."""
        length = self.problem.length
        length = self.problem.symbols_in(self.question.word) if length is None else length
        _check("the word has", length, request_limits.LENGTH, "symbols")
        return length

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.compiler.kinds

    def model(self, kind: Kind, length: int | None = None) -> Model:
        """Compile the problem, unless the model would be larger than the playground allows."""
        length = self.length if length is None else length
        if kind not in self.kinds:
            raise ProblemError(
                f"{shortened(self.problem.name)} does not compile to {kind}; choose {', '.join(self.kinds)}"
            )
        return _check_model_size(self.compiler.compile(kind, length, Precision(PRECISION)))

    def correct_answer(self, word: str, outputs: int) -> str | None:
        """Return the right answer for a word; None if the problem has none."""
        return str(self.problem.outcome(word).last(outputs)) if self.problem.has_answers else None

    def answer_of(self, model: Model, symbols: list[str]) -> str:
        """Return the answer in the last symbols of a run: `accepted`, `rejected`, `gives 19`, or `undecided: …`."""
        return str(outcome_of_symbols(model, symbols, self.problem.answer_symbols(model.length)))

    def some_words(self, count: int, length: int | None = None) -> list[str]:
        """Return words to try, with both answers if both occur; every call returns the same words."""
        length = self.length if length is None else length
        return list(islice(self.problem.words(length, random.Random(length)), count))


def requested_problem(question: PlaygroundQuestion) -> RequestedProblem:
    """Read the problem; this never opens a file, and a problem contains no code."""
    return RequestedProblem(question, _problem(question))


def _problem(question: PlaygroundQuestion) -> Problem:
    if question.is_circuit:
        return pasted_circuit(question.problem)
    prefix, _, rest = question.problem.partition(":")
    if question.is_grammar:
        return GrammarProblem("cfg:", rest)
    if prefix == "program":
        return ProgramProblem(question.problem, KNOWN[rest])
    return parse_problem(question.problem)


def _check_model_size(model: Model) -> Model:
    _check("the model has", model.rows, request_limits.ROWS, "rows")
    _check("the model has", max(t.width for t in model.transformers.values()), request_limits.WIDTH, "columns")
    return model


def _check(subject: str, size: int, most: int, unit: str) -> None:
    if size > most:
        raise TooLarge(
            f"{subject} {size:,} {unit}, and the playground allows {most:,}; use a shorter word or a smaller "
            "problem, or use `unmask compile`"
        )
