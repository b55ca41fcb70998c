"""Files → a folder that is written whole or not at all, where nothing was before."""

import json
import os
from pathlib import Path
from typing import Any

from unmask import writing
from unmask.errors import FolderError

Files = dict[str, bytes]


def check_free(out: Path) -> tuple[str, ...]:
    """Refuse a name that exists, because an export replaces nothing. Call this before long work, too."""
    try:
        taken = out.exists() or out.is_symlink()
    except OSError as error:
        raise FolderError(f"{out} cannot be written: {error.strerror}") from None
    if taken:
        raise FolderError(f"{out} exists; an export never replaces files; choose another name")
    return ()


def write_folder(files: Files, out: str | os.PathLike[str]) -> Path:
    """Where nothing was before."""
    return writing.write_folder(Path(out), files.items(), check=check_free)


def as_json(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")
