"""Where in a program a thing is said: `line 5 of walk.py`, the beginning of a sentence about it."""

import sys
from pathlib import Path

from unmask.errors import UnmaskError, shortened

_LIBRARY = str(Path(__file__).parents[1])


def line_of_caller() -> str:
    """The line that calls the function which asks; empty for calls of the library itself."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    if file.startswith(_LIBRARY):
        return ""
    of = "" if file.startswith("<") else f" of {shortened(Path(file).name)}"  # <stdin>, <string>
    return f"line {frame.f_lineno}{of}"


def at_line(line: str, error: UnmaskError) -> UnmaskError:
    """The same sentence behind its line, if there is one."""
    return type(error)(f"{line}: {error}") if line else error
