"""A file that a command writes at the user's word."""

from pathlib import Path

from unmask.errors import FolderError, UnmaskError
from unmask.writing import write_file


def check_writable(path: Path, example: str) -> None:
    """Before the work, not after it: a file in a folder that is there, with a name that files can have."""
    try:
        if path.is_dir():
            raise UnmaskError(f"{path} is a folder; name a file in it, such as {path / example}")
        if not path.parent.is_dir():
            raise UnmaskError(
                f"the folder {path.parent} does not exist; make it, or choose another place for {path.name}"
            )
    except OSError as error:
        raise FolderError(f"{path} cannot be written: {error.strerror}") from None


def with_ending(stem: Path, ending: str) -> Path:
    """The file of a STEM."""
    if not stem.name:
        raise UnmaskError(f"{stem} is no name that files can begin with; give one such as {stem / 'proof'}")
    return stem.with_name(stem.name + ending)


def write_text(path: Path, text: str) -> None:
    """A file whole or not at all."""
    write_file(path, text.encode("utf-8"))
