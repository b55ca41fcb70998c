"""The files that a command writes to paths given by the user, and which existing files they may replace.

A file that exists is replaced only if it is earlier output of the same kind. So `view --out trace.html` can be
repeated, and `view --out thesis.html` cannot destroy a thesis.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from unmask.errors import FolderError, UnmaskError
from unmask.files import check_file_replaceable, write_file

PAGE = re.compile(rb"<!doctype html>[^\0]{0,900}?<meta name=\"?generator\"? content=\"?unmask\"?>")
PICTURE = re.compile(rb'<svg xmlns="[^"]*" viewBox="[^"]*" role="img" aria-labelledby="t d">\n<title id="t">')
TRACE = re.compile(rb'\{"format": "unmask-trace/')
CIRCUIT = re.compile(rb"aag [0-9 ]+\n[^\0]*\no[0-9]+ undecided\no[0-9]+ undefined\n")
REPORT = re.compile(PAGE.pattern + rb"|# (Proved for every N|Refuted|Unknown)\n\n")
PROOFS = {
    ".json": re.compile(rb'\{\n "verdict": "'),
    ".smt2": re.compile(rb"; [^\n]*\n; benchmark generated from python API\n"),
    ".family.json": re.compile(rb'\{"format": "unmask-family/'),
    ".induction.json": re.compile(rb'\{"format":"unmask-induction/'),
    ".cnf": re.compile(rb"c model sha256 [0-9a-f]{64}\n"),
    ".drat": re.compile(rb"(-?[0-9]+ )*0\n"),
}
"""Endings of the files of a certificate."""


def check_writable(path: Path, example: str, *, earlier: re.Pattern[bytes]) -> None:
    """Refuse a file that cannot be written or must not be replaced. Call this before the work, not after it."""
    try:
        if path.is_dir():
            raise UnmaskError(f"{path} is a folder; name a file in it, such as {path / example}")
        if path.parent.exists() and not path.parent.is_dir():
            raise UnmaskError(f"{path.parent} is not a folder; write {path.name} to another folder")
        if not path.parent.is_dir():
            raise UnmaskError(
                f"the folder {path.parent} does not exist; create it, or write {path.name} to another folder"
            )
    except OSError as error:
        raise FolderError(f"{path} cannot be written: {error.strerror}") from None
    check_file_replaceable(path, earlier=earlier)


def check_stem(stem: Path, endings: Iterable[str]) -> None:
    """Apply `check_writable` to all files of a certificate."""
    for ending in endings:
        check_writable(with_ending(stem, ending), f"proof{ending}", earlier=PROOFS[ending])


def with_ending(stem: Path, ending: str) -> Path:
    """Return the path of the file with this ending."""
    if not stem.name:
        raise UnmaskError(f"{stem} is not a name that files can begin with; give one such as {stem / 'proof'}")
    return stem.with_name(stem.name + ending)


def write_text(path: Path, text: str, *, earlier: re.Pattern[bytes]) -> None:
    """Write a file completely or not at all."""
    write_file(path, text.encode("utf-8"), earlier=earlier)


def write_stem(stem: Path, files: Mapping[str, str]) -> None:
    """Write the files of a certificate, after a check of all of them."""
    check_stem(stem, files)
    for ending, text in files.items():
        write_text(with_ending(stem, ending), text, earlier=PROOFS[ending])
