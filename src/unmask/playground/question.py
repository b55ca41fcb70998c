"""Request → Question: what the page asks, checked before any work is done.

A PROBLEM is written as on the command line, except that nothing may name a file: a circuit is pasted as ASCII AIGER, a
grammar as `cfg:` and its rules, and `program:` takes the name of a program that the playground has, never code.
"""

from typing import Annotated, Any, Literal, get_args

import msgspec

from unmask.documents import Sentences, read, said
from unmask.errors import UnmaskError
from unmask.playground import limits
from unmask.problems.catalogue import CATALOGUE
from unmask.weights.kinds import DIFFUSION, KINDS, Kind

Planner = Literal["own", "uniform", "confidence", "left-to-right"]
PLANNERS: tuple[Planner, ...] = get_args(Planner)
PROGRAMS = ("palindrome", "corridor", "rook", "traffic")
READ_FILES = tuple(row.prefix for row in CATALOGUE if row.reads_file)


class BadQuestion(UnmaskError):
    """A request that cannot be understood, or asks for too much."""


SENTENCES = Sentences(
    no_object='a request must be a JSON object such as {{"problem": "(a|b)*abb", "word": "aabb"}}',
    unknown="a request has no field {key!r}; use problem, word, kind, planner, k, seed",
    missing="the request has no {key}; add it as a string",
    wrong="the request's {key} must be {expected}, not {value}",
    error=BadQuestion,
)


def _spoken(choices: tuple[str, ...]) -> msgspec.Meta:
    return said(f"one of {', '.join(choices)}")


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`planner` is the model's own, or one that takes k slots in each step."""

    problem: Annotated[str, said("a string")]
    word: Annotated[str, said("a string")]
    kind: Annotated[Kind, _spoken(KINDS)] = "mdm"
    planner: Annotated[Planner, _spoken(PLANNERS)] = "own"
    k: Annotated[int, msgspec.Meta(ge=1, le=limits.LARGEST_K), said(f"an integer from 1 to {limits.LARGEST_K:,}")] = 1
    seed: Annotated[
        int, msgspec.Meta(ge=0, le=limits.LARGEST_SEED), said(f"an integer from 0 to {limits.LARGEST_SEED:,}")
    ] = 0

    @classmethod
    def of(cls, document: Any) -> "Question":
        """A JSON object with these fields, the problem and the word at least."""
        question = read(document, cls, SENTENCES)
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
            ("problem", self.problem, limits.CIRCUIT if self.is_circuit else limits.PROBLEM),
            ("word", self.word, limits.WORD),
        ):
            if len(text) > most:
                raise BadQuestion(f"the {name} has {len(text):,} characters, more than {most:,}; use a shorter one")

    def check_files(self) -> None:
        """A problem that names a file is refused: the playground reads none, and runs no code that it is sent."""
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
        """Whether the problem is a grammar: `cfg:` and rules, which have arrows."""
        return self.problem.startswith("cfg:") and any(arrow in self.problem for arrow in ("->", "→", "::="))

    @property
    def is_circuit(self) -> bool:
        """Whether the problem is a circuit pasted as ASCII AIGER, whose first word is `aag`."""
        return self.problem.startswith("aag ")

    @property
    def planner_name(self) -> str | None:
        """As `--planner` takes it; None for the model's own, and where there is none to replace."""
        return None if self.planner == "own" or self.kind not in DIFFUSION else f"{self.planner}:{self.k}"

    def to_json(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)
