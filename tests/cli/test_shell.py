"""Shell comfort: help, completion, quiet, colours, widths and bars, in a pipe and in a pseudo-terminal."""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from unmask import api
from unmask.api import compile_problem, tape_of
from unmask.cli import doctor
from unmask.cli.commands import COMMANDS, GROUPS, app
from unmask.cli.options import PLANNERS
from unmask.errors import UnmaskError
from unmask.problems.catalogue import CATALOGUE
from unmask.reasoners.planners import parse_planner
from unmask.weights.kinds import KINDS
from unmask.weights.storage import save

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")
PLAIN = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES", "TERM")}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One small model, and one whose canvas is wider than a narrow terminal."""
    folder = tmp_path_factory.mktemp("models")
    save(compile_problem("(a|b)*abb", "mdm", length=4), folder / "abb")
    save(compile_problem("a*", "mdm", length=60), folder / "long")
    return folder


def in_terminal(*arguments, width=80, **environment):
    """Return (exit code, everything that was sent to a terminal of that width)."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", *map(str, arguments)],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**PLAIN, "TERM": "xterm-256color", **environment},
        close_fds=True,
    )
    os.close(child)
    sent = b""
    while True:
        try:
            chunk = os.read(parent, 1 << 16)
        except OSError:  # on Linux: the other end is closed
            break
        if not chunk:
            break
        sent += chunk
    os.close(parent)
    return process.wait(timeout=60), sent.decode().replace("\r\n", "\n")


def in_pipe(*arguments, **environment):
    completed = subprocess.run(
        [sys.executable, "-m", "unmask", *map(str, arguments)],
        capture_output=True,
        env={**PLAIN, "TERM": "xterm-256color", **environment},
        check=False,
        timeout=60,
    )
    return completed.returncode, completed.stdout.decode(), completed.stderr.decode()


def widest(text):
    """Return the text that remains on the screen: a bar is overwritten from the start of its line."""
    lines = (line.split("\r")[-1] for line in ESCAPE.sub("", text).split("\n"))
    return max(len(line) for line in lines)


# ------------------------------------------------------------------------------------------------ help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example_that_parses(name, unmask):
    command = get_command(app).commands[name]
    code, out, _ = unmask(name, "--help")
    assert code == 0
    example = re.search(r"Example: \[bold\]unmask (.*)\[/bold\]", command.help)
    assert example is not None, f"{name} has no example"
    assert f"Example: unmask {name}" in " ".join(out.split())
    arguments = shlex.split(example[1])
    assert arguments[0] == name
    command.make_context(name, arguments[1:], resilient_parsing=False)
    assert "<bool>" not in out
    assert unmask(name, "-h")[1] == out


def test_the_version(unmask):
    assert unmask("--version")[:2] == (0, f"unmask {PROJECT['version']}\n")


# ------------------------------------------------------------------------------------------ completion


def offered(line, shell="bash"):
    """Return the completions of a line whose last word is incomplete."""
    words = line.split(" ")
    environment = (
        {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        if shell == "bash"
        else {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    code = "from unmask.cli.commands import app; app(prog_name='unmask')"
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env={**PLAIN, **environment, "_UNMASK_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert completed.stderr == b""
    return [entry.split("\t")[0] for entry in completed.stdout.decode().splitlines()]


def test_commands_are_completed():
    assert set(offered("unmask ")) == {*COMMANDS, *GROUPS}
    assert set(offered("unmask co")) == {"compile", "convert", "compare"}
    assert set(offered("unmask co", "fish")) == {"compile", "convert", "compare"}


def test_kinds_are_completed():
    assert set(offered("unmask compile a --to ")) == set(KINDS)
    assert set(offered("unmask convert m --to p")) == {"plt", "pcot"}


def test_problems_are_completed():
    prefixes = {text.partition(":")[0] for text in offered("unmask compile ")}
    assert prefixes == {row.prefix for row in CATALOGUE}
    assert offered("unmask compile re") == ["regex:"]
    assert "family:parity" in offered("unmask compare fam")
    assert "group:A5" in offered("unmask compile gr", "fish")


def test_names_are_completed():
    assert offered("unmask convert m --to plt --by mdm_to_pl") == ["mdm_to_plt"]
    assert offered("unmask paper thm:lts-m") == ["thm:lts-mdms"]
    assert "confidence:1" in offered("unmask run m w --planner con")
    assert all(parse_planner(name, tape_of(0)) for name in PLANNERS)


def test_the_script_for_the_shell():
    # the shell cannot be detected in every environment, so it is named
    code, out, error = in_pipe("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert code == 0, error
    assert "=complete_bash" in out


# ----------------------------------------------------------------------------------------------- quiet


def test_quiet_says_nothing_but_documents_samples_lines_and_errors(unmask, models, tmp_path):
    abb = models / "abb"
    assert unmask("run", abb, "aabb", "-q") == (0, "", "")
    assert unmask("-q", "run", abb, "abba") == (1, "", "")
    assert unmask("--quiet", "compile", "ab", "--length", 2, "--to", "cot", "--out", tmp_path / "m") == (0, "", "")
    assert unmask("convert", abb, "--to", "plt", "--out", tmp_path / "p", "--quiet") == (0, "", "")
    assert unmask("verify", abb, "-q") == (0, "", "")
    assert unmask("paper", "-q") == (0, "", "")
    assert unmask("doctor", "-q") == (0, "", "")
    assert json.loads(unmask("run", abb, "aabb", "-q", "--json")[1])["accepted"] is True
    code, out, err = unmask("-q", "run", abb, "ab")
    assert (code, out) == (2, "")
    assert "this one has length 2" in err
    assert unmask("run", abb, "aabb")[1] != "", "quiet is not kept for the next command"


def test_behind_two_dashes_everything_is_a_word(unmask, models):
    code, _, err = unmask("run", models / "abb", "--", "-q")
    assert code == 2
    assert "has length 2" in err


# ------------------------------------------------------------------------------ colours, bars and widths


def test_colours_on_a_terminal_only(models):
    run = ("run", models / "abb", "aabb")
    code, out = in_terminal(*run)
    assert code == 0
    assert COLOUR.search(out)
    assert in_pipe(*run)[1] == ESCAPE.sub("", out)
    code, out = in_terminal(*run, NO_COLOR="1")
    assert not COLOUR.search(out)
    assert "\x1b[1;7m" in out, "what was just written is still told apart"
    assert not ESCAPE.search(in_terminal(*run, TERM="dumb")[1])


def test_a_bar_on_a_terminal_and_silence_in_a_pipe():
    compare = ("compare", "ab", "--lengths", "2,3")
    _, out = in_terminal(*compare)
    assert "measuring" in out
    assert "%" in out
    code, out, err = in_pipe(*compare)
    assert (code, err) == (0, "")
    assert "measuring" not in out
    assert in_terminal(*compare, "-q") == (0, "")


def test_a_bar_while_words_are_run(models):
    verify = ("verify", models / "long", "--method", "sample", "--cases", "3000")
    code, out = in_terminal(*verify)
    assert code == 0
    assert "running words" in out
    assert in_pipe(*verify) == (0, "no counterexample found (3,000 words)\n", "")


@pytest.mark.parametrize("width", [40, 80])
def test_nothing_is_wider_than_the_terminal(models, width):
    runs = [
        ("run", models / "long", "a" * 60),
        ("compare", "(a|b)*abb", "--lengths", "2,4"),
        ("paper",),
        ("compile", "--help"),
    ]
    for arguments in runs:
        code, out = in_terminal(*arguments, width=width)
        assert code == 0
        assert widest(out) <= width, arguments
        assert "…" not in ESCAPE.sub("", out) or arguments[0] == "compile", arguments


def test_a_long_canvas_is_folded_under_its_first_slot(models):
    _, out = in_terminal("run", models / "long", "a" * 60, width=40)
    lines = ESCAPE.sub("", out).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("step  1"))
    assert lines[start + 1].startswith(" " * 8)
    assert in_pipe("run", models / "long", "a" * 60)[1].splitlines()[1].startswith("step  1")


def test_a_pipe_breaks_no_line():
    """COLUMNS is for terminals; a program that reads a table needs one line per row."""
    _, out, _ = in_pipe("compare", "(a|b)*abb", "--lengths", "8", COLUMNS="40")
    rows = [line for line in out.splitlines() if re.match(r"\s*(mdm|smdm|topk|plt|cot|pcot)\b", line)]
    assert [row.split()[0] for row in rows] == ["mdm", "smdm", "topk", "plt", "pcot", "cot"]
    assert all("yes" in row for row in rows)
    _, out, _ = in_pipe("paper", COLUMNS="40")
    assert all(line.count("\t") == 5 for line in out.splitlines()[:-1])


# ---------------------------------------------------------------------------------------------- doctor


def test_doctor(unmask):
    code, out, err = unmask("doctor", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["healthy"] is True
    assert report["self_test"]["problem"] is None
    assert report["self_test"]["runs"] == 8
    assert {"numpy", "typer"} <= {package["name"] for package in report["packages"]}
    extras = {extra["name"]: extra for extra in report["extras"]}
    assert "torch" in {package["name"] for package in extras["lab"]["packages"]}
    assert extras["dev"]["installed"] is True
    code, out, _ = unmask("doctor")
    assert code == 0
    assert "the engines agree on 8 runs" in out


def test_doctor_says_when_something_is_wrong(unmask, monkeypatch):
    def differ(*_):
        raise UnmaskError("the fast engine and the reference differ at step 0")

    monkeypatch.setattr(api, "run_both", differ)
    code, out, _ = unmask("doctor")
    assert code == 1
    assert "the self-test failed: the fast engine and the reference differ at step 0" in out
    monkeypatch.setattr(api, "run_both", lambda model, _: api.run_word(model, "aaaa"[: model.length]))
    assert "gives the wrong answer for aabb" in unmask("doctor")[1]
    monkeypatch.undo()
    monkeypatch.setattr(
        doctor,
        "_declared_requirements",
        lambda: ["no-such-package>=1", "torch-not==2; extra == 'lab'", "unmask[lab]; extra == 'dev'"],
    )
    code, out, _ = unmask("doctor")
    assert code == 1
    assert "no-such-package MISSING" in out
    assert "pip install 'unmask[lab]'" in out
    assert "unmask[dev]" not in out


def test_requirements_are_read():
    needed, extras = doctor.requirements(
        ["numpy>=2.0", "torch>=2.4; extra == 'lab'", "x[y,z]; extra == 'lab'", 'unmask[lab]; extra == "dev"', "a-b.c"]
    )
    assert [(package.name, package.needs) for package in needed] == [("numpy", ">=2.0"), ("a-b.c", "")]
    assert [(extra.name, [p.name for p in extra.packages]) for extra in extras] == [("lab", ["torch", "x"])]
    with pytest.raises(UnmaskError, match='a requirement that cannot be read, "x; python_version'):
        doctor.requirements(["x; python_version < '3.12'"])
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        doctor.requirements(lines)


def test_every_extra_is_explained():
    assert set(PROJECT["optional-dependencies"]) <= set(doctor.ADDS)


def test_a_file_in_the_place_of_a_module_of_python_is_named(tmp_path):
    (tmp_path / "random.py").write_text("coin = 3\n")
    completed = subprocess.run(
        [sys.executable, "-m", "unmask", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert completed.returncode == 2
    assert completed.stderr.endswith(
        "; random.py hides a module of the same name: rename the file, or start from another folder\n"
    )
