"""Random commands, interrupted by random signals at random moments: `python tests/hostile/interrupted.py COUNT SEED`.

An attempt fails if the command prints a traceback, leaves a file behind, loses one, or does not end.
The first signal is sent when the command has installed its handlers: before that, Python itself answers.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from unmask.api import compile_problem, save_model
from unmask.limits import SIGNALS

COMMANDS = [
    "compile (a|b)*abb --length 64 --to mdm --out new",
    "compile (a|b)*abb --length 16 --to mdm --out p/q/new",
    "compile (a|b)*abb --length 16 --to mdm --out old",
    "convert m --to plt --out new",
    "convert m --to smdm --out old --json",
    "run m abababb --trace new.json",
    "run m -",
    "run m abababb --engine both --json",
    "verify m --method prove --certificate new",
    "verify m --method exhaustive",
    "verify m --method sample --timeout 1",
    "extract m --out new.aag",
    "view m abababb --out new.html --svg new.svg",
    "export m --to bert --out new",
    "samplers a*b --length 8 --out new.html",
    "prove (a|b)*abb --to mdm --every-length --certificate new",
    "compare a*b --lengths 4,8",
    "paper --json",
    "doctor",
    "--help",
]
COMPLAINTS = re.compile(rb"Traceback|Exception ignored|should not happen|Fatal Python error|During handling")
LONGEST = 60
"""Seconds after which a command that was interrupted must have ended."""


def prepare(folder: Path) -> None:
    """A model to read and a model folder to replace."""
    save_model(compile_problem("(a|b)*abb", "mdm", length=7), folder / "m")
    save_model(compile_problem("a*b", "cot", length=2), folder / "old")


def attempt(draws: random.Random, folder: Path, seconds: float) -> str | None:
    """Interrupt one command; return what is wrong, or None."""
    line = draws.choice(COMMANDS)
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", *line.split()],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch), "XDG_CACHE_HOME": str(folder / "cache")},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_default_signals,
    )
    sent = []
    _wait_for_handlers(process.pid)
    time.sleep(draws.random() ** 2 * seconds)
    for _ in range(draws.randint(1, 3)):
        sent.append(draws.choice(SIGNALS))
        process.send_signal(sent[-1])
        time.sleep(draws.choice([0, 0.0005, 0.002, 0.01, 0.05]) * draws.random())
    try:
        errors = process.communicate(timeout=LONGEST)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"{line} did not end after {sent}"
    about = f"{line} with {[number.name for number in sent]}, exit code {process.returncode}: "
    if COMPLAINTS.search(errors):
        return about + errors.decode(errors="replace")
    by = (
        -process.returncode if process.returncode < 0 else process.returncode - 128
    )  # at the very end Python itself dies from the signal
    if process.returncode not in (0, 1, 2) and by not in SIGNALS:
        return about + "an exit code of no signal"
    return _leftovers(folder, about)


def _leftovers(folder: Path, about: str) -> str | None:
    hidden = [str(path.relative_to(folder)) for path in folder.rglob(".*") if "cache" not in path.parts]
    if hidden or any((folder / "tmp").iterdir()):
        return f"{about}left behind {hidden}, {list((folder / 'tmp').iterdir())}"
    if (folder / "p").exists() and not (folder / "p" / "q" / "new" / "config.json").exists():
        return f"{about}left the folder p behind"
    if any(not (folder / name / "SHA256SUMS").exists() for name in ("m", "old")):
        return f"{about}lost a model folder"
    return None


def _default_signals() -> None:
    """A shell that starts this in the background ignores SIGINT, and its children would, too."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def _wait_for_handlers(pid: int) -> None:
    mask = sum(1 << (number - 1) for number in SIGNALS)
    for _ in range(4000):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", status)
        if caught is None or int(caught[1], 16) & mask == mask:
            return
        time.sleep(0.0005)


def attempts(count: int, seed: int, *, seconds: float = 2.0) -> list[str]:
    """Make `count` attempts; return the problems of those that failed."""
    draws = random.Random(seed)
    failures = []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder)
            failures += [wrong] if (wrong := attempt(draws, folder, seconds)) is not None else []
    return failures


if __name__ == "__main__":
    for wrong in attempts(int(sys.argv[1]), int(sys.argv[2])):
        print(wrong)
        print("----")
