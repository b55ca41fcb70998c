"""What a checker says, and the exit code that goes with it: 0 checked, 1 refused, 2 error."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unmask.checker.certificate import Refused, parsed
from unmask.errors import UnmaskError
from unmask.escapes import visible
from unmask.files import read_file

LARGEST_FILE = 1 << 28


def read_certificate(path: Path) -> Any:
    """The document of a file."""
    return parsed(read_file(path, f"the certificate {path}", most=LARGEST_FILE, error=UnmaskError))


def outcome(work: Callable[[], str]) -> int:
    """Say the sentence that the work ends with, and how it ended."""
    try:
        print(visible(work()))
    except Refused as refusal:
        print(visible(f"refused: {refusal}"))
        return 1
    except (OSError, UnmaskError) as error:
        print(visible(f"error: {error}"), file=sys.stderr)
        return 2
    return 0
