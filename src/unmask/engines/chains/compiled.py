"""kernel.c as functions: compiled once by the C compiler at hand, then kept in the user's cache.

Without a compiler, or with UNMASK_COMPILER set to nothing, there is no kernel, and NumPy does the work.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("kernel.c")
FLAGS = ("-O2", "-shared", "-fPIC")
SECONDS = 120


@cache
def kernel() -> ctypes.CDLL | None:
    """The compiled kernel, or None where there is none."""
    compiler = shutil.which(os.environ.get("UNMASK_COMPILER", "cc"))
    if compiler is None or os.name != "posix":
        return None
    try:
        library = ctypes.CDLL(str(_made(compiler)))
    except (OSError, subprocess.SubprocessError):
        return None
    library.advance.restype = library.enter_all.restype = ctypes.c_int64
    return library


def _made(compiler: str) -> Path:
    """Where the library stands; made there if it is not."""
    content = SOURCE.read_bytes()
    folder = _private_folder()
    name = hashlib.sha256(b"\0".join([content, *map(str.encode, (*FLAGS, platform.machine()))])).hexdigest()[:24]
    target = folder / f"kernel-{name}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / target.name
            command = [compiler, *FLAGS, str(SOURCE), "-o", str(made)]
            subprocess.run(command, check=True, timeout=SECONDS, stdin=subprocess.DEVNULL, capture_output=True)
            made.replace(target)
    return target


def _private_folder() -> Path:
    """A folder that nobody else writes to: what stands in it is loaded as code."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unmask"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid == os.getuid() and not status.st_mode & 0o022 and os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):  # no home
        pass
    return _temporary_folder()


@cache
def _temporary_folder() -> Path:
    """For this process alone."""
    import atexit

    folder = tempfile.mkdtemp(prefix="unmask-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
