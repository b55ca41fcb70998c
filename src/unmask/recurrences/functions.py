"""The functions of a program: what they raise becomes a sentence, and so does one that is no function of what it reads.

A rule is asked when it is tabulated, and then again: one that draws random numbers, reads a clock or counts its calls
would be compiled into whatever it happened to say.
"""

import inspect
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import cycle, islice
from typing import Any

from unmask.errors import ProblemError, message_of, shortened, shown_value
from unmask.recurrences.lines import line_of_function
from unmask.recurrences.naming import value_name

MOST_SAID = 120  # characters of what a rule raises
ASKED = 32  # times that the rule of a small table is asked again
MOST_ASKED = 1024  # entries of a large table for which it is


def called(function: Callable[..., Any], given: tuple[Any, ...], where: str, line: str = "") -> Any:
    """The result of a function of the program; what it raises becomes a sentence."""
    try:
        return function(*given)
    except ProblemError as error:
        found = in_line(function, line, error)
        raise type(error)(f"in the rule of {where}{found}: {error}") from error
    except (Exception, SystemExit) as error:  # a rule that calls exit() would end the command without a word
        rule = f"the rule of {where}{in_line(function, line, error)}"
        if isinstance(error, TypeError) and not _takes(function, len(given)):
            reads = f"{len(given)} read{'s' if len(given) != 1 else ''}"
            raise ProblemError(
                f"{rule} has {reads}, but its function takes another number of values; give it one parameter "
                "for each read"
            ) from error
        said = message_of(error, MOST_SAID)
        raise ProblemError(
            f"{rule} raises {type(error).__name__} ({said}) "
            f"for {shown(given)}; it must be defined for all values that its reads may have"
        ) from error


def check_function(
    ask: Callable[[tuple[Any, ...]], Any],
    told: Sequence[tuple[tuple[Any, ...], Any]],
    what: str,
) -> None:
    """Refuse what gives, when asked again, something else than it told; what it prints then is not shown."""
    for given, first in islice(cycle(told), max(len(told), ASKED)):
        with redirect_stdout(StringIO()):
            again = ask(given)
        if again is not first and again != first:
            raise ProblemError(
                f"{what} returns {_one(first)} and then {_one(again)} for {shown(given)}; it must be a pure function, "
                "without random numbers, a clock or a memory"
            )


def in_line(function: Callable[..., Any], line: str, error: BaseException | None = None) -> str:
    """Where a function of the program begins or raises an error, or the line that names it, for `int` and the like."""
    found = line_of_function(function, error) or line
    return f" ({found})" if found else ""


def shown(given: tuple[Any, ...]) -> str:
    """What a rule was given, as people read it."""
    return f"({', '.join(map(_one, given))})" if given else "no reads"


def _one(value: Any) -> str:
    try:
        return shortened(value_name(value))
    except ProblemError:
        return shown_value(value)


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # of the functions of Python that have no signature
        return True
    return True
