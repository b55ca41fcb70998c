"""Every `console` block of the documentation is run, and its output compared with what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EVERY_PAGE = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES = [page for page in EVERY_PAGE if "```console" in page.read_text(encoding="utf-8")]
PARITY = """{"alphabet": ["zero", "one"],
 "states": ["even", "odd"],
 "start": "even",
 "accepting": ["odd"],
 "transitions": {"even": {"zero": "even", "one": "odd"},
                 "odd": {"zero": "odd", "one": "even"}}}
"""


def commands(page):
    """(command, the output that follows it) in order."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def comparable(text):
    """Without times and without blanks at the ends of lines."""
    text = re.sub(r"\b\d+\.\d{3}\b", "0.000", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    program = tmp_path / "bin" / "unmask"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m unmask "$@"\n')
    program.chmod(0o755)
    (tmp_path / "parity.json").write_text(PARITY)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    for command, shown in commands(page):
        if command.startswith("make "):
            continue
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert comparable(done.stdout.decode()) == comparable(shown), command


def test_pages_have_commands():
    assert {"README.md", "problems.md"} <= {page.name for page in PAGES}
