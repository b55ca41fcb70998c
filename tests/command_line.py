"""Lines of a shell, as a page shows them: `unmask …` in this process, all else by `sh`.

A process of its own costs a third of a second before it does anything; a few pages are still run in that way.
"""

import os
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from unmask.cli import commands

SOURCE = Path(__file__).parents[1] / "src"
ENVIRONMENT = {**os.environ, "COLUMNS": "120", "PYTHONPATH": str(SOURCE)}
SPECIAL = set("|&;<>$`*?#~\n")


def is_plain(line):
    """Whether a line is one `unmask` command, without anything that a shell would act upon."""
    words = list(shlex.shlex(line, posix=False, punctuation_chars=True))
    outside = "".join(word for word in words if word[0] not in "'\"")
    return line.startswith("unmask ") and not SPECIAL & set(outside)


def in_this_process(line, folder):
    """(exit code, standard output and standard error, as they came) of `unmask …` in a folder."""
    path = folder / ".printed"
    with pytest.MonkeyPatch.context() as patch, path.open("w+", encoding="utf-8") as printed:
        patch.chdir(folder)
        patch.setenv("COLUMNS", ENVIRONMENT["COLUMNS"])
        patch.setattr(sys, "argv", shlex.split(line))
        with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit) as caught:
            commands.main()
    return caught.value.code, path.read_text(encoding="utf-8")


def in_a_process(line, folder):
    """The same by `sh`, which finds `unmask` and `python` in a folder of their own."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    for name, module in (("unmask", "-m unmask"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", f"{{ {line}\n}} 2>&1"],
        cwd=folder,
        env={**ENVIRONMENT, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout.decode()


def run(line, folder):
    return (in_this_process if is_plain(line) else in_a_process)(line, folder)
