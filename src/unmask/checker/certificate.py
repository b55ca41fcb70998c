"""The form of a certificate: bytes → typed fields; anything else is refused.

    automaton   delta[state][letter]; state 0 is the start; accepting is null for a state that no word ends in
                tokens are the letters, or characters [first, last, letter] where words are any text
    elements    maps of the states, in increasing order; pairs name them by number
    letters     (number of the model's input symbol, element) of every letter
    variables   the letters of the word, then these: a table over the values of its parents, in row-major order;
                the interval of letters below it and its pairs (value, element), null where parents overlap
    steps       of each slot after every step the variable that it follows from, null if it is always the same
    cuts        the same of rows after a turn of a loop: scores alone, number of the layer in the run, row, variable

An additional or missing field, `true` for 1 and 1.0 for 1 are refused. `check_induction` checks what the fields say.
"""

import json
import os
import sys
from collections.abc import Callable
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


def need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


class ClaimedAutomaton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The automaton that the certificate is about, as transitions over tokens or ranges of characters."""

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
    """A certificate of the kind `unmask-induction/2`, as it is written in JSON."""

    format: Literal["unmask-induction/2"]
    model: str
    automaton: ClaimedAutomaton
    elements: list[list[Natural]]
    letters: list[Pair]
    variables: list[ClaimedVariable]
    steps: list[list[Natural | None]]
    cuts: list[tuple[bool, Natural, Natural, Natural | None]]


def parsed(content: bytes) -> Any:
    """Parse JSON; refuse an object that has the same name twice."""
    try:
        return json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is not a certificate: {shortened(str(error))}") from None


def read(document: Any) -> InductionCertificate:
    """Convert a parsed document; refuse one that does not have this form."""
    try:
        return msgspec.convert(document, InductionCertificate)
    except (msgspec.ValidationError, ValueError) as error:
        raise Refused(f"this is not a certificate of the format {FORMAT}: {shortened(str(error), most=200)}") from None


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(items)
    need(len(result) == len(items), "this is not a certificate: an object names a field twice")
    return result


# The message of a checker and its exit code: 0 checked, 1 refused, 2 error, 130 Ctrl-C.


LARGEST_FILE = 1 << 28
INTERRUPTED = 130


def read_certificate(path: Path) -> Any:
    """Read and parse a certificate."""
    return parsed(read_file(path, f"the certificate {path}", most=LARGEST_FILE, error=UnmaskError))


def outcome(work: Callable[[], str]) -> int:
    """Print the message that the work ends with; return the exit code."""
    try:
        return _printed(work(), 0)
    except Refused as refusal:
        return _printed(f"refused: {refusal}", 1)
    except (OSError, UnmaskError) as error:
        return _printed(f"error: {error}", 2)
    except KeyboardInterrupt:
        return INTERRUPTED


def _printed(message: str, code: int) -> int:
    """Return the exit code, or 2 if the message could not be written."""
    try:
        print(visible(message), file=sys.stderr if code == 2 else sys.stdout, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try to write the rest again at exit
        return 2 if code == 2 else _printed(f"error: the output of the checker cannot be written: {error.strerror}", 2)
    return code
