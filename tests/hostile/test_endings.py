"""Every failing command prints one message, also for a full disk, a closed stream, too little memory or a bug."""

import json
import os
import resource
import shutil
import subprocess
import sys

import pytest

from unmask.api import compile_problem, save_model
from unmask.cli import commands

PRINT = {
    "help": ["--help"],
    "version": ["--version"],
    "compile": ["compile", "a", "--length", "1", "--to", "mdm", "--out", "made"],
    "run": ["run", "abb", "aabb"],
    "run --json": ["run", "abb", "aabb", "--json"],
    "convert": ["convert", "abb", "--to", "plt", "--out", "converted"],
    "compare": ["compare", "a", "--lengths", "2"],
    "verify": ["verify", "abb"],
    "verify --json": ["verify", "abb", "--json"],
    "export": ["export", "abb", "--to", "torch", "--exact", "--out", "exported"],
    "extract": ["extract", "abb", "--out", "abb.aag"],
    "view": ["view", "abb", "aabb", "--text"],
    "paper": ["paper"],
    "sample": ["sample", "language"],
    "samplers": ["samplers", "a*b", "--length", "3", "--words", "2", "--budget", "2"],
    "an error with --json": ["run", "abb", "--json", "a"],
    "help of a command": ["run", "--help"],
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_model(compile_problem("(a|b)*abb", "mdm", length=4), folder / "abb")
    save_model(compile_problem("random:1", "cot", length=0), folder / "language")
    return folder


def ended(arguments, monkeypatch):
    """Return the exit code of a command in this process, which may only raise SystemExit."""
    monkeypatch.setattr(sys, "argv", ["unmask", *arguments])
    with pytest.raises(SystemExit) as caught:
        commands.main()
    return caught.value.code


def in_a_process(arguments, folder, *, memory=None, **streams):
    """Return (exit code, standard error) of a command in a fresh process."""

    def confined():
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    completed = subprocess.run(
        [sys.executable, "-m", "unmask", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        preexec_fn=confined,
        check=False,
        timeout=120,
        **{"stdout": subprocess.DEVNULL, **streams},
    )
    return completed.returncode, completed.stderr.decode()


@pytest.mark.parametrize("name", PRINT)
def test_a_full_disk_behind_standard_output(name, models, monkeypatch, capfd):
    monkeypatch.chdir(models)
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert ended(PRINT[name], patch) == 2
    message = capfd.readouterr().err.splitlines()
    assert len(message) == 1
    assert message[0].startswith("unmask: ")
    assert "No space left" in message[0] or name == "an error with --json"


def test_a_full_disk_in_a_process_of_its_own(models):
    """The end of the interpreter prints nothing more."""
    with open("/dev/full", "w") as full:
        code, message = in_a_process(["run", "abb", "aabb"], models, stdout=full)
    assert (code, message) == (
        2,
        "unmask: the output cannot be written: No space left on device; check the disk or the pipe\n",
    )


@pytest.mark.parametrize(
    "line",
    [
        "run abb aabb",
        "run abb aabb --json",
        "run abb a",
        "run abb a --json",
        "--help",
        "--version",
        "doctor",
        "paper --json",
        "nonsense",
        "compile a --to mdm --json",
    ],
)
def test_a_reader_that_takes_nothing(line, models):
    """`unmask … | head -c0`: no message about it, and 141 or the exit code that the command has anyway."""
    command = [sys.executable, "-m", "unmask", *line.split()]
    alone = subprocess.run(command, cwd=models, capture_output=True, check=False)
    reading, writing = os.pipe()
    os.close(reading)
    piped = subprocess.run(command, cwd=models, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert piped.returncode in (141, alone.returncode)
    assert piped.stderr == (alone.stderr if piped.returncode == 2 else b"")


def test_output_that_is_not_read(models):
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", "run", "abb", "-"],
        cwd=models,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    _, message = process.communicate(b"aabb\n" * 1000, timeout=60)
    assert (process.returncode, message) == (141, b"")


@pytest.mark.parametrize(
    ("stream", "word", "code"), [("stdin", "-", 2), ("stdin", "aabb", 0), ("stdout", "aabb", 0), ("stderr", "a", 2)]
)
def test_a_closed_stream(stream, word, code, models, monkeypatch, capfd):
    monkeypatch.chdir(models)
    with monkeypatch.context() as patch:
        patch.setattr(sys, stream, None)
        assert ended(["run", "abb", word], patch) == code
        replaced = getattr(sys, stream)
        if replaced is not None:
            replaced.close()
    assert ("standard input is closed" in capfd.readouterr().err) == (word == "-")


def test_too_little_memory_to_start(models):
    """From the memory that Python needs up to that of a run: a message, and never the exit code of an interrupt."""
    least = next(m for m in range(20, 400, 10) if python_starts(m))
    codes = []
    for megabytes in (least + 10, least + 100, least + 190, least + 300):
        code, message = in_a_process(["run", "abb", "aabb"], models, memory=megabytes << 20)
        assert (code, message.count("\n")) in ((0, 0), (2, 1)), (megabytes, message)
        assert code == 0 or "memory" in message
        codes.append(code)
    assert set(codes) == {0, 2}


def python_starts(megabytes):
    """Return whether a Python interpreter starts at all with so little memory."""

    def confined():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    completed = subprocess.run([sys.executable, "-c", "import typing, mmap"], preexec_fn=confined, check=False)
    return completed.returncode == 0


# the handler for unexpected errors


def breaks(monkeypatch, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("unmask.api.load_model", broken)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ZeroDivisionError("x"), "this should not happen: ZeroDivisionError in line"),
        (RecursionError(), "nested too deeply"),
        (OSError(5, "Input/output error", "some\x1bfile"), "some\\u{1b}file: Input/output error"),
        (OSError(28, "No space left on device"), "cannot be written: No space left on device"),
        (MemoryError(), "out of memory"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_unexpected_error_ends_with_a_message(error, expected, monkeypatch, capfd):
    breaks(monkeypatch, error)
    assert ended(["run", "abb", "aabb"], monkeypatch) == 2
    message = capfd.readouterr().err
    assert expected in message
    assert message.count("\n") == 1


def test_a_mistake_of_ours_can_be_looked_at(monkeypatch):
    breaks(monkeypatch, ZeroDivisionError("x"))
    monkeypatch.setenv("UNMASK_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["unmask", "run", "abb", "aabb"])
    with pytest.raises(ZeroDivisionError):
        commands.main()


def test_a_long_name_is_shortened_in_the_message(models, monkeypatch, capfd):
    """For every argument that names a file or a folder."""
    monkeypatch.chdir(models)
    long = "a" * 5000
    before = sorted(os.listdir(models))
    for arguments in (
        ["run", long, "aabb"],
        ["run", "abb", "aabb", "--trace", long],
        ["verify", long],
        ["verify", "abb", "--method", "prove", "--certificate", long],
        ["compile", f"dfa:{long}", "--length", "1", "--to", "mdm", "--out", "x"],
        ["compile", f"aiger:{long}", "--to", "mdm", "--out", "x"],
        ["compile", f"blif:{long}", "--to", "mdm", "--out", "x"],
        ["compile", "a", "--length", "1", "--to", "mdm", "--out", long],
        ["convert", "abb", "--to", "plt", "--out", long],
        ["export", "abb", "--to", "torch", "--out", long],
        ["extract", "abb", "--out", long],
        ["view", "abb", "aabb", "--out", long],
        ["view", "abb", "aabb", "--svg", long],
        ["samplers", "a", "--length", "3", "--out", long],
        ["samplers", f"law:{long}", "--length", "3"],
    ):
        assert ended(arguments, monkeypatch) == 2, arguments[:3]
        message = capfd.readouterr().err
        assert "File name too long" in message or "…" in message
        assert "should not happen" not in message
        assert len(message) < 1200
    assert sorted(os.listdir(models)) == before


def test_a_long_problem_is_no_file(models, monkeypatch, capfd):
    """What --against names is a folder only if there is one."""
    monkeypatch.chdir(models)
    assert ended(["verify", "abb", "--against", "a" * 5000], monkeypatch) == 1
    assert "refuted" in capfd.readouterr().out


@pytest.mark.parametrize("length", [10**9 * 2, 2**63 - 2, 10**20])
def test_a_length_that_no_integer_of_the_machine_holds(length, tmp_path, monkeypatch, capfd):
    for arguments in (
        ["compile", "a*", "--to", "mdm", "--length", str(length), "--out", str(tmp_path / "m")],
        ["compile", "group:A5", "--to", "plt", "--length", str(length), "--out", str(tmp_path / "m")],
        ["samplers", "a*", "--length", str(length)],
    ):
        assert ended(arguments, monkeypatch) == 2
        message = capfd.readouterr().err
        assert "take a shorter length" in message
        assert message.count("\n") == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "how", ["class X(BaseException): pass\nraise X('\\x1b')", "raise GeneratorExit", "raise SystemExit"]
)
def test_every_exception_of_a_program_becomes_a_message(how, tmp_path, monkeypatch, capfd):
    (tmp_path / "p.py").write_text(how)
    monkeypatch.chdir(tmp_path)
    assert ended(["compile", "program:p.py", "--to", "mdm", "--length", "2", "--out", "m"], monkeypatch) == 2
    message = capfd.readouterr().err
    assert "the program p.py raises" in message
    assert "\x1b" not in message
    assert message.count("\n") == 1


def test_a_symbol_of_megabytes_is_shortened_also_in_json(models, tmp_path, monkeypatch, capfd):
    shutil.copytree(models / "abb", tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    (tmp_path / "m" / "config.json").write_text(json.dumps({**config, "mask": "m" * 10**6}))
    monkeypatch.chdir(tmp_path)
    assert ended(["run", "m", "aabb", "--json"], monkeypatch) == 2
    out, err = capfd.readouterr()
    assert "mask names 'mmm" in json.loads(out)["error"]
    assert len(out) < 1200
    assert len(err) < 1200
