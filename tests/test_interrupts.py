"""Ctrl-C ends a command with exit code 130, wherever it arrives."""

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from unmask import files
from unmask.cli import commands
from unmask.expressions import N, n
from unmask.limits import SIGNALS, handle_interrupts, interrupted_by, interruptible, uninterrupted
from unmask.verification.lengths.obligations import Arithmetic, Ledger


@pytest.fixture(autouse=True)
def as_before():
    """A shell that starts tests in the background has interrupts ignored, which `handle_interrupts` would respect."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Interrupted:
    """An object that is destroyed while Ctrl-C is pressed."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_in_a_destructor_it_is_not_lost(capfd):
    handle_interrupts()
    assert interrupted_by() is None
    with pytest.raises(KeyboardInterrupt):
        del_and_wait()
    assert interrupted_by() == signal.SIGINT
    assert capfd.readouterr().err == ""


def del_and_wait():
    Interrupted()
    while True:
        time.sleep(0.01)


def taken_away(folder):
    shutil.rmtree(folder)
    time.sleep(10)


def left_behind(_):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x").touch()
    time.sleep(10)


@pytest.mark.parametrize("clear", [taken_away, left_behind])
def test_a_removal_ends_before_an_interrupt_is_raised(clear, tmp_path, monkeypatch):
    """A half-removed folder would never be removed completely."""
    unlink = os.unlink

    def struck(*arguments, **options):
        monkeypatch.setattr(os, "unlink", unlink)
        signal.raise_signal(signal.SIGINT)
        unlink(*arguments, **options)

    (tmp_path / "f").mkdir()
    for name in "abc":
        (tmp_path / "f" / name).touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "unlink", struck)
    handle_interrupts()
    with pytest.raises(KeyboardInterrupt):
        clear(tmp_path / "f")
    assert [path.name for path in tmp_path.iterdir()] == ([] if clear is taken_away else ["f"])


def test_an_error_that_a_library_makes_of_it_is_an_interrupt(monkeypatch, capfd):
    def library(*_, **__):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as interrupt:
            raise TypeError("x") from interrupt

    monkeypatch.setattr("unmask.api.load_model", library)
    monkeypatch.setattr(sys, "argv", ["unmask", "run", "abb", "aabb"])
    with pytest.raises(SystemExit) as end:
        commands.main()
    assert end.value.code == 130
    assert "should not happen" not in capfd.readouterr().err


@pytest.mark.parametrize("number", SIGNALS)
def test_no_signal_leaves_files_behind(number, tmp_path, monkeypatch, capfd):
    """Ctrl-C, `kill`, and a terminal that is closed: all while a folder is being written."""
    if signal.getsignal(number) is signal.SIG_IGN:  # under nohup, which a command respects
        signal.signal(number, signal.SIG_DFL)
    write = files._write_and_sync

    def struck(path, content):
        write(path, content)
        signal.raise_signal(number)

    monkeypatch.setattr(files, "_write_and_sync", struck)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split("unmask compile a --length 2 --to mdm --out m --json"))
    with pytest.raises(SystemExit) as end:
        commands.main()
    assert end.value.code == 128 + number
    out, err = capfd.readouterr()
    assert json.loads(out)["error"].startswith("interrupted")
    assert err.startswith("unmask: interrupted")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_while_the_solver_works():
    """The solver does not consume the signal and does not delay it."""
    pytest.importorskip("z3")
    handle_interrupts()
    arithmetic = Arithmetic(Ledger(), 2)
    row = arithmetic.row()

    class Solver(arithmetic.z3.Solver):
        def check(self):
            signal.raise_signal(signal.SIGINT)
            return super().check()

    arithmetic.z3 = type("z3", (), {**vars(arithmetic.z3), "Solver": Solver})
    with pytest.raises(KeyboardInterrupt):
        arithmetic.require("a remainder", arithmetic.at((n + N) % N, row) == row.n, [row.n >= 0, row.n < arithmetic.N])
    assert arithmetic.ledger.obligations == []


def test_a_second_signal_does_not_interrupt_the_clean_up(monkeypatch, capfd):
    """The first one raises; those that follow at once are recorded, wherever they arrive."""
    cleaned = []

    def work(*_, **__):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            cleaned.append(1)

    def say(*arguments, **options):
        signal.raise_signal(signal.SIGHUP)
        print(*arguments, file=sys.stderr if options.get("stderr") else sys.stdout)

    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    monkeypatch.setattr("unmask.api.load_model", work)
    monkeypatch.setattr(commands, "say", say)
    monkeypatch.setattr(sys, "argv", ["unmask", "run", "abb", "aabb"])
    with pytest.raises(SystemExit) as end:
        commands.main()
    assert (end.value.code, cleaned) == (130, [1])
    assert capfd.readouterr().err == "unmask: interrupted\n"
    signal.raise_signal(signal.SIGINT)  # while the interpreter ends


def created(finished):
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
        finished.append("created")


def removed(finished):
    with uninterrupted():
        try:
            with interruptible():
                signal.raise_signal(signal.SIGINT)
                finished.append("not reached")
        finally:
            signal.raise_signal(signal.SIGINT)
            finished.append("removed")


@pytest.mark.parametrize("work", [created, removed])
def test_an_interrupt_waits_until_files_are_where_they_belong(work):
    handle_interrupts()
    finished = []
    with pytest.raises(KeyboardInterrupt):
        work(finished)
    assert finished == [work.__name__]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("function", ["_temporary_folder", "make_folders", "_move_folder", "_remove_files"])
def test_a_signal_at_any_place_of_writing_leaves_nothing(function, number, tmp_path, monkeypatch, capfd):
    original = getattr(files, function)

    def struck(*arguments):
        signal.raise_signal(number)
        result = original(*arguments)
        signal.raise_signal(number)
        return result

    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
    monkeypatch.setattr(files, function, struck)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split("unmask compile a --length 2 --to mdm --out p/q/m"))
    with pytest.raises(SystemExit) as end:
        commands.main()
    assert "Traceback" not in capfd.readouterr().err
    assert end.value.code in (0, 128 + number)
    assert all(not path.name.startswith(".") for path in tmp_path.rglob("*"))
    assert (tmp_path / "p").exists() == (tmp_path / "p" / "q" / "m" / "SHA256SUMS").exists()
