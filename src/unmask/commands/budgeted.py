"""What a long command may take: its --limit and --timeout as a Budget, with bars on a terminal."""

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
from unmask.interrupts import must_wait

AGAIN = SECOND // 100  # nanoseconds after which a loop that does not look at the clock is told once more
PATIENCE = 25  # times that it is told in vain while other packages are at work
GRACE = 1  # second in which nobody is told again: who clears up on the way out must not be cut off


@contextmanager
def budgeted(
    label: str | None, *, limit: int | None, timeout: float | None, patience: int = 0, as_json: bool = False
) -> Generator[Budget]:
    """All that runs inside keeps to the limit and the time; the label is shown while it has no stage of its own.

    Without a label there are no bars: for work that prints as it goes. With patience they come after so many seconds.
    Where a document is to follow, what a program of the user prints goes to stderr.
    """
    from unmask.terminal import bars

    apart = redirect_stdout(sys.stderr) if as_json else nullcontext()
    with (
        bars(label, patience) as show,
        Budget(memory=limit, seconds=timeout, show=show) as budget,
        _alarm(budget),
        apart,
    ):
        yield budget


def leave_if_over(end: OutOfTime | None) -> None:
    """Where what was done in time has been shown: say that the time was over, and leave with 2."""
    from unmask.terminal import say

    if end is not None:
        say(f"unmask: {end}", stderr=True)
        raise typer.Exit(2)


@contextmanager
def _alarm(budget: Budget) -> Generator[None]:
    """At the deadline, look at the clock wherever Python is: for loops that hold no `check`."""
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
            left = True  # told right before this, one leaves with OutOfTime, and below nobody is told for a second
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _is_ours(frame: FrameType | None) -> bool:
    """Is the innermost function one of this package, which lets go of what it holds?"""
    return frame is not None and frame.f_globals.get("__name__", "").startswith("unmask.")
