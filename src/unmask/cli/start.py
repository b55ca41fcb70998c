"""Entry point of `unmask`: report in one line what is missing before the command line can start, even memory.

Nothing is imported here that could fail. NumPy starts no threads for linear algebra: all sums here are those
of integers, and where memory is short those threads end the process.
"""

import mmap
import os
import sys
from typing import NoReturn

ROOM = 192 << 20
"""Bytes of address space that the libraries take before anything is read; without them OpenBLAS ends the process."""


def main() -> NoReturn:
    """Run the command `unmask`."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from unmask.limits import hear_interrupts, uninterrupted

        hear_interrupts()
    except (MemoryError, ImportError, OSError, KeyboardInterrupt) as error:
        _give_up(error)
    with uninterrupted():  # an import that is interrupted may leave half a module; the command allows interrupts again
        try:
            mmap.mmap(-1, ROOM).close()
            from unmask.cli import commands
            from unmask.cli.terminal import escape_to_the_end
        except (MemoryError, ImportError, OSError, KeyboardInterrupt) as error:
            if os.environ.get("UNMASK_DEBUG") == "1":
                raise
            _give_up(error)
        try:
            commands.main()
        finally:
            escape_to_the_end()  # functions that a program of the user has registered with `atexit` may print


def _give_up(error: BaseException) -> NoReturn:
    missing = isinstance(error, (MemoryError, OSError))
    reason = "there is too little memory" if missing else " ".join(str(error).split())[:200]
    advice = "free some memory, or install unmask again"
    file = str(getattr(error, "path", None) or "")  # `python -m` looks for modules in the current folder first
    if file and os.path.dirname(file) == os.getcwd():
        advice = (
            f"{os.path.basename(file)} hides a module of the same name: rename the file, or start from another folder"
        )
    sentence = "interrupted" if isinstance(error, KeyboardInterrupt) else f"it cannot start: {reason}; {advice}"
    try:
        sys.stderr.write(f"unmask: {sentence}\n")
        sys.stderr.flush()
    finally:
        os._exit(
            130 if isinstance(error, KeyboardInterrupt) else 2
        )  # the interpreter may no longer be in a usable state
