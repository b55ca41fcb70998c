"""Read ordinary files and JSON documents; write a file or a folder completely or not at all.

**Reading.** `read_file` refuses a named pipe, a device, a socket or a folder before it reads a byte, because reading
might never end, and a file that is too large.

**JSON documents.** A form is a `msgspec.Struct`. `must_be("…")` gives the description of a field in error messages.
`read_document` is the only place that turns an error of msgspec into an error message.

**Writing.** The content is written under a temporary name next to its destination, synchronized to the disk, then
moved. If anything fails, the previous content is unchanged, and no temporary file or new parent folder is left. Files
that unmask did not write are never deleted or replaced:

* a folder is replaced only if the caller's `check` names every file in it as one that may be removed;
* a file is replaced only if it is empty or matches the caller's pattern of earlier output;
* files are removed one by one by name, folders only when they are empty.
"""

import json
import os
import re
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from unmask.errors import FolderError, TooLarge, UnmaskError, shortened
from unmask.limits import interruptible, uninterrupted

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
Form = TypeVar("Form", bound=msgspec.Struct)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `[^`]*`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `[^`]*`)?")
_WHERE = re.compile(r"`\$([^`]*)`$")
"""Matches the end of a message of msgspec: … - at `$.transformers[...].loop[1]`."""
TYPE_NAMES = {str: "a string", bool: "true or false", int: "an integer", dict: "an object", list: "a list"}
"""Type → the description of a field that has no description of its own."""
PARTIAL = ".unmask-partial"
"""End of the names of temporary files and folders."""
MOST_READ = 1 << 26
"""Bytes of an existing file that are compared with the pattern of earlier output."""

Check = Callable[[Path], Collection[str]]
"""Destination → names of the files in it that may be removed; raise FolderError if nothing may be written there."""


def read_file(path: str | Path, subject: str, *, most: int, error: type[UnmaskError]) -> bytes:
    """Return the bytes of an ordinary file, at most `most`. Messages start with `subject`: “the automaton x.json”."""
    check_file(path, subject, most=most, error=error)
    try:
        with open(path, "rb", opener=_open_without_blocking) as file:
            status = os.fstat(file.fileno())  # the file may have been replaced after the check
            _check_status(status, subject, most, error)
            content = file.read(status.st_size + 1)
    except OSError as problem:
        raise error(f"{subject} cannot be read: {problem.strerror}") from None
    if len(content) > status.st_size:
        raise error(f"{subject} is still being written; try again when it is complete")
    return content


def check_file(path: str | Path, subject: str, *, most: int, error: type[UnmaskError]) -> None:
    """Apply the same checks to a file that a library opens by its name."""
    try:
        _check_status(os.stat(path), subject, most, error)
    except OSError as problem:
        raise error(f"{subject} cannot be read: {problem.strerror}") from None
    except ValueError:  # a null character in the name
        raise error(f"{subject} cannot be read: its name is not a valid file name") from None


def path_exists(path: str | Path) -> bool:
    """Return whether anything exists at a path, readable or not. A name that is too long or invalid does not exist."""
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _check_status(status: os.stat_result, subject: str, most: int, error: type[UnmaskError]) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise error(f"{subject} is not a file but {kind}; save its content in a file and give that file")
    if status.st_size > most:
        raise TooLarge(f"{subject} has more than {most:,} bytes; use a smaller one")


def _open_without_blocking(path: str, flags: int) -> int:
    """Open a file without blocking, because a pipe without a writer would keep `open` waiting."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def must_be(description: str) -> msgspec.Meta:
    """Describe what a field must be, for `Annotated`: “a list of strings”."""
    return msgspec.Meta(description=description)


@dataclass(frozen=True)
class DocumentErrors:
    """The error messages of one kind of document; {name}, {key}, {expected} and {value} are filled in."""

    no_object: str
    unknown: str
    missing: str
    wrong: str
    error: type[UnmaskError]

    def error_with(self, message: str, **words: Any) -> UnmaskError:
        """Return the error whose message has these words filled in."""
        return self.error(message.format(**words))


def parse_json(content: bytes, subject: str, *, error: type[UnmaskError], decimal: Callable[[str], Any] = float) -> Any:
    """Parse JSON in UTF-8. An object may not repeat a key. Messages start with `subject`: “the law x.json”."""
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=distinct_keys(error), parse_float=decimal)
    except (ValueError, RecursionError) as problem:
        raise error(f"{subject} is not JSON in UTF-8 ({problem}); correct the file") from None


def distinct_keys(error: type[UnmaskError], where: str = "") -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an `object_pairs_hook` that refuses a key given twice: JSON readers differ in which value they keep."""

    def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in pairs:
            if key in entries:
                raise error(f"the key {shortened(key)!r} is given twice{where}; give it once")
            entries[key] = value
        return entries

    return build_object


def names_in(document: dict[str, Any], key: str, whose: str, *, empty: bool, error: type[UnmaskError]) -> list[str]:
    """Return the list of distinct strings under a key. `whose` is “an automaton”; `empty` allows an empty list."""
    names = document[key]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise error(f"{key!r} of {whose} must be a list of strings")
    if not names and not empty:
        raise error(f"{key!r} of {whose} is empty; give at least one")
    if len(set(names)) < len(names):
        raise error(f"{key!r} of {whose} names something twice; give each name once")
    return names


def object_in(value: Any, where: str, whose: str, *, error: type[UnmaskError]) -> dict[str, Any]:
    """Return a value that must be an object. `where` and `whose` name it in the error message."""
    if not isinstance(value, dict):
        raise error(f"{where} of {whose} must be an object")
    return value


def read_document(document: Any, form: type[Form], errors: DocumentErrors, *, name: str = "") -> Form:
    """Return the document as a value of its form, or raise one of the errors of this kind of document."""
    if not isinstance(document, dict):
        raise errors.error_with(errors.no_object, name=name)
    try:
        return msgspec.convert(document, form)
    except msgspec.ValidationError as error:
        raise _document_error(str(error), document, form, errors, name) from None
    except UnicodeEncodeError as error:  # msgspec looks up names in UTF-8
        half = f"characters, and {shortened(ascii(error.object))} holds half of one (a surrogate)"
        raise errors.error_with(errors.wrong, name=name, key="every name", expected=half, value=half) from None


def _document_error(
    report: str, document: dict, form: type[msgspec.Struct], errors: DocumentErrors, name: str
) -> UnmaskError:
    location = _WHERE.search(report)
    inside = re.findall(r"\.(\w+)", location[1]) if location is not None else []
    unknown, missing = _UNKNOWN.fullmatch(report), _MISSING.fullmatch(report)
    if not inside and unknown is not None:
        return errors.error_with(errors.unknown, name=name, key=shortened(unknown[1]))
    if not inside and missing is not None:
        return errors.error_with(errors.missing, name=name, key=missing[1])
    described, last = _describe_field(form, [*inside, *([missing[1]] if missing is not None else [])])
    if unknown is not None:
        keys = ", ".join(field.encode_name for field in msgspec.structs.fields(last))
        whose = "objects with" if len(inside) == 1 else f'objects whose "{inside[-1]}" has'
        described = f"{whose} the keys {keys}, not {shortened(unknown[1])!r}"
    key = inside[0] if inside else "every key"
    value = shortened(repr(document.get(key)), most=24)
    return errors.error_with(errors.wrong, name=name, key=key, expected=described or report, value=value)


def _describe_field(form: type[msgspec.Struct], names: list[str]) -> tuple[str, type[msgspec.Struct]]:
    """Follow a path of fields. Return the innermost description and the last form that has fields."""
    described = ""
    for name in names:
        declared = next(field.type for field in msgspec.structs.fields(form) if field.encode_name == name)
        described = TYPE_NAMES.get(get_origin(declared) or declared, described)
        for component in _type_components(declared):
            if isinstance(component, msgspec.Meta) and component.description:
                described = component.description
            elif isinstance(component, type) and issubclass(component, msgspec.Struct):
                form = component
    return described, form


def _type_components(declared: Any) -> Iterator[Any]:
    """Yield a type and its components: those of `Annotated[X, meta]`, `X | None`, `dict[str, X]`."""
    yield declared
    for component in (*get_args(declared), *getattr(declared, "__metadata__", ())):
        yield from _type_components(component)


def write_file(path: Path, content: bytes, *, earlier: re.Pattern[bytes]) -> None:
    """Write a file. An existing file is replaced if it is empty or begins with a match of `earlier`.

    A device or a pipe is written in place, because moving a file there would replace it.
    """
    try:
        if path.is_symlink():
            path = Path(os.path.realpath(path))  # keep a symbolic link, and write the file it points to
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        check_file_replaceable(path, earlier=earlier)
        with uninterrupted():
            _write_and_move(path, content, earlier)
    except OSError as error:
        raise _write_error(path, error) from None


def _write_and_move(path: Path, content: bytes, earlier: re.Pattern[bytes]) -> None:
    """Write a temporary file and move it to its destination; remove it if anything fails."""
    scratch: Path | None = None
    try:
        scratch = _temporary_file(path)
        with interruptible():
            _write_and_sync(scratch, content)
        _move_file(scratch, path, earlier)
    finally:
        if scratch is not None:
            with suppress(OSError):
                scratch.unlink()


def check_file_replaceable(path: Path, *, earlier: re.Pattern[bytes]) -> None:
    """Refuse to replace a file that is neither empty nor earlier output of the same kind."""
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            content = file.read(MOST_READ)
    except OSError as error:
        raise _write_error(path, error) from None
    if content and earlier.match(content) is None:
        raise FolderError(
            f"{path} exists and is not an earlier output of this command; choose another name, or remove it yourself"
        )


def write_folder(target: Path, files: Iterable[tuple[str, bytes]], *, check: Check) -> Path:
    """Write a folder. An existing folder is replaced if `check` allows every file in it to be removed.

    A name may have one slash: the file is then written to a subfolder.

    `check` is called before the work, after it, and once more after the old folder is renamed, so that a file that
    another process added meanwhile is kept.
    """
    check(target)
    created: list[Path] = []
    scratch: Path | None = None
    written: list[str] = []
    is_complete = False
    with uninterrupted():
        try:
            make_folders(target.parent, created)
            scratch = _temporary_folder(target)
            with interruptible():
                for name, content in files:
                    written.append(name)
                    (scratch / name).parent.mkdir(exist_ok=True)
                    _write_and_sync(scratch / name, content)
            scratch.chmod(0o755)
            _move_folder(scratch, target, check)
            is_complete = True
        except OSError as error:
            raise _write_error(target, error) from None
        finally:
            if scratch is not None and not is_complete:
                _remove_files(scratch, written)
            if not is_complete:
                remove_folders(created)
    return target


def make_folders(folder: Path, created: list[Path]) -> None:
    """Create a folder and its missing parents; append each to `created`, so that `remove_folders` can undo it."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir()
            created.append(path)
    if not folder.is_dir():
        raise NotADirectoryError(20, os.strerror(20))


def remove_folders(created: list[Path]) -> None:
    """Remove those folders that `make_folders` created and that are empty."""
    for path in reversed(created):
        with suppress(OSError):
            path.rmdir()


def is_partial(path: Path, name: str) -> bool:
    """Return whether a path is a temporary file for `name` that a killed process left behind."""
    return path.name.startswith(_temporary_prefix(name)) and path.name.endswith(PARTIAL) and path.is_file()


def joined_names(names: Collection[str], most: int = 8) -> str:
    """Return `a, b, c and 4 more`."""
    first = ", ".join(sorted(names)[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most:,} more"


def _temporary_prefix(name: str) -> str:
    """Return the beginning of temporary names. It is short, because file names have at most 255 bytes."""
    return f".{name[:40]}."


def _temporary_file(path: Path) -> Path:
    number, name = tempfile.mkstemp(prefix=_temporary_prefix(path.name), suffix=PARTIAL, dir=path.parent)
    os.close(number)
    scratch = Path(name)
    mask = os.umask(0)
    os.umask(mask)
    scratch.chmod(0o666 & ~mask)  # `mkstemp` makes the file readable only for the owner
    return scratch


def _temporary_folder(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=_temporary_prefix(target.name), suffix=PARTIAL, dir=target.parent))


def _write_and_sync(path: Path, content: bytes) -> None:
    """Write a file, and wait until it is on the disk: a full disk may report an error only then."""
    path.write_bytes(content)
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _move_file(scratch: Path, path: Path, earlier: re.Pattern[bytes]) -> None:
    """Move a file to its destination. If none existed before, `link` fails if another process has created one since."""
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
        scratch.rename(target)  # fails if a file, or a folder with files, has been created since
        return
    backup = _temporary_folder(target)
    old = backup / "old"
    try:
        target.rename(old)
        names = check(old)
        scratch.rename(target)
    except BaseException as error:
        if old.exists() and not target.exists():
            old.rename(target)
        with suppress(OSError):
            backup.rmdir()
        if isinstance(error, FolderError):
            check(target)  # the same error message, with the name that the user knows
        raise
    has_foreign_files = _remove_files(old, names)
    with suppress(OSError):
        backup.rmdir()
    if has_foreign_files:
        raise FolderError(f"{target} is written; files that appeared in the old folder meanwhile were kept in {old}")


def _remove_files(folder: Path, names: Iterable[str]) -> bool:
    """Remove these files, then the folders. Return whether other files are in the folder; they are kept."""
    names = list(names)
    for name in names:
        with suppress(OSError):
            (folder / name).unlink()
    remove_folders([folder / inside for inside in sorted({name.partition("/")[0] for name in names if "/" in name})])
    try:
        folder.rmdir()
    except OSError:
        return folder.exists()
    return False


def _write_error(path: Path, error: OSError) -> FolderError:
    return FolderError(f"{path} cannot be written: {error.strerror}")
