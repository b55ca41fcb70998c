"""A budget stops the work inside it, reports its progress, and refuses work that is too large in advance."""

import gc
import json
import re
import signal
import sys
import time
from itertools import count

import numpy as np
import pytest
import typer

from command_line import in_this_process
from unmask import limits
from unmask.cli.options import PATIENCE, budgeted, read_bytes
from unmask.errors import OutOfTime, TooLarge
from unmask.limits import DEFAULT_MEMORY, Budget, check, check_memory, current_budget, size_text, stage


def test_work_without_an_end_ends_with_its_time():
    def work():
        for _ in stage("counting", count(), 10**12):
            pass

    with (
        Budget(seconds=1 / 100),
        pytest.raises(
            OutOfTime, match=r"the time limit of 0\.01 s was reached at counting \([0-9,]+ of 1,000,000,000,000\)"
        ),
    ):
        work()


@pytest.mark.parametrize("seconds", ["inf", "1e300", "1e18", "1e9"])
def test_a_huge_time_limit_is_not_an_error(seconds, tmp_path):
    code, printed = in_this_process(f"unmask compile ab --length 2 --to mdm --out m --timeout {seconds}", tmp_path)
    assert code == 0, printed


def test_loops_that_skip_errors_stop_at_the_time_limit():
    def work():
        try:
            check()
        except Exception:  # like loops that skip bad words
            return

    with Budget(seconds=0), pytest.raises(OutOfTime):
        work()


def test_an_inner_budget_does_not_outlive_the_outer_one():
    with Budget(seconds=0), Budget(seconds=1000), pytest.raises(OutOfTime):
        check()
    assert current_budget().deadline is None


def test_memory_is_measured_while_work_goes_on():
    blocks = []

    def work():
        for _ in stage("filling", range(1000)):
            blocks.append(np.ones(1 << 20))
            current_budget().measure(0)

    with (
        Budget(memory=64 << 20),
        pytest.raises(TooLarge, match=r"has taken .* MB of memory at filling \(.* of 1,000\), beyond .* 64\.0 MB"),
    ):
        work()
    assert len(blocks) < 100  # memory that was freed before is used first and is not counted


def test_a_size_beyond_the_limit_is_refused_with_the_number_and_the_flag():
    with Budget(memory=1 << 20):
        check_memory(1 << 20, "a run")
        with pytest.raises(TooLarge, match=r"a run would take about 1\.1 MB .* 1\.0 MB; .* --limit 1048577"):
            check_memory((1 << 20) + 1, "a run")
    check_memory(DEFAULT_MEMORY, "without a budget, the default")
    with pytest.raises(TooLarge):
        check_memory(DEFAULT_MEMORY + 1, "without a budget, the default")


def test_stages_are_shown_as_they_open_and_close():
    lines = []
    with Budget(show=lambda stages: lines.append([(s.label, s.done, s.total) for s in stages])):
        for _ in stage("outer", [1, 2]):
            for _ in stage("inner", iter("ab")):
                current_budget().measure(0)
        current_budget().measure(0)
    assert [("outer", 1, 2), ("inner", 1, None)] in lines
    assert lines[-1] == []


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("2k", 2048), ("800M", 800 << 20), ("8GB", 8 << 30)])
def test_bytes_are_read_as_people_write_them(text, size):
    assert read_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5G", "1X", "٣", "9" * 30])
def test_other_numbers_are_refused(text):
    with pytest.raises(typer.BadParameter):
        read_bytes(text)


@pytest.mark.parametrize(("size", "text"), [(1, "1 bytes"), (1024, "1.0 KB"), (1025, "1.1 KB"), (1 << 40, "1,024 GB")])
def test_sizes_are_rounded_up(size, text):
    assert size_text(size) == text


def test_a_sample_without_end_is_unknown_when_the_time_is_over(tmp_path):
    assert in_this_process("unmask compile '(a|b)*abb' --length 64 --to mdm --out m", tmp_path)[0] == 0
    assert in_this_process("unmask verify m --cases 1", tmp_path)[0] == 0  # so that everything is imported
    code, printed = in_this_process(f"unmask verify m --method sample --cases {10**12} --timeout 2 --json", tmp_path)
    verdict = json.loads(printed)
    assert (code, verdict["verdict"]) == (2, "unknown")
    assert verdict["cases"] > 0
    assert re.search(r"running words \([0-9,]+ of 1,000,000,000,000\); give more with --timeout", verdict["reason"])


LONG = {
    "samplers": "unmask samplers group:A5 --length 16 --out report.html",
    "samplers on a law": "unmask samplers law:law.json --length 8 --out report.html",
    "paper": "unmask paper --check",
    "export": "unmask export m --to bert --out bert",
    "lab train": "unmask lab train config.json --out run --device cpu",
}
LAW = '{"kind": "ngram", "alphabet": ["a", "b"], "order": 1, "contexts": {"": {"a": 0.5, "b": 0.5}}}'


@pytest.mark.parametrize("line", LONG.values(), ids=LONG)
def test_every_long_command_ends_with_its_time_and_leaves_nothing_half_written(line, tmp_path):
    assert in_this_process("unmask compile '(a|b)*abb' --length 8 --to mdm --out m", tmp_path)[0] == 0
    (tmp_path / "law.json").write_text(LAW)
    (tmp_path / "config.json").write_text('{"steps": 1000000, "cpu_seconds": 1e9}')
    before = sorted(path.name for path in tmp_path.iterdir())
    code, printed = in_this_process(f"{line} --timeout 0.001", tmp_path)
    assert code == 2
    assert re.search(
        r"unmask: the time limit of 0\.001 s was reached.*; give more with --timeout SECONDS$", printed.strip()
    )
    left = sorted(path.name for path in tmp_path.iterdir() if path.name != "run")  # a training keeps its config
    assert left == before


@pytest.mark.parametrize("name", ["samplers", "export", "lab train"])
def test_every_long_command_keeps_to_its_limit(name, tmp_path):
    assert in_this_process("unmask compile '(a|b)*abb' --length 8 --to mdm --out m", tmp_path)[0] == 0
    wide = {"shape": {"width": 4096, "hidden": 4096, "layers": 64}}
    (tmp_path / "config.json").write_text(json.dumps(wide))
    code, printed = in_this_process(f"{LONG[name]} --limit 1K", tmp_path)
    assert code == 2
    assert re.search(r"beyond the limit of .*; .* raise the limit with --limit", printed)
    assert not {"bert", "report.html"} & {path.name for path in tmp_path.iterdir()}


def test_the_end_of_time_is_not_lost_in_a_callback_of_a_weak_reference():
    """In such a callback an exception is printed and ignored, so the alarm waits until the callback ends."""
    from weakref import WeakKeyDictionary

    from unmask.limits import must_postpone

    events = []

    class Key:
        pass

    key, table = Key(), WeakKeyDictionary()

    class Watching(dict):
        def __delitem__(self, entry):
            events.append(must_postpone(sys._getframe()))
            super().__delitem__(entry)

    table.data = Watching()
    table[key] = 1
    del key
    gc.collect()
    assert events == [True]
    assert not must_postpone(sys._getframe())


def test_a_signal_waits_for_the_callback_of_an_import_lock():
    """Python prints and ignores exceptions of such a callback: the signal would be lost and print a traceback."""
    from importlib import _bootstrap  # ty: ignore[unresolved-import]

    from unmask.limits import must_postpone

    events = []
    lock = _bootstrap._get_module_lock("no module of this name")
    before = sys.getprofile()
    sys.setprofile(lambda frame, *_: events.append(must_postpone(frame)) if frame.f_code.co_name == "cb" else None)
    try:
        del lock
    finally:
        sys.setprofile(before)
    assert events
    assert all(events)


def test_cleaning_up_after_the_time_limit_is_not_interrupted():
    """The alarm is repeated if it was ignored, but with a delay in which cleaning up can finish."""
    cleared = []

    def work():
        try:
            while True:
                pass
        finally:
            end = time.monotonic() + 0.6
            while time.monotonic() < end:
                pass
            cleared.append(True)

    with pytest.raises(OutOfTime), budgeted(None, limit=None, timeout=0.05):
        work()
    assert cleared
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_no_alarm_arrives_after_the_budget_is_closed():
    """An alarm that arrives after the work has ended does nothing."""
    with budgeted(None, limit=None, timeout=0.1):
        on_alarm = signal.getsignal(signal.SIGALRM)
    time.sleep(0.1)
    for _ in range(2 * PATIENCE):
        on_alarm(signal.SIGALRM, None)


def test_numbers_beyond_those_of_the_machine(tmp_path):
    """A huge number of words is accepted, and the time limit ends the work."""
    assert in_this_process("unmask compile '(a|b)*abb' --length 40 --to mdm --out m", tmp_path)[0] == 0
    code, printed = in_this_process(f"unmask verify m --method sample --cases {10**30} --timeout 1 --json", tmp_path)
    assert (code, json.loads(printed)["verdict"]) == (2, "unknown")
    assert in_this_process("unmask compile random:1 --length 0 --to cot --out language", tmp_path)[0] == 0
    code, printed = in_this_process(f"unmask sample language --count {10**30} --timeout 1 --json", tmp_path)
    assert code == 2
    assert "the time limit of 1 s was reached at sampling" in printed


@pytest.mark.parametrize(("total", "seconds", "refused"), [(5000, None, True), (50, None, False), (5000, 10**6, False)])
def test_work_that_would_take_minutes_is_refused_with_an_estimate(monkeypatch, total, seconds, refused):
    """Every step takes a tenth of a second on this clock."""
    now = [0]

    def work():
        for _ in limits.stage("steps", range(total)):
            now[0] += limits.SECOND // 10
        return "done"

    monkeypatch.setattr(limits, "monotonic_ns", lambda: now[0])
    with limits.Budget(seconds=seconds):
        if refused:
            with pytest.raises(TooLarge, match=r"a run would take about 5\d\d seconds; allow it with --timeout 1"):
                limits.run_unless_long(work, "a run")
        else:
            assert limits.run_unless_long(work, "a run") == "done"
    assert limits.run_unless_long(work, "a run") == "done"  # outside a budget nothing is refused
