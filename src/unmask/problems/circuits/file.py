"""The bytes of a circuit's file, if it is not too large."""

from pathlib import Path

from unmask.errors import ProblemError
from unmask.files import read_file

LARGEST_FILE = 1 << 26


def read_circuit_file(path: str | Path) -> bytes:
    """All of a file."""
    return read_file(path, f"the circuit {path}", most=LARGEST_FILE, error=ProblemError)
