"""SMT-LIB → answers, by any solver that can be had: z3 as a Python module, or a command that reads SMT-LIB."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable

Solver = Callable[[str], str]
"""A question → sat, unsat, or anything else."""

PATIENCE = 60  # seconds for one question


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
        try:
            done = subprocess.run(
                command, input=question, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"no answer ({error})"
        return done.stdout.strip() or done.stderr.strip()

    return answer
