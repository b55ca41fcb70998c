"""`make run`: the first command of the README, in an environment with only the base dependencies."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BASE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BLOCKED = """
import runpy, sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"{name} is not a base dependency", name=name)

absent = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Absent())
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def plain(name):
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name)[0]).lower()


def base_distributions():
    """Return the base dependencies and all their requirements."""
    distributions, open_names = set(), [plain(line) for line in BASE]
    while open_names:
        name = open_names.pop()
        if name not in distributions:
            distributions.add(name)
            open_names += [plain(line) for line in metadata.requires(name) or [] if "extra ==" not in line]
    return distributions


@pytest.fixture(scope="module")
def command():
    """Run the example as `make run` does; importing anything else that is installed fails."""
    base = base_distributions()
    modules = metadata.packages_distributions().items()
    absent = {module for module, owners in modules if not base & {plain(owner) for owner in owners}} - {"unmask"}
    assert {"torch", "z3", "jaxtyping", "packaging", "pytest"} <= absent
    return [sys.executable, "-c", BLOCKED, ",".join(absent), str(ROOT / "examples" / "first_look.py")]


def check(output):
    assert not re.search(r"\\u\{|\[/?bold\]|Traceback", output)
    assert not [line for line in output.split("\n") if not line.isprintable()]
    assert [line for line in output.split("\n") if re.match(r"\d\. ", line)] == [
        "1. A masked diffusion model that decides whether a word matches (a|b)*abb",
        "2. A harder problem: is this product of permutations the identity?",
        "3. Is the model correct? A proof for all words of 64 letters",
        "4. The same problem in six frameworks",
    ]
    for words in (
        "accepted after 4 steps",
        "rejected after 4 steps",
        "accepted after 3 steps",
        "proved for every word",
    ):
        assert words in output
    rows = re.findall(r"^ (\w+) +(8|64) +(\d+) <= (\d+) .* (yes|NO|not run) *$", output, re.M)
    assert len(rows) == 12
    assert all(int(steps) <= int(bound) and correct == "yes" for _, _, steps, bound, correct in rows)


def test_in_a_pipe(command):
    completed = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=120)
    assert (completed.returncode, completed.stderr) == (0, "")
    check(completed.stdout)
    assert re.search(r"counterexample 'a{63}b': ", completed.stdout)


def test_on_a_terminal_of_80_columns(command):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, env={**environment, "TERM": "xterm-256color"}
    )
    os.close(child)
    sent = b""
    while True:
        try:
            chunk = os.read(parent, 1 << 16)
        except OSError:
            break
        if not chunk:
            break
        sent += chunk
    os.close(parent)
    assert process.wait(timeout=60) == 0
    assert b"\x1b[1m" in sent
    output = STYLE.sub("", sent.decode()).replace("\r\n", "\n")
    check(output)
    assert max(map(len, output.split("\n"))) <= 80
