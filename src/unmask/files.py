"""Path → the bytes of an ordinary file, or an error message.

A named pipe, a device, a socket or a folder is refused before a byte is read, for it may never end: save what it holds
in a file, and name that. So is a file that is too large.
"""

import os
import stat
from pathlib import Path

from unmask.errors import TooLarge, UnmaskError

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def read_file(path: str | Path, what: str, *, most: int, error: type[UnmaskError]) -> bytes:
    """All of an ordinary file of at most so many bytes; `what` begins the sentence: “the automaton x.json”."""
    check_file(path, what, most=most, error=error)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())  # what stands there now may be something else
            _check(status, what, most, error)
            content = file.read(status.st_size + 1)
    except OSError as problem:
        raise error(f"{what} cannot be read: {problem.strerror}") from None
    if len(content) > status.st_size:
        raise error(f"{what} is still being written; try again when it is complete")
    return content


def check_file(path: str | Path, what: str, *, most: int, error: type[UnmaskError]) -> None:
    """The same checks, for a file that a library opens by its name."""
    try:
        _check(os.stat(path), what, most, error)
    except OSError as problem:
        raise error(f"{what} cannot be read: {problem.strerror}") from None
    except ValueError:  # a zero character in the name
        raise error(f"{what} cannot be read: its name is not a valid file name") from None


def is_there(path: str | Path) -> bool:
    """Whether anything stands there, even what is refused when it is read; no name is too long or too odd to ask."""
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _check(status: os.stat_result, what: str, most: int, error: type[UnmaskError]) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise error(f"{what} is not a file but {kind}; save its content in a file and give that file")
    if status.st_size > most:
        raise TooLarge(f"{what} has more than {most:,} bytes; use a smaller one")


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer would keep `open` waiting."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
