"""The form of a certificate: bytes → typed fields; anything else is refused.

    automaton   delta[state][letter]; state 0 is the start; accepting is null for a state in which no word ends
                tokens are the letters; where words are arbitrary text, characters are ranges [first, last, letter]
    elements    maps of the states, in increasing order; pairs refer to them by number
    letters     for every letter: (number of the model's input symbol, element)
    variables   numbered after the letters of the word: a table over the values of the parents, in row-major order;
                the interval of letters on which it depends and its pairs (value, element), null if parents overlap
    steps       per step and slot, the variable that determines the slot's symbol; null if the symbol is constant
    cuts        per row after an iteration of a loop: computed for scores only?, layer of the run, row, variable

Additional or missing fields are refused, as are `true` or 1.0 in place of 1. `check_induction` checks the content.
"""

import json
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unmask.errors import UnmaskError, shortened, visible
from unmask.files import read_file

FORMAT = "unmask-induction/2"

Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Pair = tuple[Natural, Natural]


class Refused(Exception):
    """The certificate does not prove what it claims; the message says where."""


def need(condition: bool, reason: str) -> None:
    """Refuse the certificate for this reason unless the condition holds."""
    if not condition:
        raise Refused(reason)


class ClaimedAutomaton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The automaton of the certificate, with transitions over tokens or over ranges of characters."""

    tokens: list[str] | None
    characters: list[tuple[Natural, Natural, Natural]] | None
    delta: list[list[Natural]]
    accepting: list[bool | None]


class ClaimedVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable: its parents, its table, and the claimed pairs (value, element) over an interval of letters."""

    parents: list[Natural]
    table: list[Natural]
    interval: Pair | None
    pairs: list[Pair] | None


class InductionCertificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A certificate of the format `unmask-induction/2`, as stored in JSON."""

    format: Literal["unmask-induction/2"]
    model: str
    automaton: ClaimedAutomaton
    elements: list[list[Natural]]
    letters: list[Pair]
    variables: list[ClaimedVariable]
    steps: list[list[Natural | None]]
    cuts: list[tuple[bool, Natural, Natural, Natural | None]]


def parse_json(content: bytes) -> Any:
    """Parse JSON; refuse an object that contains a name twice."""
    try:
        return json.loads(content, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is not a certificate: {shortened(str(error))}") from None


def read_induction(document: Any) -> InductionCertificate:
    """Convert a parsed document to typed fields; refuse a document of any other form."""
    try:
        return msgspec.convert(document, InductionCertificate)
    except (msgspec.ValidationError, ValueError) as error:
        raise Refused(f"this is not a certificate of the format {FORMAT}: {shortened(str(error), most=200)}") from None


def _without_duplicates(items: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(items)
    need(len(result) == len(items), "this is not a certificate: an object names a field twice")
    return result


# The letters of words: (number of the model's symbol, map of the automaton's states).


LAST_CODE_POINT = 0x10FFFF

Map = tuple[int, ...]
"""The map of a word on the automaton's states: state ↦ state."""
Ranges = Sequence[tuple[int, int, Any]]
"""Ranges of characters: (first, last, letter or input symbol)."""


def letter_maps(delta: list[list[int]]) -> list[Map]:
    """Return the map of every letter of an automaton."""
    need(len(delta) > 0 and len({len(row) for row in delta}) == 1, "delta is not a table of states and letters")
    need(all(q < len(delta) for row in delta for q in row), "delta leads out of the states")
    return [*zip(*delta, strict=True)]


def letters_of_tokens(tokens: list[str], maps: list[Map], numbers: dict[str, int]) -> set[tuple[int, Map]]:
    """Return the letters of an automaton over tokens, with the numbers of the model's input symbols by name."""
    need(len(tokens) == len(maps), "the automaton does not have one column for each token")
    need({*tokens} <= {*numbers}, "the model cannot read a letter of the automaton")
    listed = [numbers[name] for name in tokens]
    need(all(a < b for a, b in pairwise(listed)), "tokens are not in the order of the model's input symbols")
    return {*zip(listed, maps, strict=True)}


def letters_of_characters(
    ranges: Ranges, model_ranges: Ranges, maps: list[Map], numbers: dict[str, int]
) -> set[tuple[int, Map]]:
    """Return the letters of an automaton over characters: one for every way in which a character is read."""
    for listed in (ranges, model_ranges):
        starts = [0, *(last + 1 for _, last, _ in listed)]
        complete = [first for first, *_ in listed] == starts[:-1] and starts[-1] == LAST_CODE_POINT + 1
        need(complete and starts == sorted({*starts}), "ranges of characters are not all code points, in order")
    need(all(k < len(maps) for *_, k in ranges), "a range of characters names no letter of the automaton")
    need(all(name in numbers for *_, name in model_ranges), "the model reads a character as no input symbol")
    points = {first for first, *_ in (*ranges, *model_ranges)}
    return {(numbers[_entry_at(model_ranges, x)], maps[_entry_at(ranges, x)]) for x in points}


def _entry_at(ranges: Ranges, point: int):
    """Return the third entry of the range that contains a code point."""
    return ranges[bisect_right(ranges, point, key=lambda span: span[0]) - 1][2]


# The entry points of both checkers print one message and return an exit code: 0 checked, 1 refused, 2 error.


LARGEST_FILE = 1 << 28
INTERRUPTED = 130


def read_certificate(path: Path) -> Any:
    """Read and parse a certificate."""
    return parse_json(read_file(path, f"the certificate {path}", most=LARGEST_FILE, error=UnmaskError))


def run_checker(work: Callable[[], str]) -> int:
    """Print the message that `work` returns, or why it failed; return the exit code."""
    try:
        return _print_message(work(), 0)
    except Refused as refusal:
        return _print_message(f"refused: {refusal}", 1)
    except (OSError, UnmaskError) as error:
        return _print_message(f"error: {error}", 2)
    except KeyboardInterrupt:
        return INTERRUPTED


def _print_message(message: str, code: int) -> int:
    """Print a message; return the exit code, or 2 if the message could not be written."""
    try:
        print(visible(message), file=sys.stderr if code == 2 else sys.stdout, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try to write the rest again at exit
        return (
            2
            if code == 2
            else _print_message(f"error: the output of the checker cannot be written: {error.strerror}", 2)
        )
    return code
