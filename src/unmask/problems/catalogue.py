"""PROBLEM string or stored JSON → Problem: one row for every prefix.

A new kind of problem is a file in this folder and a row here (docs/how-to/add-a-problem.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unmask.documents import Sentences, read
from unmask.errors import ProblemError, shortened
from unmask.problems.circuit import StoredCircuit, parse_aiger_file, parse_blif_file
from unmask.problems.circuits.families import FAMILIES
from unmask.problems.dfa import StoredDfa, parse_dfa
from unmask.problems.expression import ExpressionProblem, StoredExpression
from unmask.problems.family import FamilyProblem, StoredFamily
from unmask.problems.grammar import StoredGrammar, parse_grammar
from unmask.problems.group import GroupProblem, StoredGroup
from unmask.problems.law import parse_law
from unmask.problems.problem import Problem
from unmask.problems.program import StoredProgram, parse_program
from unmask.problems.random import RandomProblem
from unmask.problems.regex import RegexProblem, StoredRegex
from unmask.problems.stored import Stored


@dataclass(frozen=True)
class Row:
    """PREFIX:TEXT → parse(TEXT); what a folder keeps of it; texts to offer on the command line."""

    prefix: str
    parse: Callable[[str], Problem]
    stored: type[Stored] | None
    examples: tuple[str, ...] = ("",)
    reads_file: bool = False


CATALOGUE: list[Row] = [
    Row("regex", RegexProblem, StoredRegex),
    Row("dfa", parse_dfa, StoredDfa, reads_file=True),
    Row("group", GroupProblem, StoredGroup, ("A5", "S5", "Z12", "D4")),  # any S, A, Z, D with a number is one
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
    """PREFIX:TEXT for a prefix of the catalogue; any other string is a regex."""
    prefix, colon, rest = text.partition(":")
    row = next((row for row in CATALOGUE if colon and row.prefix == prefix), None)
    return RegexProblem(text) if row is None else row.parse(rest)


SENTENCES = Sentences(
    no_object="a stored problem must be a JSON object",
    unknown="{name} has no field {key!r}; remove it",
    missing="{name} lacks the field {key!r}",
    wrong="{name}: its {key} must be {expected}, not {value}",
    error=ProblemError,
)


def problem_from_json(document: Any) -> Problem:
    """The problem of an object that `to_json` gave; anything else is refused."""
    kinds = {str(row.stored.__struct_config__.tag): row.stored for row in CATALOGUE if row.stored is not None}
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ProblemError(f"a stored problem needs a kind among {', '.join(kinds)}, not {shortened(repr(kind))}")
    return read(document, kinds[kind], SENTENCES, name=f"a stored problem of kind {kind}").problem()
