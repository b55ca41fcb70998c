"""Content → a file or a folder that is written whole or not at all.

It is written under a temporary name beside its place, waited for until the disk has it, then moved there. Whatever goes
wrong, what stood there before still stands there, and nothing is left beside it.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from unmask.errors import FolderError


def write_file(path: Path, content: bytes) -> None:
    """A device or a pipe is written as it is, for moving a file there would replace it."""
    scratch = path.parent / f"{_hidden(path)}{os.getpid()}"
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        _write(scratch, content)
        scratch.replace(path)
    except OSError as error:
        raise _refusal(path, error) from None
    finally:
        with suppress(OSError):
            scratch.unlink()


def write_folder(target: Path, files: Iterable[tuple[str, bytes]], *, check: Callable[[Path], None]) -> Path:
    """`check` refuses a place where nothing may be written; a folder that it lets pass is replaced."""
    check(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=_hidden(target), dir=target.parent))
    except OSError as error:
        raise _refusal(target, error) from None
    try:
        for name, content in files:
            _write(scratch / name, content)
        scratch.chmod(0o755)
        check(target)  # something else may stand there by now
        _move_into_place(scratch, target)
    except OSError as error:
        raise _refusal(target, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _hidden(path: Path) -> str:
    """How temporary names begin: no longer than files may be called, however long the name beside it is."""
    return f".{path.name[:40]}."


def _write(path: Path, content: bytes) -> None:
    """Write a file, and wait until the disk has it: a disk that is full may say so only then."""
    path.write_bytes(content)
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _move_into_place(scratch: Path, target: Path) -> None:
    if not target.exists():
        scratch.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=_hidden(target), dir=target.parent))
    try:
        target.rename(old / "old")
        scratch.rename(target)
    except BaseException:  # an interrupt between the two moves must not lose the old folder either
        if (old / "old").exists() and not target.exists():
            (old / "old").rename(target)
        shutil.rmtree(old, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refusal(path: Path, error: OSError) -> FolderError:
    return FolderError(f"{path} cannot be written: {error.strerror}")
