"""The bytes of a circuit's file, if it is not too large."""

from pathlib import Path

from unmask.errors import ProblemError, TooLarge

LARGEST_FILE = 1 << 26


def read_circuit_file(path: str | Path) -> bytes:
    """All of a file."""
    try:
        if Path(path).stat().st_size > LARGEST_FILE:
            raise TooLarge(f"{path} is larger than {LARGEST_FILE >> 20} MB; take a smaller circuit")
        return Path(path).read_bytes()
    except OSError as error:
        raise ProblemError(f"{path} cannot be read: {error.strerror}") from None
