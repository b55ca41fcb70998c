"""A small folder cannot take all memory: too large work is refused in advance, or results are left out with a note."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from command_line import ENVIRONMENT, in_a_process, in_this_process
from greedy_folders import greedy_folder
from unmask.api import compile_problem, run_word
from unmask.cli.options import budgeted
from unmask.errors import OutOfTime
from unmask.limits import Budget
from unmask.verification.words.extraction import extract
from unmask.viewer.model_view import view_of
from unmask.weights.storage import load, save


@pytest.mark.parametrize("kind", ["mdm", "plt"])
@pytest.mark.parametrize("command", ["run {} a", "run {} a --engine reference", "extract {} --out x.aag"])
def test_more_rows_than_fit_are_refused_with_the_number_and_the_flag(tmp_path, kind, command):
    folder = greedy_folder(tmp_path / "rows", kind, padding=(1 << 26) - 1, steps=1)
    code, printed = in_this_process(f"unmask {command.format(folder)}", tmp_path)
    assert code == 2
    assert "67,108,864 rows would take about" in printed
    assert "beyond the limit of 4.0 GB" in printed
    assert "--limit" in printed
    assert not (tmp_path / "x.aag").exists()


def test_the_limit_is_lifted_and_lowered_by_its_flag(tmp_path):
    save(compile_problem("(a|b)*abb", "mdm", length=4), tmp_path / "m")
    assert in_this_process("unmask run m aabb --limit 1G", tmp_path)[0] == 0
    code, printed = in_this_process("unmask run m aabb --limit 1M", tmp_path)
    assert code == 2
    assert "beyond the limit of 1.0 MB" in printed


def test_columns_without_an_entry_cost_nothing(tmp_path):
    """2^25 columns of queries and keys, one of them in use."""
    model = load(greedy_folder(tmp_path / "columns", "mdm", padding=2, steps=2, columns=1 << 25))
    with Budget(memory=400 << 20):
        assert run_word(model, "a").steps_taken == 2
        assert len(extract(model).slots) == 2


def test_canvases_that_do_not_fit_are_not_kept_and_the_result_says_so(tmp_path):
    folder = greedy_folder(tmp_path / "steps", "mdm", padding=1000, steps=4)
    with Budget(memory=96 << 20):
        trace = run_word(load(folder), "a")
    assert (len(trace.canvas), trace.left_out) == (4, None)
    folder = greedy_folder(tmp_path / "more", "mdm", padding=30_000, steps=200)
    code, printed = in_this_process(f"unmask run {folder} a --limit 170M --json", tmp_path)
    document = json.loads(printed)
    assert (code, document["steps"], len(document["canvas"])) == (2, 200, 1)
    assert "only the last canvas is kept" in document["left_out"]
    _, printed = in_this_process(f"unmask run {folder} a --limit 170M", tmp_path)
    assert "only the last canvas is kept" in printed
    assert "step 200" in printed


@pytest.mark.parametrize(("kind", "padding"), [("mdm", 10), ("plt", 10), ("cot", 1 << 20)])
def test_a_million_steps_end_with_their_time(tmp_path, kind, padding):
    folder = greedy_folder(tmp_path / "steps", kind, padding=padding, steps=1 << 20)
    code, printed = in_this_process(f"unmask run {folder} a --timeout 1", tmp_path)
    assert code == 2
    assert "the time limit of 1 s was reached" in printed


class Finalized:
    def __init__(self, ended):
        self.ended = ended

    def __del__(self):
        time.sleep(0.2)
        self.ended.append("__del__")


def collected(ended):
    def callback(phase, _):
        if phase == "stop":
            time.sleep(0.2)
            ended.append("callback")

    gc.callbacks.append(callback)
    gc.collect()
    gc.callbacks.remove(callback)


@pytest.mark.parametrize(("first", "ended"), [(Finalized, ["__del__"]), (collected, ["callback"]), (list, [])])
def test_the_end_of_the_time_limit_names_the_stage(first, ended):
    """The alarm raises in any loop, but not in a finalizer or a callback of the collector, which swallow exceptions."""

    def work():
        first(items)
        while True:
            pass

    items = []
    with pytest.raises(OutOfTime), budgeted(None, limit=None, timeout=0.1):
        work()
    assert items == ended


def test_memory_is_measured_where_no_size_tells_it(tmp_path):
    """An extraction with too many cases; this process has freed memory that it can use again."""
    save(compile_problem("family:multiplication", "mdm", length=12), tmp_path / "m")
    code, printed = in_a_process("unmask extract m --out x.aag --limit 8M", tmp_path)
    assert code == 2
    assert re.search(r"of memory at extracting steps .* --limit", printed)
    assert not (tmp_path / "x.aag").exists()


@pytest.mark.parametrize(
    ("problem", "length", "how"),
    [
        ("family:multiplication", 24, "--method prove"),
        ("family:addition", 256, "--method prove"),
        ("group:S5", 16, "--method prove --certificate c"),
    ],
)
def test_a_proof_without_an_end_in_sight_is_unknown(tmp_path, problem, length, how):
    save(compile_problem(problem, "mdm", length=length), tmp_path / "m")
    code, printed = in_this_process(f"unmask verify m {how} --timeout 3 --json", tmp_path)
    verdict = json.loads(printed)
    assert (code, verdict["verdict"], verdict["method"]) == (2, "unknown", "prove")
    assert "the time limit of 3 s was reached" in verdict["reason"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [".printed", "m"]


def test_time_that_is_over_while_a_folder_is_read_is_unknown_too(tmp_path):
    save(compile_problem("family:addition", "mdm", length=64), tmp_path / "m")
    code, printed = in_this_process("unmask verify m --method prove --timeout 0.001 --json", tmp_path)
    verdict = json.loads(printed)
    assert (code, verdict["verdict"], verdict["method"]) == (2, "unknown", "prove")
    assert "the time limit of 0.001 s was reached" in verdict["reason"]


def test_compare_shows_what_it_has_when_the_time_is_over(tmp_path):
    in_this_process("unmask compare '(a|b)*abb' --lengths 4", tmp_path)  # so that everything is imported
    lengths = ",".join(str(n) for n in range(4, 400))
    code, printed = in_this_process(f"unmask compare '(a|b)*abb' --lengths {lengths} --timeout 2", tmp_path)
    assert code == 2
    assert "the time limit of 2 s was reached at measuring" in printed


def test_an_interrupt_ends_the_work_and_leaves_nothing(tmp_path):
    save(compile_problem("family:multiplication", "mdm", length=48), tmp_path / "m")
    command = [sys.executable, "-c", "print('here', flush=True); from unmask.cli.start import main; main()"]
    command += ["extract", "m", "--out", "x.aag"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore it
    )
    assert process.stdout.readline() == b"here\n"
    time.sleep(2)  # at an arbitrary moment
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_view_of_too_many_steps_is_refused(tmp_path):
    folder = greedy_folder(tmp_path / "steps", "mdm", padding=10, steps=1 << 20)
    code, printed = in_this_process(f"unmask view {folder} a --out x.html", tmp_path)
    assert code == 2
    assert "a view of 1,048,576 steps with 10 slots would take about" in printed
    assert not (tmp_path / "x.html").exists()


def test_a_view_that_cannot_hold_everything_shows_the_canvas():
    model = compile_problem("(a|b)*abb", "mdm", length=8)
    with Budget(memory=200 << 20):
        (panel,) = view_of(model, "aababbab", ()).panels
    assert panel.recording.dropped == ["attention", "registers"]
    assert len(panel.trace.canvas) == 3
    assert view_of(model, "aababbab", ()).panels[0].recording.dropped == []


def test_a_conversion_keeps_to_the_limit(tmp_path):
    save(compile_problem("family:addition", "mdm", length=24), tmp_path / "m")
    code, printed = in_a_process("unmask convert m --to pcot --out converted --limit 1M", tmp_path)
    assert code == 2
    assert "beyond the limit of 1.0 MB" in printed
    assert not (tmp_path / "converted").exists()
