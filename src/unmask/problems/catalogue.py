"""PROBLEM string or stored JSON → Problem: one row for every prefix.

A new kind of problem is a file in this folder and a row here (docs/how-to/add-a-problem.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from unmask.errors import ProblemError, shortened
from unmask.files import DocumentErrors, read_document
from unmask.problems.circuit_problems import (
    FamilyProblem,
    StoredCircuit,
    StoredFamily,
    parse_aiger_file,
    parse_blif_file,
)
from unmask.problems.circuits.circuit_families import FAMILIES
from unmask.problems.expression_problems import ExpressionProblem, StoredExpression
from unmask.problems.grammar_problems import StoredGrammar, parse_grammar
from unmask.problems.problem import Outcome, Problem, Stored, Word
from unmask.problems.program_problems import StoredProgram, parse_program
from unmask.problems.regular_problems import GroupProblem, RegexProblem, StoredDfa, StoredGroup, StoredRegex, parse_dfa

# law:FILE: a distribution over strings. It has no answers, so it cannot be compiled.


LAW_PREFIX = "law:"


def law_path(text: str) -> str | None:
    """FILE of law:FILE; None for any other string."""
    return text.removeprefix(LAW_PREFIX) if text.startswith(LAW_PREFIX) else None


def parse_law(path: str) -> NoReturn:
    """Raise ProblemError: only `unmask samplers` reads a law."""
    raise ProblemError(
        f"law:{shortened(path)} is a distribution, which has no answers; use `unmask samplers law:FILE --length N`"
    )


# random:SEED: random weights, which do not solve a problem. For tests of engines and conversions.


RANDOM_LETTERS = ("a", "b")


@dataclass(frozen=True)
class RandomProblem(Problem):
    """A problem without correct answers. `digits` is the seed as it was written."""

    digits: str

    def __post_init__(self) -> None:
        if not (self.digits.isascii() and self.digits.isdigit()) or len(self.digits) > 20 or self.seed >= 1 << 64:
            raise ProblemError(f"random:SEED needs a seed from 0 to 2^64 - 1, not {shortened(self.digits)!r}")

    @property
    def seed(self) -> int:
        return int(self.digits)

    @property
    def name(self) -> str:
        return f"random:{self.digits}"

    @property
    def letters(self) -> tuple[str, ...]:
        return RANDOM_LETTERS

    @property
    def has_answers(self) -> bool:
        return False

    def outcome(self, word: Word) -> Outcome:  # noqa: ARG002
        raise ProblemError(
            f"{self.name} consists of random weights, which do not solve a problem; give another problem"
        )

    def stored(self) -> None:
        return None


@dataclass(frozen=True)
class Row:
    """PREFIX:TEXT → parse(TEXT), the form in which a folder stores it, and texts to suggest on the command line."""

    prefix: str
    parse: Callable[[str], Problem]
    stored: type[Stored] | None
    examples: tuple[str, ...] = ("",)
    reads_file: bool = False


CATALOGUE: list[Row] = [
    Row("regex", RegexProblem, StoredRegex),
    Row("dfa", parse_dfa, StoredDfa, reads_file=True),
    Row("group", GroupProblem, StoredGroup, ("A5", "S5", "Z12", "D4")),  # S, A, Z or D with any number is a group
    Row("aiger", parse_aiger_file, StoredCircuit, reads_file=True),
    Row("blif", parse_blif_file, StoredCircuit, reads_file=True),
    Row("family", FamilyProblem, StoredFamily, tuple(FAMILIES)),
    Row("expr", ExpressionProblem, StoredExpression),
    Row("program", parse_program, StoredProgram, reads_file=True),
    Row("cfg", parse_grammar, StoredGrammar, reads_file=True),
    Row("law", parse_law, None, reads_file=True),
    Row("random", RandomProblem, None),
]


def has_prefix(text: str) -> bool:
    """Return whether a PROBLEM starts with the prefix of a kind, such as `group:`; if not, it is a regex."""
    prefix, colon, _ = text.partition(":")
    return bool(colon) and any(row.prefix == prefix for row in CATALOGUE)


def parse_problem(text: str) -> Problem:
    """Parse a PROBLEM string: PREFIX:TEXT for a prefix of the catalogue; any other string is a regex."""
    prefix, colon, rest = text.partition(":")
    row = next((row for row in CATALOGUE if colon and row.prefix == prefix), None)
    return RegexProblem(text) if row is None else row.parse(rest)


ERRORS = DocumentErrors(
    no_object="a stored problem must be a JSON object",
    unknown="{name} has no field {key!r}; remove it",
    missing="{name} lacks the field {key!r}",
    wrong="{name}: its {key} must be {expected}, not {value}",
    error=ProblemError,
)


def problem_from_json(document: Any) -> Problem:
    """The problem of an object that `to_json` returned; raise ProblemError for anything else."""
    kinds = {str(row.stored.__struct_config__.tag): row.stored for row in CATALOGUE if row.stored is not None}
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ProblemError(f"a stored problem needs a kind among {', '.join(kinds)}, not {shortened(repr(kind))}")
    return read_document(document, kinds[kind], ERRORS, name=f"a stored problem of kind {kind}").problem()
