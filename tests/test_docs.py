"""Every `console` block of the documentation is run, and its output compared with what the page shows.

A ```python block with a title is a file that the reader is told to write; the commands use it.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import command_line
from unmask import compile_problem, run_word, save_model
from unmask.errors import AttendsToNothing, EditsWrittenSlot

ROOT = Path(__file__).parents[1]
EVERY_PAGE = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGES = [page for page in EVERY_PAGE if "```console" in page.read_text(encoding="utf-8")]
AS_TYPED = ("README.md",)  # every command in a process of its own, as a reader runs it
PARITY = """{"alphabet": ["zero", "one"],
 "states": ["even", "odd"],
 "start": "even",
 "accepting": ["odd"],
 "transitions": {"even": {"zero": "even", "one": "odd"},
                 "odd": {"zero": "odd", "one": "even"}}}
"""


def commands(page):
    """Yield (command, the output that follows it) in order."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        for entry in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = entry.partition("\n")
            yield command, output


def files(page):
    """Return (name, text) of the files that a page tells its reader to write."""
    return re.findall(r'^```python title="([^"]+)"\n(.*?)^```', page.read_text(encoding="utf-8"), re.M | re.S)


def comparable(text):
    """Return the text without times and without blanks at the ends of lines."""
    text = re.sub(r"\b\d+\.\d{3}\b", "0.000", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    (tmp_path / "parity.json").write_text(PARITY)
    for name, text in files(page):
        (tmp_path / name).write_text(text, encoding="utf-8")
    run = command_line.in_a_process if page.name in AS_TYPED else command_line.run
    for command, output in commands(page):
        if command.startswith("make "):
            continue
        _, printed = run(command, tmp_path)
        assert comparable(printed) == comparable(output), command


def test_what_a_shell_would_act_upon_is_left_to_it():
    plain = ["unmask run m 'a b' --json", "unmask compile '(a|b)*a{2}$' --length 3 --to mdm --out \"x>y\""]
    acted = ["unmask run m a | head", "unmask run m a > f", "unmask run m *", "printf x", "unmask run $m a", "a && b"]
    assert [line for line in (*plain, *acted) if command_line.is_plain(line)] == plain


def test_pages_have_commands():
    assert {"README.md", "problems.md"} <= {page.name for page in PAGES}


def test_every_file_of_a_page_is_run():
    for page in EVERY_PAGE:
        run = " ".join(command for command, _ in commands(page))
        assert all(f"python {name}" in run or f"program:{name}" in run for name, _ in files(page)), page


READER = ROOT / "docs" / "how-to" / "read-a-model-folder.md"


@pytest.mark.parametrize(("kind", "precision"), [("mdm", 2), ("mdm", 3), ("smdm", 2)])
def test_the_reader_of_the_page_reads_any_model(kind, precision, tmp_path):
    """Random weights that saturate, every step of the canvas."""
    (name, text), *_ = files(READER)
    (tmp_path / name).write_text(text, encoding="utf-8")
    compared = 0
    for seed in range(4):
        model = compile_problem(f"random:{seed}", kind, length=3, precision=precision)
        completed = subprocess.run(
            [sys.executable, tmp_path / name, save_model(model, tmp_path / str(seed)), "aba"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        try:
            trace = run_word(model, "aba")
        except AttendsToNothing:
            assert "attends to nothing" in completed.stderr
            continue
        except EditsWrittenSlot:  # the page's program does not check that
            continue
        *steps, verdict = completed.stdout.splitlines()
        canvases = [["·" if s == model.mask else s for s in trace.symbols(canvas)] for canvas in trace.canvas]
        assert [line.split()[1:] for line in steps] == canvases
        assert verdict == {True: "accepted", False: "rejected", None: "undecided"}[trace.accepted]
        compared += 1
    assert compared >= 2
