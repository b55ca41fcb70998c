"""Problems whose accepted words form a regular language: an automaton determines everything except `outcome`.

The oracle of each problem is independent of its automaton.
"""

import random
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unmask.errors import PatternError, ProblemError, TooLarge, WordError, shortened
from unmask.files import names_in, object_in, parse_json, read_file
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.groups_and_monoids import PermutationGroup, permutation_group
from unmask.problems.problem import ACCEPTED, REJECTED, Characters, Outcome, Problem, Stored, Word, is_plain, words_of
from unmask.problems.regexes.determinisation import regex_automaton
from unmask.problems.regexes.regex_parser import regex_flags


class RegularProblem(Problem, Protocol):
    """Base class; a subclass defines `name`, `automaton`, `outcome` and `stored`."""

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton, built on first use."""
        ...

    @property
    def letters(self) -> tuple[str, ...]:
        return self.automaton.tokens

    @property
    def characters(self) -> Characters | None:
        return self.automaton.characters

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Members, non-members, words one edit away from a member, and any words."""
        return words_of(self.automaton, length, rng)


def symbols_of_word(word: Word, tokens: tuple[str, ...]) -> Sequence[str]:
    """The names of a word's tokens: its characters if every token is one character, else the parts between blanks."""
    if isinstance(word, str):
        word = word if is_plain(tokens) else word.split()
    unknown = next((name for name in word if name not in tokens), None)
    if unknown is not None:
        raise WordError(f"{shortened(unknown)!r} is not an input symbol; use {shortened(' '.join(tokens))}")
    return word


# regex:PATTERN, or a bare pattern: does `re.fullmatch(pattern, word)` match? Words are any text.


@dataclass(frozen=True)
class RegexProblem(RegularProblem):
    """Does `re.fullmatch(pattern, word)` match? Oracle: `re` itself."""

    pattern: str
    ascii: bool = True
    ignore_case: bool = False

    def __post_init__(self) -> None:
        _ = self._compiled  # raises for a pattern that Python refuses

    @property
    def name(self) -> str:
        """The PROBLEM string, with the flags written inline."""
        flags = "i" * self.ignore_case + "u" * (not self.ascii and not self._reads_ascii)
        return f"regex:{f'(?{flags})' if flags else ''}{self.pattern}"

    @property
    def accepts(self) -> str:
        ascii = r": as under `re.ASCII`, `\d`, `\w`, `\s` and `\b` are those of ASCII" if self._reads_ascii else ""
        return f"A word is accepted if Python's `re.fullmatch` matches the pattern with it{ascii}."

    @property
    def _reads_ascii(self) -> bool:
        return bool(self._compiled.flags & re.ASCII)

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return regex_automaton(self.pattern, ascii=self.ascii, ignore_case=self.ignore_case)

    def outcome(self, word: Word) -> Outcome:
        """Whether the pattern matches the whole word."""
        if not isinstance(word, str):
            long = next((letter for letter in word if len(letter) != 1), None)
            if long is not None:
                raise WordError(f"{shortened(long)!r} is not one character; give the word as a plain string")
            word = "".join(word)
        return ACCEPTED if self._compiled.fullmatch(word) is not None else REJECTED

    def stored(self) -> Stored:
        return StoredRegex(self.pattern, self.ascii, self.ignore_case)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        flags = regex_flags(self.pattern, ascii=self.ascii, ignore_case=self.ignore_case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return re.compile(self.pattern, flags)
            except (re.error, OverflowError, RecursionError, ValueError) as error:
                reason = f"Python cannot compile it ({error}): correct it"
                raise PatternError(reason, pattern=self.pattern) from None


class StoredRegex(Stored, frozen=True, tag="regex"):
    """What a model folder stores of a regular expression: the pattern and its flags."""

    pattern: str
    ascii: bool
    ignore_case: bool

    def problem(self) -> RegexProblem:
        return RegexProblem(self.pattern, self.ascii, self.ignore_case)


# JSON file → automaton.
#
#     {"alphabet": ["a", "b"],
#      "states": ["even", "odd"],
#      "start": "even",
#      "accepting": ["even"],
#      "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}}}
#
# Symbols and states are strings; a symbol is one character, or has no blank in it. A transition that is
# not listed leads to a dead state, which rejects. A key given twice, or a list of targets, is refused: the
# automaton must be deterministic.


_MOST_BYTES = 16_000_000
_MOST_ENTRIES = 10_000_000
_KEYS = ("alphabet", "states", "start", "accepting", "transitions")


def read_dfa_document(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file; keys given twice are refused."""
    subject = f"the automaton {path}"
    return parse_json(read_file(path, subject, most=_MOST_BYTES, error=ProblemError), subject, error=ProblemError)


def dfa_from_json(document: Any) -> Automaton:
    """The automaton of a JSON object, which is checked completely."""
    if not isinstance(document, dict) or sorted(document) != sorted(_KEYS):
        actual_keys = sorted(document) if isinstance(document, dict) else type(document).__name__
        raise ProblemError(
            f"an automaton needs exactly the keys {', '.join(_KEYS)}, but has {shortened(str(actual_keys))}"
        )
    alphabet, states = _names_in(document, "alphabet"), _names_in(document, "states")
    if (len(states) + 1) * len(alphabet) > _MOST_ENTRIES:
        raise TooLarge(
            f"{len(states):,} states times {len(alphabet):,} symbols are more than {_MOST_ENTRIES:,} transitions; "
            "give a smaller automaton"
        )
    number = {name: k for k, name in enumerate(states)}
    letter = {name: k for k, name in enumerate(alphabet)}
    accepting = np.zeros(len(states) + 1, dtype=bool)
    for name in _names_in(document, "accepting", may_be_empty=True):
        accepting[_index_of(number, name, "the state", "accepting")] = True
    start = _index_of(number, document["start"], "the state", "start")
    dead = len(states)
    delta = np.full((len(states) + 1, len(alphabet)), dead, dtype=np.int32)
    for name, row in _object_in(document["transitions"], "transitions").items():
        source = _index_of(number, name, "the state", "transitions")
        for symbol, target in _object_in(row, f"transitions of {name!r}").items():
            column = _index_of(letter, symbol, "the symbol", f"transitions of {name!r}")
            delta[source, column] = _index_of(number, target, "the state", f"transitions of {name!r}")
    if not (delta[:dead] == dead).any():
        delta, accepting = delta[:dead], accepting[:dead]
    return Automaton(tuple(alphabet), delta, start, accepting)


def _names_in(document: dict[str, Any], key: str, *, may_be_empty: bool = False) -> list[str]:
    return names_in(document, key, "an automaton", empty=may_be_empty, error=ProblemError)


def _index_of(table: dict[str, int], name: Any, kind: str, where: str) -> int:
    if isinstance(name, list):
        raise ProblemError(f"{where} has a list of targets; an automaton must be deterministic, so give one")
    if not isinstance(name, str) or name not in table:
        raise ProblemError(f"{kind} {shortened(str(name))!r} in {where} is not declared; declare or correct it")
    return table[name]


def _object_in(value: Any, where: str) -> dict[str, Any]:
    return object_in(value, where, "an automaton", error=ProblemError)


# dfa:FILE: does the automaton of a JSON file accept?


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
        for symbol in symbols_of_word(word, self.source.tokens):
            state = self.document["transitions"].get(state, {}).get(symbol)
        return Outcome.of_bits([state in self.document["accepting"]])

    def stored(self) -> Stored:
        """The automaton itself, not the path of its file."""
        return StoredDfa(self.title, self.document)


class StoredDfa(Stored, frozen=True, tag="dfa"):
    """What a model folder stores of an automaton: the name and the whole document."""

    name: str
    dfa: dict[str, Any]

    def problem(self) -> DfaProblem:
        return DfaProblem(self.name, self.dfa)


def parse_dfa(path: str) -> DfaProblem:
    """dfa:FILE."""
    if not path:
        raise ProblemError("dfa: has no file name; write dfa:FILE")
    return DfaProblem(f"dfa:{Path(path).name}", read_dfa_document(path))


# group:SPEC: is the product of these elements the identity? The word problem of a group of permutations.


@dataclass(frozen=True)
class GroupProblem(RegularProblem):
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

    @property
    def accepts(self) -> str:
        return (
            "A word is accepted if the product of its letters is the identity. The first letter acts first: "
            "after `x y` the point p is at y(x(p))."
        )

    @cached_property
    def automaton(self) -> Automaton:
        """One state for each element: state · symbol, from the identity to the identity."""
        group = self.group
        return Automaton(tuple(group.names[i] for i in group.symbols), group.table, 0, np.arange(group.order) == 0)

    def outcome(self, word: Word) -> Outcome:
        """Whether every point returns to its position when the elements act from first to last."""
        positions = list(range(self.group.points))
        for name in symbols_of_word(word, tuple(self._actions)):
            positions = [self._actions[name][position] for position in positions]
        return Outcome.of_bits([positions == list(range(self.group.points))])

    def stored(self) -> Stored:
        return StoredGroup(self.spec)

    @cached_property
    def _actions(self) -> dict[str, list[int]]:
        return {self.group.names[i]: self.group.elements[i].tolist() for i in self.group.symbols}


class StoredGroup(Stored, frozen=True, tag="group"):
    """What a model folder stores of a word problem: the specification of the group."""

    spec: str

    def problem(self) -> GroupProblem:
        return GroupProblem(self.spec)
