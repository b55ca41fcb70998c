"""Entry point of `unmask`: start the command line, or report in one line why it cannot start.

This module imports nothing that could fail, not even for lack of memory. NumPy starts no threads for linear algebra:
unmask sums integers, which do not use these threads, and if memory is short their creation ends the process.
"""

import mmap
import os
import sys
from typing import NoReturn

LIBRARY_MEMORY = 192 << 20
"""Bytes of address space that the libraries need while they are imported; without them OpenBLAS ends the process."""


def main() -> NoReturn:
    """Run the command `unmask`."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from unmask.limits import handle_interrupts, uninterrupted

        handle_interrupts()
    except (MemoryError, ImportError, OSError, KeyboardInterrupt) as error:
        _give_up(error)
    with uninterrupted():  # an interrupted import may leave half a module; the command allows interrupts again
        try:
            mmap.mmap(-1, LIBRARY_MEMORY).close()
            from unmask.cli import commands
            from unmask.cli.terminal import escape_to_the_end
        except (MemoryError, ImportError, OSError, KeyboardInterrupt) as error:
            if os.environ.get("UNMASK_DEBUG") == "1":
                raise
            _give_up(error)
        try:
            commands.main()
        finally:
            escape_to_the_end()  # functions that the user's program registered with `atexit` may print


def _give_up(error: BaseException) -> NoReturn:
    lacks_memory = isinstance(error, (MemoryError, OSError))
    reason = "there is too little memory" if lacks_memory else " ".join(str(error).split())[:200]
    advice = "free some memory, or install unmask again"
    file = str(getattr(error, "path", None) or "")  # `python -m` looks for modules in the current folder first
    if file and os.path.dirname(file) == os.getcwd():
        advice = (
            f"{os.path.basename(file)} hides a module of the same name: rename the file, or start from another folder"
        )
    is_interrupt = isinstance(error, KeyboardInterrupt)
    try:
        sys.stderr.write("unmask: interrupted\n" if is_interrupt else f"unmask: it cannot start: {reason}; {advice}\n")
        sys.stderr.flush()
    finally:
        os._exit(130 if is_interrupt else 2)  # the interpreter may no longer be in a usable state
