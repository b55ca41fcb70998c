"""dfa:FILE: does the automaton of a JSON file accept?"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unmask.errors import ProblemError
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.dfa_file import dfa_from_json, read_dfa_document
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Word
from unmask.problems.regular import RegularProblem, symbols_of
from unmask.problems.stored import Stored


@dataclass(frozen=True, eq=False)
class DfaProblem(RegularProblem):
    """Does the automaton of a file accept? Oracle: the file's own transitions, by name."""

    title: str
    document: dict[str, Any]

    def __post_init__(self) -> None:
        _ = self.source

    @property
    def name(self) -> str:
        """The PROBLEM string, without the path of the file."""
        return self.title

    @cached_property
    def source(self) -> Automaton:
        """The automaton as written."""
        return dfa_from_json(self.document)

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return self.source.minimal()

    def outcome(self, word: Word) -> Outcome:
        """Whether the listed transitions lead from the start to an accepting state."""
        state: str | None = self.document["start"]
        for symbol in symbols_of(word, self.source.tokens):
            state = self.document["transitions"].get(state, {}).get(symbol)
        return Outcome.of_bits([state in self.document["accepting"]])

    def stored(self) -> Stored:
        """The automaton itself, not the path of its file."""
        return StoredDfa(self.title, self.document)


class StoredDfa(Stored, frozen=True, tag="dfa"):
    name: str
    dfa: dict[str, Any]

    def problem(self) -> DfaProblem:
        return DfaProblem(self.name, self.dfa)


def parse_dfa(path: str) -> DfaProblem:
    """dfa:FILE."""
    if not path:
        raise ProblemError("dfa: has no file name; write dfa:FILE")
    return DfaProblem(f"dfa:{Path(path).name}", read_dfa_document(path))
