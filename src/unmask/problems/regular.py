"""Problems whose language is regular. Each has an oracle that does not use the automaton."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unmask.errors import PatternError, ProblemError, WordError, shortened
from unmask.problems.automaton import Automaton, Word
from unmask.problems.dfa_file import dfa_from_json, read_dfa_document
from unmask.problems.group import PermutationGroup, permutation_group, word_problem
from unmask.problems.regex import regex_automaton
from unmask.problems.regex_parser import regex_flags


@dataclass(frozen=True)
class RegexProblem:
    """Does `re.fullmatch(pattern, word)` match? Oracle: `re` itself."""

    pattern: str
    ascii: bool = True
    ignore_case: bool = False

    def __post_init__(self) -> None:
        _ = self._compiled  # a pattern that Python refuses is refused here

    @property
    def name(self) -> str:
        """The PROBLEM string; what flags add to it is written inline."""
        flags = "i" * self.ignore_case + "u" * (not self.ascii and not self._compiled.flags & re.ASCII)
        return f"regex:{f'(?{flags})' if flags else ''}{self.pattern}"

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return regex_automaton(self.pattern, ascii=self.ascii, ignore_case=self.ignore_case)

    def answer(self, word: Word) -> bool:
        """Whether the pattern matches the whole word."""
        if not isinstance(word, str):
            long = next((part for part in word if len(part) != 1), None)
            if long is not None:
                raise WordError(f"{shortened(long)!r} is not one character; give the word as a plain string")
            word = "".join(word)
        return self._compiled.fullmatch(word) is not None

    def to_json(self) -> dict[str, Any]:
        """What `problem_from_json` reads."""
        return {"kind": "regex", "pattern": self.pattern, "ascii": self.ascii, "ignore_case": self.ignore_case}

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        flags = regex_flags(self.pattern, ascii=self.ascii, ignore_case=self.ignore_case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return re.compile(self.pattern, flags)
            except (re.error, OverflowError, RecursionError, ValueError) as error:
                reason = f"Python cannot compile it ({error}): mend it"
                raise PatternError(reason, pattern=self.pattern) from None


@dataclass(frozen=True, eq=False)
class DfaProblem:
    """Does the automaton of a file accept? Oracle: the file's own transitions, by name."""

    name: str
    document: dict[str, Any]

    def __post_init__(self) -> None:
        _ = self.source

    @cached_property
    def source(self) -> Automaton:
        """The automaton as written."""
        return dfa_from_json(self.document)

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return self.source.minimal()

    def answer(self, word: Word) -> bool:
        """Whether the listed transitions lead from the start to an accepting state."""
        state: str | None = self.document["start"]
        for symbol in _symbols(word, self.source.tokens):
            state = self.document["transitions"].get(state, {}).get(symbol)
        return state in self.document["accepting"]

    def to_json(self) -> dict[str, Any]:
        """The automaton itself, not the path of its file."""
        return {"kind": "dfa", "name": self.name, "dfa": self.document}


@dataclass(frozen=True)
class GroupProblem:
    """Is the product of these elements the identity? Oracle: the permutations, applied in turn."""

    spec: str

    def __post_init__(self) -> None:
        _ = self.group

    @property
    def name(self) -> str:
        """The PROBLEM string."""
        return f"group:{self.spec}"

    @cached_property
    def group(self) -> PermutationGroup:
        """The group with its action on points."""
        return permutation_group(self.spec)

    @cached_property
    def automaton(self) -> Automaton:
        """One state for each element."""
        return word_problem(self.group)

    def answer(self, word: Word) -> bool:
        """Whether every point returns to its place when the elements act from first to last."""
        places = list(range(self.group.points))
        for name in _symbols(word, tuple(self._actions)):
            places = [self._actions[name][place] for place in places]
        return places == list(range(self.group.points))

    def to_json(self) -> dict[str, Any]:
        """What `problem_from_json` reads."""
        return {"kind": "group", "spec": self.spec}

    @cached_property
    def _actions(self) -> dict[str, list[int]]:
        return {self.group.names[i]: self.group.elements[i].tolist() for i in self.group.symbols}


def parse_dfa(path: str) -> DfaProblem:
    """dfa:FILE."""
    if not path:
        raise ProblemError("dfa: names no file; write dfa:FILE")
    return DfaProblem(f"dfa:{Path(path).name}", read_dfa_document(path))


def _symbols(word: Word, tokens: tuple[str, ...]) -> Sequence[str]:
    """A word as names of tokens: a plain string if every token is one character, else split at blanks."""
    if isinstance(word, str):
        word = word if all(len(name) == 1 for name in tokens) else word.split()
    unknown = next((name for name in word if name not in tokens), None)
    if unknown is not None:
        raise WordError(f"{shortened(unknown)!r} is not an input symbol; use {shortened(' '.join(tokens))}")
    return word
