"""Where in a program a thing is said: `line 5 of walk.py`, the beginning of a sentence about it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unmask.errors import UnmaskError, shortened

_LIBRARY = str(Path(__file__).parents[1])


def line_of_caller() -> str:
    """The line that calls the function which asks; empty for calls of the library itself."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    if file.startswith(_LIBRARY):
        return ""
    return _line(frame.f_lineno, file)


def line_of_function(function: Callable[..., Any], error: BaseException | None = None) -> str:
    """The line in which a function begins, or the last one of its file that an error came through; empty for `int`."""
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
    """The same sentence behind its line, if there is one."""
    return type(error)(f"{line}: {error}") if line else error


def _line(number: int, file: str) -> str:
    of = "" if file.startswith("<") else f" of {shortened(Path(file).name)}"  # <stdin>, <string>
    return f"line {number}{of}"
