"""Run a long command within its --limit and --timeout, with progress bars on a terminal."""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, redirect_stdout
from time import monotonic_ns
from types import FrameType

import typer

from unmask.budget import SECOND, Budget
from unmask.errors import OutOfTime
from unmask.escapes import escaped_streams
from unmask.interrupts import must_wait

AGAIN = SECOND // 100  # nanoseconds between two alarms after the deadline
PATIENCE = 25  # alarms that are ignored while code of another package runs
GRACE = 1  # seconds without an alarm after the deadline was reported, so that cleaning up is not interrupted


@contextmanager
def budgeted(
    label: str | None, *, limit: int | None, timeout: float | None, patience: int = 0, as_json: bool = False
) -> Generator[Budget]:
    """Limit the memory and time of the work inside; show the label while no stage of the work is shown.

    Without a label there are no progress bars, for work that prints its own lines. With patience they appear after that
    many seconds. Output of the user's program is escaped; with `as_json` it goes to
    standard error.
    """
    from unmask.terminal import bars

    with (
        bars(label, patience) as show,
        Budget(memory=limit, seconds=timeout, show=show) as budget,
        _alarm(budget),
        escaped_streams(),
        redirect_stdout(sys.stderr) if as_json else nullcontext(),
    ):
        yield budget


def leave_if_over(end: OutOfTime | None) -> None:
    """If time ran out, report it after the partial results have been printed, and exit with code 2."""
    from unmask.terminal import say

    if end is not None:
        say(f"unmask: {end}", stderr=True)
        raise typer.Exit(2)


@contextmanager
def _alarm(budget: Budget) -> Generator[None]:
    """Check the budget at the deadline by a signal, for loops that do not check it themselves."""
    deadline = budget.deadline
    if (
        deadline is None
        or not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    told, left = 0, False

    def tell(_: int, frame: FrameType | None) -> None:
        nonlocal told
        told += 1
        if left or must_wait(frame) or not (_is_ours(frame) or told > PATIENCE):
            return
        try:
            budget.look(monotonic_ns())
        except BaseException:
            signal.setitimer(signal.ITIMER_REAL, GRACE, GRACE)
            told = 0
            raise

    before = signal.signal(signal.SIGALRM, tell)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(1, deadline - monotonic_ns()) / SECOND, AGAIN / SECOND)
        yield
    finally:
        try:
            left = True  # no alarm may be raised while the handler is being restored
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _is_ours(frame: FrameType | None) -> bool:
    """Return whether the innermost function belongs to this package, whose code cleans up when interrupted."""
    return frame is not None and frame.f_globals.get("__name__", "").startswith("unmask.")
