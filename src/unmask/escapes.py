"""Text from anywhere → text that a terminal shows, and never obeys.

    visible("\\x1b[2J")  =  "\\\\u{1b}[2J"

Controls, marks that change the direction of writing, halves of surrogate pairs and all else that does not print are
shown by their number. What a person is shown passes here at the border (`terminal.py`), whatever file or argument it
came from; what a program reads is JSON, which has escapes of its own. A program of the user that prints, or causes a
warning, does so through an `EscapingStream`.
"""

import io
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO

_LINES = re.compile("([\n\t])")


def visible(text: str) -> str:
    """The text in one line, every character of it to be seen; what is visible already stays as it is."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


class EscapingStream(io.TextIOBase):
    """A text stream for what a program of the user prints: lines pass, and control characters are shown by number."""

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind

    def write(self, text: str) -> int:
        self.behind.write("".join(part if part in "\n\t" else visible(part) for part in _LINES.split(str(text))))
        return len(text)

    def flush(self) -> None:
        self.behind.flush()

    def isatty(self) -> bool:
        return self.behind.isatty()

    def fileno(self) -> int:
        return self.behind.fileno()

    def writable(self) -> bool:
        return True


@contextmanager
def escaped_streams() -> Generator[None]:
    """Escape what is printed to standard output and standard error; consoles use `stream` and are not affected."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = EscapingStream(stream()), EscapingStream(stream(stderr=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def escape_to_the_end() -> None:
    """Escape what is printed while the interpreter ends."""
    sys.stdout, sys.stderr = EscapingStream(sys.stdout), EscapingStream(sys.stderr)


def stream(*, stderr: bool = False) -> TextIO:
    """Return the stream for our own output, which may hold colours and move the cursor."""
    out: Any = sys.stderr if stderr else sys.stdout
    while isinstance(out, EscapingStream):
        out = out.behind
    return out
