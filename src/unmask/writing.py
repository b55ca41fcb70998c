"""Content → a file or a folder that is written completely or not at all.

The content is written under a temporary name next to its destination, synchronized to the disk, then moved. If
anything fails, what was there before is unchanged, no temporary file is left, and no parent folder was created.

Nothing that unmask did not write is ever deleted or replaced:

* a folder is replaced only if the caller's `check` names every file in it as one that may be removed;
* a file is replaced only if it is empty or matches the pattern of earlier output, which the caller gives;
* files are removed one by one by name, folders only when they are empty.
"""

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from unmask.errors import FolderError
from unmask.interrupts import interruptible, uninterrupted

PARTIAL = ".unmask-partial"
"""How the names of temporary files and folders end."""
MOST_READ = 1 << 26
"""Bytes of an existing file that are compared with the pattern of earlier output."""

Check = Callable[[Path], Collection[str]]
"""Destination → names of the files in it that may be removed; raise FolderError if nothing may be written there."""


def write_file(path: Path, content: bytes, *, earlier: re.Pattern[bytes]) -> None:
    """Write a file. One that exists is replaced if it is empty or begins with a match of `earlier`.

    A device or a pipe is written in place, because moving a file there would replace it.
    """
    scratch: Path | None = None
    try:
        if path.is_symlink():
            path = Path(os.path.realpath(path))  # the link stays, and its file is written
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        check_file_replaceable(path, earlier=earlier)
        with uninterrupted():
            try:
                scratch = _temporary_file(path)
                with interruptible():
                    _write(scratch, content)
                _move_file(scratch, path, earlier)
            finally:
                if scratch is not None:
                    with suppress(OSError):
                        scratch.unlink()
    except OSError as error:
        raise _refusal(path, error) from None


def check_file_replaceable(path: Path, *, earlier: re.Pattern[bytes]) -> None:
    """Refuse to replace a file that is neither empty nor earlier output of the same kind."""
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            content = file.read(MOST_READ)
    except OSError as error:
        raise _refusal(path, error) from None
    if content and earlier.match(content) is None:
        raise FolderError(
            f"{path} exists and is not an earlier output of this command; choose another name, or remove it yourself"
        )


def write_folder(target: Path, files: Iterable[tuple[str, bytes]], *, check: Check) -> Path:
    """Write a folder. One that exists is replaced if `check` allows to remove every file in it.

    `check` is called before the work, after it, and once more on the old folder when nobody else can reach it by its
    name, so that a file that was added meanwhile is kept.
    """
    check(target)
    made: list[Path] = []
    scratch: Path | None = None
    written: list[str] = []
    done = False
    with uninterrupted():
        try:
            make_folders(target.parent, made)
            scratch = _temporary_folder(target)
            with interruptible():
                for name, content in files:
                    written.append(name)
                    _write(scratch / name, content)
            scratch.chmod(0o755)
            _move_folder(scratch, target, check)
            done = True
        except OSError as error:
            raise _refusal(target, error) from None
        finally:
            if scratch is not None and not done:
                _remove(scratch, written)
            if not done:
                remove_folders(made)
    return target


def make_folders(folder: Path, made: list[Path]) -> None:
    """Create a folder and its missing parents; append each to `made`, so that `remove_folders` can undo it."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir()
            made.append(path)
    if not folder.is_dir():
        raise NotADirectoryError(20, os.strerror(20))


def remove_folders(made: list[Path]) -> None:
    """Remove the folders that `make_folders` created, as far as they are empty."""
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()


def is_partial(path: Path, name: str) -> bool:
    """Return whether this is a temporary file for `name` that a killed process left behind."""
    return path.name.startswith(_hidden(name)) and path.name.endswith(PARTIAL) and path.is_file()


def listed(names: Collection[str], most: int = 8) -> str:
    """`a, b, c and 4 more`."""
    first = ", ".join(sorted(names)[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most:,} more"


def _hidden(name: str) -> str:
    """How temporary names begin: short, because the name of a file may have 255 bytes at most."""
    return f".{name[:40]}."


def _temporary_file(path: Path) -> Path:
    number, name = tempfile.mkstemp(prefix=_hidden(path.name), suffix=PARTIAL, dir=path.parent)
    os.close(number)
    scratch = Path(name)
    mask = os.umask(0)
    os.umask(mask)
    scratch.chmod(0o666 & ~mask)  # `mkstemp` lets nobody else read it
    return scratch


def _temporary_folder(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=_hidden(target.name), suffix=PARTIAL, dir=target.parent))


def _write(path: Path, content: bytes) -> None:
    """Write a file, and wait until the disk has it: a full disk may report an error only then."""
    path.write_bytes(content)
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _move_file(scratch: Path, path: Path, earlier: re.Pattern[bytes]) -> None:
    """Move a file to its destination. If there was none, `link` fails if somebody else has created one by now."""
    if not path.exists() and not path.is_symlink():
        try:
            os.link(scratch, path)
            return
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not path.exists():
                scratch.replace(path)
                return
    check_file_replaceable(path, earlier=earlier)
    scratch.replace(path)


def _move_folder(scratch: Path, target: Path, check: Check) -> None:
    check(target)
    if not target.exists():
        scratch.rename(target)  # fails if a file, or a folder with files, is there by now
        return
    place = _temporary_folder(target)
    old = place / "old"
    try:
        target.rename(old)
        names = check(old)
        scratch.rename(target)
    except BaseException as error:
        if old.exists() and not target.exists():
            old.rename(target)
        with suppress(OSError):
            place.rmdir()
        if isinstance(error, FolderError):
            check(target)  # the same refusal, with the name that the user knows
        raise
    kept = _remove(old, names)
    with suppress(OSError):
        place.rmdir()
    if kept:
        raise FolderError(f"{target} is written; files that appeared in the old folder meanwhile were kept in {old}")


def _remove(folder: Path, names: Iterable[str]) -> bool:
    """Remove these files, then the folder. Return whether something else is in it, which then stays."""
    for name in names:
        with suppress(OSError):
            (folder / name).unlink()
    try:
        folder.rmdir()
    except OSError:
        return folder.exists()
    return False


def _refusal(path: Path, error: OSError) -> FolderError:
    return FolderError(f"{path} cannot be written: {error.strerror}")
