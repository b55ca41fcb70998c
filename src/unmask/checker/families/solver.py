"""SMT-LIB → answers, by any solver that can be had: z3 as a Python module, or a command that reads SMT-LIB."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryFile
from threading import Timer

Solver = Callable[[str], str]
"""A question → sat, unsat, or anything else."""

PATIENCE = 60  # seconds for one question
LONGEST = 200  # bytes of an answer that are read


def found(command: str | None = None) -> Solver | None:
    """The solver that is named, or one that is installed."""
    if command is not None:
        return _by_command(command.split())
    if importlib.util.find_spec("z3") is not None:
        return _by_module
    for known in (["z3", "-in"], ["cvc5"]):
        if shutil.which(known[0]) is not None:
            return _by_command(known)
    return None


def _by_module(question: str) -> str:
    import z3

    solver = z3.Solver()
    solver.set("timeout", PATIENCE * 1000)
    solver.from_string(question.replace("(check-sat)", ""))
    return str(solver.check())


def _by_command(command: list[str]) -> Solver:
    def answer(question: str) -> str:
        with TemporaryFile() as asked:
            asked.write(question.encode())
            asked.seek(0)
            try:
                process = subprocess.Popen(command, stdin=asked, stdout=PIPE, stderr=DEVNULL)
            except (OSError, ValueError, IndexError) as error:  # no such command, or none at all
                return f"no answer ({error})"
            return _short(process)

    return answer


def _short(process: subprocess.Popen[bytes]) -> str:
    """What a solver says, or how it begins; then, or when its time is over, it is ended."""
    assert process.stdout is not None
    clock = Timer(PATIENCE, process.kill)
    clock.start()
    try:
        with process.stdout:
            said = process.stdout.read(LONGEST + 1)
    finally:
        clock.cancel()
        process.kill()
        process.wait()
    text = said.decode(errors="replace").strip()
    return f"{text} …" if len(said) > LONGEST else text or "no answer"
