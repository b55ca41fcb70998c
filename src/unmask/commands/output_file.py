"""A file that a command writes at the user's word."""

import os
from contextlib import suppress
from pathlib import Path

from unmask.errors import FolderError


def write_text(path: Path, text: str) -> None:
    """A file whole or not at all; a device or a pipe as it is, for moving a file there would replace it."""
    scratch = path.parent / f".unmask-{os.getpid()}.tmp"
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise FolderError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            scratch.unlink()
