"""Call the functions of a user's program, report their errors with the line, and check that the functions are pure.

A rule is called when it is tabulated, and then again. A rule that draws random numbers, reads a clock or counts its
calls is rejected, because the compiled model would only contain its first results.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from unmask.errors import ProblemError, UnmaskError, message_of, shortened, shown_value, text_of_user_value

_LIBRARY = str(Path(__file__).parents[1])


def line_of_caller() -> str:
    """Return the line of the program that calls the current function; empty for calls inside the library."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    if file.startswith(_LIBRARY):
        return ""
    return _line(frame.f_lineno, file)


def line_of_function(function: Callable[..., Any], error: BaseException | None = None) -> str:
    """Return the line in which a function begins, or the last line of its file in a traceback; empty for `int`."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    number, trace = code.co_firstlineno, None if error is None else error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            number = trace.tb_lineno
        trace = trace.tb_next
    return _line(number, code.co_filename)


def at_line(line: str, error: UnmaskError) -> UnmaskError:
    """Prefix a message with its line, if there is one."""
    return type(error)(f"{line}: {error}") if line else error


def _line(number: int, file: str) -> str:
    of = "" if file.startswith("<") else f" of {shortened(Path(file).name)}"  # <stdin>, <string>
    return f"line {number}{of}"


LONGEST_REASON = 120  # characters of a rule's exception that are shown
LEAST_REPEATED_CALLS = 32  # repeated calls of the rule of a small table
MOST_REPEATED_CALLS = 1024  # entries of a large table for which the rule is called again


def call_rule(function: Callable[..., Any], arguments: tuple[Any, ...], where: str, line: str = "") -> Any:
    """Return the result of a function of the program; its exceptions become error messages."""
    try:
        return function(*arguments)
    except ProblemError as error:
        raise type(error)(f"in the rule of {where}{in_line(function, line, error)}: {error}") from error
    except (Exception, SystemExit) as error:  # a rule that calls exit() would end the command without a message
        rule = f"the rule of {where}{in_line(function, line, error)}"
        if isinstance(error, TypeError) and not _takes(function, len(arguments)):
            reads = f"{len(arguments)} read{'s' if len(arguments) != 1 else ''}"
            raise ProblemError(
                f"{rule} has {reads}, but its function takes another number of values; give it one parameter "
                "for each read"
            ) from error
        reason = message_of(error, LONGEST_REASON)
        raise ProblemError(
            f"{rule} raises {type(error).__name__} ({reason}) "
            f"for {arguments_text(arguments)}; it must be defined for all values that its reads may have"
        ) from error


def check_function(
    call: Callable[[tuple[Any, ...]], Any],
    entries: Sequence[tuple[tuple[Any, ...], Any]],
    rule_name: str,
) -> None:
    """Raise if a rule returns a different value on a second call. The output of the second call is not shown."""
    for arguments, first in islice(cycle(entries), max(len(entries), LEAST_REPEATED_CALLS)):
        with redirect_stdout(StringIO()):
            again = call(arguments)
        if again is not first and again != first:
            raise ProblemError(
                f"{rule_name} returns {_value_text(first)} and then {_value_text(again)} "
                f"for {arguments_text(arguments)}; "
                "it must be a pure function, without random numbers, a clock or a memory"
            )


def in_line(function: Callable[..., Any], line: str, error: BaseException | None = None) -> str:
    """Return " (line … of …)": where a function begins or raises an error; for built-ins (`int`), where it is used."""
    line = line_of_function(function, error) or line
    return f" ({line})" if line else ""


def arguments_text(arguments: tuple[Any, ...]) -> str:
    """Return the arguments of a rule, for an error message."""
    return f"({', '.join(map(_value_text, arguments))})" if arguments else "no reads"


def value_name(value: Any) -> str:
    """Return a value as text without blanks: `{NP,VP}` for a set, `ε` for the empty string."""
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(value_name, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(value_name, value)) + ")"
    return "".join("␣" if c.isspace() else c for c in text_of_user_value(value, str)) or "ε"


def _value_text(value: Any) -> str:
    try:
        return shortened(value_name(value))
    except ProblemError:
        return shown_value(value)


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # for Python's functions without a signature
        return True
    return True
