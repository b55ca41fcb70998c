"""Limits of memory and time, progress, and interrupts from the keyboard or the system.

**Budget.** Commands open one from --limit and --timeout (`cli/options.py`):

    with Budget(memory=4 << 30, seconds=60):
        check_memory(rows * width * 8, "a run of 9 rows")   # before memory is allocated: TooLarge beyond the budget
        for gate in stage("sweeping", gates):               # a line of progress; checks the clock at every item
            while unsettled:
                check()                                     # in any other long loop: cheap, call it often

`check` raises OutOfTime after the deadline, and TooLarge if the process has grown by more than `memory` since the
budget was opened. Both messages say how far the open stages have come. `OutOfTime` derives from `BaseException`, so
that loops that skip bad words do not swallow it; `verify` catches it and returns the verdict "unknown".

The current budget is that of the innermost `with` in this thread. Without one, DEFAULT_MEMORY limits the estimates
and nothing is measured. The deadline of an inner budget is never later than that of an outer one. NumPy is not
interrupted, so large arrays are processed in blocks that take a fraction of a second.

**Interrupts.** SIGINT, SIGTERM and SIGHUP → KeyboardInterrupt in the main thread, so that temporary files are removed.
An exception would do harm in three places, so signals are postponed there:

* in a finalizer, in a callback of the garbage collector, or in a callback for the import lock of a module, where Python
  prints the exception and ignores it;
* during the removal of a temporary folder, where it would leave the rest of the folder behind;
* inside `uninterrupted()`, for code that creates files and must remove them again.

After a first KeyboardInterrupt the program is cleaning up. Further signals of the next second are recorded and do not
raise again. Some libraries turn a KeyboardInterrupt into an error of their own; call `interrupted_by` to find out.
"""

import _thread
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

from unmask.errors import OutOfTime, TooLarge

if TYPE_CHECKING:
    from fractions import Fraction

DEFAULT_MEMORY = 4 << 30
"""Bytes that a command may take unless --limit gives another number."""

SECOND = 1_000_000_000  # in nanoseconds, as `monotonic_ns` counts
LONGEST_TIMEOUT = 10**9
"""Seconds (31 years): the latest deadline. Larger numbers overflow the clocks of some systems."""
MEASURE_EVERY = SECOND // 50
"""Nanoseconds between two measurements of the memory of the process."""
Item = TypeVar("Item")


@dataclass(eq=False)
class Stage:
    """A part of the work, of which `done` of `total` items are complete; `total` is None if unknown."""

    label: str
    total: int | None
    done: int = 0

    def __str__(self) -> str:
        if self.total is None:
            return f"{self.label} ({self.done:,} done)" if self.done else self.label
        return f"{self.label} ({self.done:,} of {self.total:,})"


@dataclass(eq=False)
class Budget:
    """Bytes and seconds, counted from the start of its `with` block; None means unlimited."""

    memory: int | None = DEFAULT_MEMORY
    seconds: float | None = None
    show: Callable[[list[Stage]], None] | None = None
    """Called with the open stages several times a second, to show progress."""
    stages: list[Stage] = field(default_factory=list)
    """The open stages, the outermost first."""
    _start: int = 0
    _deadline: int | None = None
    _next: int = 0  # time of the next measurement
    _before: int | None = None  # bytes of memory of the process when the budget was opened
    _outer: "Token[Budget] | None" = None

    def __enter__(self) -> "Budget":
        outer = _current.get()
        self._start = monotonic_ns()
        if self.seconds is not None:
            self._deadline = self._start + int(min(self.seconds, LONGEST_TIMEOUT) * SECOND)
        if outer._deadline is not None:
            self._deadline = min(outer._deadline, self._deadline or outer._deadline)
        self._before = resident()
        if outer._outer is not None:
            self.stages, self.show = outer.stages, self.show or outer.show
            remaining = outer.left()
            self.memory = min((size for size in (self.memory, remaining) if size is not None), default=None)
        self._outer = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._outer is not None
        _current.reset(self._outer)
        self._outer = None

    def left(self) -> int | None:
        """Return the number of bytes that may still be taken."""
        resident_bytes = resident()
        if self.memory is None or resident_bytes is None or self._before is None:
            return self.memory
        return max(0, self.memory - max(0, resident_bytes - self._before))

    @property
    def deadline(self) -> int | None:
        """Time of `monotonic_ns` at which the work ends."""
        return self._deadline

    def check(self) -> None:
        """Raise if time or memory has run out. Measure at most every 20 milliseconds."""
        now = monotonic_ns()
        if now >= self._next:
            self.measure(now)

    def measure(self, now: int) -> None:
        """Measure now, show the progress, and raise if time or memory has run out."""
        self._next = now + MEASURE_EVERY
        if self._deadline is not None and now >= self._deadline:
            raise OutOfTime((self._deadline - self._start) / SECOND, self.so_far())
        if self._outer is None:
            return
        resident_bytes = resident()
        if self.memory is not None and resident_bytes is not None and self._before is not None:
            grown = resident_bytes - self._before
            if grown > self.memory:
                where = f" at {self.so_far()}" if self.stages else ""
                raise TooLarge(
                    f"the work has taken {size_text(grown)} of memory{where}, beyond the limit of "
                    f"{size_text(self.memory)}; use a smaller model, or raise the limit with --limit BYTES"
                )
        if self.show is not None:
            self.show(self.stages)

    def so_far(self) -> str:
        """Return how far the open stages have come, as text."""
        return ", ".join(map(str, self.stages))

    def check_memory(self, size: int, subject: str) -> None:
        """Raise TooLarge if `size` bytes exceed the memory limit."""
        if self.memory is not None and size > self.memory:
            raise TooLarge(
                f"{subject} would take about {size_text(size)} of memory, beyond the limit of "
                f"{size_text(self.memory)}; use a smaller model, or raise the limit with --limit {size}"
            )


_current: ContextVar[Budget] = ContextVar("budget", default=Budget())  # noqa: B039 - without a `with` block, all threads share this one


def current_budget() -> Budget:
    """Return the innermost open budget of this thread."""
    return _current.get()


def check() -> None:
    """Raise if time or memory has run out. Call it in long loops."""
    _current.get().check()


def check_memory(size: int, subject: str) -> None:
    """Raise TooLarge if `size` bytes, not allocated yet, exceed the budget. The message starts with `subject`."""
    _current.get().check_memory(size, subject)


def fits_memory(size: int) -> bool:
    """Return whether `check_memory` would accept this size."""
    memory = _current.get().memory
    return memory is None or size <= memory


def stage(label: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Yield the items, with a line of progress and a `check` before each. `total` is for items without a length."""
    budget = _current.get()
    current_stage = Stage(label, len(items) if total is None and isinstance(items, Collection) else total)
    budget.stages.append(current_stage)
    try:
        for item in items:
            budget.check()
            yield item
            current_stage.done += 1
    finally:
        budget.stages.remove(current_stage)


def run_unless_long(work: Callable[[], Item], subject: str, *, trial: int = 3, most: int = 60) -> Item:
    """Return what the work returns, or raise TooLarge if it would take more than `most` seconds.

    The work first runs for at most `trial` seconds, and the total time is estimated from the progress of its stages.
    Then it runs again, from the start. With a time limit, or without a budget, it runs once and is never refused. It
    must have no effect besides its result.
    """
    budget = _current.get()
    if budget._outer is None or budget.deadline is not None:
        return work()
    from fractions import Fraction

    share = Fraction(0)

    def show(stages: list[Stage]) -> None:
        nonlocal share
        share = _completed_share(stages)
        if budget.show is not None:
            budget.show(stages)

    try:
        with Budget(memory=budget.memory, seconds=trial, show=show):
            return work()
    except OutOfTime:
        pass
    if share and trial > most * share:
        seconds = round(trial / share)
        raise TooLarge(
            f"{subject} would take about {seconds:,} seconds; allow it with --timeout {2 * seconds}, or use fewer steps"
        )
    return work()


def _completed_share(stages: list[Stage]) -> "Fraction":
    """Return the share of the work that is done, from the open stages, the outermost first."""
    from fractions import Fraction

    share, stage_share = Fraction(0), Fraction(1)
    for current_stage in stages:
        if not current_stage.total:
            break
        share += stage_share * current_stage.done / current_stage.total
        stage_share /= current_stage.total
    return share


def resident() -> int | None:
    """Return the number of bytes of memory of the process, or None if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _largest_resident()


def _largest_resident() -> int | None:
    """Return the peak memory of the process in bytes, for systems that report only this."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    import sys

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def size_text(size: int) -> str:
    """Return a number of bytes as text, such as 7.5 GB, rounded up."""
    for unit, bytes_ in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= bytes_:
            tenths = -(-10 * size // bytes_)
            return f"{tenths // 10:,}.{tenths % 10} {unit}" if tenths < 10_000 else f"{-(-size // bytes_):,} {unit}"
    return f"{size} bytes"


RESEND_AFTER = 1 / 50
"""Seconds after which a postponed signal is sent again."""
GRACE = 1
"""Seconds after a KeyboardInterrupt in which no second one is raised."""
CLEANUPS = {("shutil", "rmtree"), ("tempfile", "cleanup"), ("tempfile", "_cleanup"), ("tempfile", "_rmtree")}
"""Functions (module, name) that are never interrupted."""
IGNORED_CALLBACKS = {("importlib._bootstrap", "cb"), ("_frozen_importlib", "cb")}
"""Callbacks (module, name) of weak references to the locks of imports: Python ignores what they raise."""
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # not every system has all of them


class _State:
    """The state of the signal handler."""

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.depth = 0  # the number of open `uninterrupted` blocks
        self.pending = False  # a signal arrived inside such a block
        self.raised: float | None = None  # when the last KeyboardInterrupt was raised
        self.leaving: float | None = None  # when the program began to end


_state = _State()


def interrupted_by() -> signal.Signals | None:
    """Return the first signal since `handle_interrupts`, or None."""
    return signal.Signals(_state.arrived[0]) if _state.arrived else None


def handle_interrupts() -> None:
    """Handle the signals from now on, unless they are handled already; signals that are ignored stay ignored.

    Do nothing outside the main thread.
    """
    global _state
    if _state.depth:  # an `uninterrupted` block is open, so the signals are handled already
        return
    _state = _State()
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _interrupt)


def stop_handling_interrupts() -> None:
    """Stop raising KeyboardInterrupt, because the interpreter is shutting down."""
    _state.leaving = time.monotonic()


class uninterrupted:  # noqa: N801 - used like a function
    """Postpone interrupts until the end of a `with` block; `interruptible` blocks inside it are interrupted.

    with uninterrupted():
        scratch = tempfile.mkdtemp()
        try:
            with interruptible():
                ...                     # long work
        finally:
            ...                         # remove the scratch folder

    This is a class, not a generator, because a signal handler may run between any two bytecodes: `__enter__` changes
    nothing before the depth, and the depth by one assignment.
    """

    _postpones = True

    def __enter__(self) -> None:
        self._is_main_thread = threading.current_thread() is threading.main_thread()
        self._depth_before = _state.depth
        if self._is_main_thread:
            _state.depth = self._depth_before + 1 if self._postpones else 0

    def __exit__(self, *_: object) -> None:
        if self._is_main_thread:
            _state.depth = self._depth_before
            _raise_pending()


class interruptible(uninterrupted):  # noqa: N801 - used like a function
    """Allow interrupts inside an `uninterrupted` block; one that arrived earlier is raised at once."""

    _postpones = False

    def __enter__(self) -> None:
        super().__enter__()
        try:
            _raise_pending()
        except KeyboardInterrupt:
            _state.depth = self._depth_before
            raise


def _raise_pending() -> None:
    if _state.pending and not _state.depth and _state.leaving is None:
        _state.pending = False
        _raise_interrupt()


def _raise_interrupt() -> None:
    _state.raised = time.monotonic()
    raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _state.arrived.append(number)
    if _state.leaving is not None:
        if time.monotonic() - _state.leaving > GRACE:  # something prevents the interpreter from shutting down
            os._exit(128 + number)
    elif _state.depth:
        _state.pending = True
    elif _state.raised is not None and time.monotonic() - _state.raised < GRACE:
        return
    elif must_postpone(frame):
        try:
            _thread.start_new_thread(
                _send_again, (number,)
            )  # a `threading.Thread` would make the handler wait for its start
        except RuntimeError:  # no threads are left
            _raise_interrupt()
    else:
        _raise_interrupt()


def _send_again(number: int) -> None:
    """Send the signal to the main thread, which may be asleep: a signal to another thread does not wake it."""
    time.sleep(RESEND_AFTER)
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


def must_postpone(frame: FrameType | None) -> bool:
    """Return whether an exception would do harm in this frame: see the list at the top of this module."""
    if _state.depth:
        return True
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            return True
        module = frame.f_globals.get("__name__")
        if module in ("weakref", "_weakrefset") or (module, frame.f_code.co_name) in CLEANUPS | IGNORED_CALLBACKS:
            return True
        frame = frame.f_back
    return False
