"""PROBLEM strings → problems, and their JSON form."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from unmask.errors import ProblemError, shortened
from unmask.problems.automaton import Automaton
from unmask.problems.boolean import circuit_from_json, parse_blif_circuit, parse_circuit
from unmask.problems.expression import ExpressionProblem
from unmask.problems.families import FamilyProblem
from unmask.problems.regular import DfaProblem, GroupProblem, RegexProblem, parse_dfa

__all__ = ["PARSERS", "READERS", "Problem", "RegularProblem", "automaton_of", "parse_problem", "problem_from_json"]


class Problem(Protocol):
    """What is to be decided about a word, with an oracle that nothing compiled can influence."""

    @property
    def name(self) -> str:
        """The PROBLEM string."""
        ...

    def answer(self, word: str | Sequence[str]) -> bool:
        """The right answer for a word."""
        ...

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `problem_from_json` makes the same problem; it names no file."""
        ...


class RegularProblem(Problem, Protocol):
    """A problem whose yes-instances form a regular language."""

    @property
    def automaton(self) -> Automaton:
        """A minimal automaton of that language."""
        ...


def automaton_of(problem: Problem) -> Automaton:
    """The automaton of a regular problem; any other is refused."""
    # Looked up on the class: on the object it would be built, and its errors taken for its absence.
    if not hasattr(type(problem), "automaton"):
        raise ProblemError(f"{shortened(problem.name)} has no automaton; give a regex, a dfa or a group")
    return cast(RegularProblem, problem).automaton


# PREFIX:TEXT → problem, by prefix.
PARSERS: dict[str, Callable[[str], Problem]] = {
    "regex": RegexProblem,
    "dfa": parse_dfa,
    "group": GroupProblem,
    "aiger": parse_circuit,
    "blif": parse_blif_circuit,
    "family": FamilyProblem,
    "expr": ExpressionProblem,
}

# JSON object → problem, by its "kind": the fields it has, with their types, and what makes the problem.
READERS: dict[str, tuple[dict[str, type], Callable[..., Problem]]] = {
    "regex": ({"pattern": str, "ascii": bool, "ignore_case": bool}, RegexProblem),
    "dfa": ({"name": str, "dfa": dict}, lambda name, dfa: DfaProblem(name, dfa)),
    "group": ({"spec": str}, GroupProblem),
    "circuit": ({"name": str, "aiger": str}, circuit_from_json),
    "family": ({"family": str}, FamilyProblem),
    "expression": ({"spec": str}, ExpressionProblem),
}

# Prefixes of other kinds of problem: never taken for a regex.
_RESERVED = ("random",)


def parse_problem(text: str) -> Problem:
    """`regex:…`, `dfa:FILE`, `group:…`; any other string is a regex."""
    prefix, colon, rest = text.partition(":")
    if colon and prefix in PARSERS:
        return PARSERS[prefix](rest)
    if colon and prefix in _RESERVED:
        known = ", ".join(f"{name}:" for name in PARSERS)
        raise ProblemError(f"problems of the form {prefix}: are not available; use {known} or regex:{shortened(text)}")
    return RegexProblem(text)


def problem_from_json(document: Any) -> Problem:
    """The problem of an object that `to_json` gave; anything else is refused."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in READERS:
        raise ProblemError(f"a stored problem needs a kind among {', '.join(READERS)}, not {shortened(repr(kind))}")
    fields, make = READERS[kind]
    if set(document) != {"kind", *fields}:
        raise ProblemError(f"a stored problem of kind {kind} needs exactly the fields {', '.join(fields)}")
    for name, expected in fields.items():
        if type(document[name]) is not expected:
            raise ProblemError(f"the field {name!r} of a stored problem must be of type {expected.__name__}")
    return make(**{name: document[name] for name in fields})
