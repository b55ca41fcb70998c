"""What a checker says, and the exit code that goes with it: 0 checked, 1 refused, 2 error, 130 Ctrl-C."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unmask.checker.certificate import Refused, parsed
from unmask.errors import UnmaskError
from unmask.escapes import visible
from unmask.files import read_file

LARGEST_FILE = 1 << 28
INTERRUPTED = 130


def read_certificate(path: Path) -> Any:
    """The document of a file."""
    return parsed(read_file(path, f"the certificate {path}", most=LARGEST_FILE, error=UnmaskError))


def outcome(work: Callable[[], str]) -> int:
    """Say the sentence that the work ends with, and how it ended."""
    try:
        return _said(work(), 0)
    except Refused as refusal:
        return _said(f"refused: {refusal}", 1)
    except (OSError, UnmaskError) as error:
        return _said(f"error: {error}", 2)
    except KeyboardInterrupt:
        return INTERRUPTED


def _said(sentence: str, code: int) -> int:
    """The code, if the sentence could be written: a verdict that nobody can read is none."""
    try:
        print(visible(sentence), file=sys.stderr if code == 2 else sys.stdout, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is not tried again at the end
        return 2 if code == 2 else _said(f"error: what the checker says cannot be written: {error.strerror}", 2)
    return code
