"""JSON file → automaton.

    {"alphabet": ["a", "b"],
     "states": ["even", "odd"],
     "start": "even",
     "accepting": ["even"],
     "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}}}

Symbols and states are strings; a symbol is one character, or has no blank in it. A transition that is
not listed leads to a dead state, which rejects. A key given twice, or a list of targets, is refused: the
automaton must be deterministic.
"""

from pathlib import Path
from typing import Any

import numpy as np

from unmask import documents
from unmask.errors import ProblemError, TooLarge, shortened
from unmask.files import read_file
from unmask.problems.automata.automaton import Automaton

_MOST_BYTES = 16_000_000
_MOST_ENTRIES = 10_000_000
_KEYS = ("alphabet", "states", "start", "accepting", "transitions")


def read_dfa_document(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file; keys given twice are refused."""
    what = f"the automaton {path}"
    return documents.parse(read_file(path, what, most=_MOST_BYTES, error=ProblemError), what, error=ProblemError)


def dfa_from_json(document: Any) -> Automaton:
    """The automaton of a JSON object; all of it is checked."""
    if not isinstance(document, dict) or sorted(document) != sorted(_KEYS):
        given = sorted(document) if isinstance(document, dict) else type(document).__name__
        raise ProblemError(f"an automaton needs exactly the keys {', '.join(_KEYS)}, but has {shortened(str(given))}")
    alphabet, states = _names(document, "alphabet"), _names(document, "states")
    if (len(states) + 1) * len(alphabet) > _MOST_ENTRIES:
        raise TooLarge(
            f"{len(states):,} states times {len(alphabet):,} symbols are more than {_MOST_ENTRIES:,} transitions; "
            "give a smaller automaton"
        )
    number = {name: k for k, name in enumerate(states)}
    letter = {name: k for k, name in enumerate(alphabet)}
    accepting = np.zeros(len(states) + 1, dtype=bool)
    for name in _names(document, "accepting", may_be_empty=True):
        accepting[_known(number, name, "the state", "accepting")] = True
    start = _known(number, document["start"], "the state", "start")
    dead = len(states)
    delta = np.full((len(states) + 1, len(alphabet)), dead, dtype=np.int32)
    for name, row in _object(document["transitions"], "transitions").items():
        source = _known(number, name, "the state", "transitions")
        for symbol, target in _object(row, f"transitions of {name!r}").items():
            column = _known(letter, symbol, "the symbol", f"transitions of {name!r}")
            delta[source, column] = _known(number, target, "the state", f"transitions of {name!r}")
    if not (delta[:dead] == dead).any():
        delta, accepting = delta[:dead], accepting[:dead]
    return Automaton(tuple(alphabet), delta, start, accepting)


def _names(document: dict[str, Any], key: str, *, may_be_empty: bool = False) -> list[str]:
    return documents.names_in(document, key, "an automaton", empty=may_be_empty, error=ProblemError)


def _known(table: dict[str, int], name: Any, kind: str, where: str) -> int:
    if isinstance(name, list):
        raise ProblemError(f"{where} has a list of targets; an automaton must be deterministic, so give one")
    if not isinstance(name, str) or name not in table:
        raise ProblemError(f"{kind} {shortened(str(name))!r} in {where} is not declared; declare or correct it")
    return table[name]


def _object(value: Any, where: str) -> dict[str, Any]:
    return documents.object_in(value, where, "an automaton", error=ProblemError)
