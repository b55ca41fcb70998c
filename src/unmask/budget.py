"""Budget: how much memory and time work may take, how far it has come, and its end when either runs out.

    with Budget(memory=4 << 30, seconds=60):           # commands: `cli/options.py`, from --limit and --timeout
        foresee(rows * width * 8, "a run of 9 rows")   # before memory is taken: beyond the budget, TooLarge
        for gate in stage("sweeping", gates):          # a line of progress; looks at the clock with every item
            while unsettled:
                check()                                # inside any other long loop: cheap, call it often

`check` raises OutOfTime after the last second and TooLarge when the process has grown by more than `memory` since the
budget was opened. Both say how far the open stages have come. So a long loop holds a `stage` where it knows how many
items there are, a `check` where it does not, and takes NumPy through arrays in parts that take a fraction of a second.
OutOfTime is no UnmaskError, as KeyboardInterrupt is none: who goes on after the error of one word of many must not go
on after this. Who has something to show for the time that was spent catches it (`verify`: a verdict "unknown").

The budget is that of the innermost `with` around the caller, in its thread; without one, DEFAULT_MEMORY bounds what
is foreseen and nothing is measured. An inner budget never outlives an outer one.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from time import monotonic_ns
from typing import TypeVar

from unmask.errors import OutOfTime, TooLarge

DEFAULT_MEMORY = 4 << 30
"""Bytes that a command may take where --limit says nothing else."""

SECOND = 1_000_000_000
LONGEST = 10**9
"""Seconds, some 31 years: more is no other deadline, and beyond what clocks of the system take."""
LOOK_EVERY = SECOND // 50
Item = TypeVar("Item")


@dataclass(eq=False)
class Stage:
    """A part of the work: `done` of `total` items, or of who knows how many."""

    label: str
    total: int | None
    done: int = 0

    def __str__(self) -> str:
        if self.total is None:
            return f"{self.label} ({self.done:,} done)" if self.done else self.label
        return f"{self.label} ({self.done:,} of {self.total:,})"


@dataclass(eq=False)
class Budget:
    """Bytes and seconds, from where its `with` begins; None is without limit."""

    memory: int | None = DEFAULT_MEMORY
    seconds: float | None = None
    show: Callable[[list[Stage]], None] | None = None
    """Who looks on: told of the open stages a few times a second."""
    stages: list[Stage] = field(default_factory=list)
    """Those that are open, the outermost first."""
    _start: int = 0
    _deadline: int | None = None
    _next: int = 0
    _before: int | None = None  # bytes that the process held when the budget was opened
    _outer: "Token[Budget] | None" = None

    def __enter__(self) -> "Budget":
        outer = _current.get()
        self._start = monotonic_ns()
        if self.seconds is not None:
            self._deadline = self._start + int(min(self.seconds, LONGEST) * SECOND)
        if outer._deadline is not None:
            self._deadline = min(outer._deadline, self._deadline or outer._deadline)
        self._before = resident()
        if outer._outer is not None:
            self.stages, self.show = outer.stages, self.show or outer.show
            left = outer.left()
            self.memory = min((size for size in (self.memory, left) if size is not None), default=None)
        self._outer = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._outer is not None
        _current.reset(self._outer)
        self._outer = None

    def left(self) -> int | None:
        """Bytes that are left of the memory."""
        held = resident()
        if self.memory is None or held is None or self._before is None:
            return self.memory
        return max(0, self.memory - max(0, held - self._before))

    @property
    def deadline(self) -> int | None:
        """Nanoseconds on the clock of `monotonic_ns` after which nothing goes on."""
        return self._deadline

    def check(self) -> None:
        """Raise where time or memory has run out; looks only every few milliseconds."""
        now = monotonic_ns()
        if now >= self._next:
            self.look(now)

    def look(self, now: int) -> None:
        """The same, at once."""
        self._next = now + LOOK_EVERY
        if self._deadline is not None and now >= self._deadline:
            raise OutOfTime((self._deadline - self._start) / SECOND, self.so_far())
        if self._outer is None:
            return
        held = resident()
        if self.memory is not None and held is not None and self._before is not None:
            grown = held - self._before
            if grown > self.memory:
                where = f" at {self.so_far()}" if self.stages else ""
                raise TooLarge(
                    f"the work has taken {in_words(grown)} of memory{where}, beyond the limit of "
                    f"{in_words(self.memory)}; use a smaller model, or raise the limit with --limit BYTES"
                )
        if self.show is not None:
            self.show(self.stages)

    def so_far(self) -> str:
        """How far the open stages have come."""
        return ", ".join(map(str, self.stages))

    def foresee(self, size: int, what: str) -> None:
        """Refuse what would take more memory than there may be."""
        if self.memory is not None and size > self.memory:
            raise TooLarge(
                f"{what} would take about {in_words(size)} of memory, beyond the limit of {in_words(self.memory)}; "
                f"use a smaller model, or raise the limit with --limit {size}"
            )


_current: ContextVar[Budget] = ContextVar("budget", default=Budget())  # noqa: B039 - one for all threads: it only refuses


def current() -> Budget:
    """The budget that is open here."""
    return _current.get()


def check() -> None:
    """For long loops: raise where time or memory has run out."""
    _current.get().check()


def foresee(size: int, what: str) -> None:
    """Before memory is taken: raise TooLarge where `size` bytes are beyond the budget; `what` begins the sentence."""
    _current.get().foresee(size, what)


def fits(size: int) -> bool:
    """Would `foresee` let this pass? For those who can do with less."""
    memory = _current.get().memory
    return memory is None or size <= memory


def stage(label: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """The items, with a line of progress, and a check before each; `total` where they have no length."""
    budget = _current.get()
    here = Stage(label, len(items) if total is None and isinstance(items, Collection) else total)
    budget.stages.append(here)
    try:
        for item in items:
            budget.check()
            yield item
            here.done += 1
    finally:
        budget.stages.remove(here)


def foresee_time(work: Callable[[], Item], what: str, *, trial: int = 3, most: int = 60) -> Item:
    """Return what the work returns, or raise TooLarge if it would take more than `most` seconds.

    The work is tried for a few seconds, and its open stages say how far it came. It is never refused where a time was
    given, nor outside a budget. It must have no effect besides its result.
    """
    budget = _current.get()
    if budget._outer is None or budget.deadline is not None:
        return work()
    share = Fraction(0)

    def show(stages: list[Stage]) -> None:
        nonlocal share
        share = _share(stages)
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
            f"{what} would take about {seconds:,} seconds; allow it with --timeout {2 * seconds}, or use fewer steps"
        )
    return work()


def _share(stages: list[Stage]) -> Fraction:
    """The share of the work that is done, as the open stages say, the outermost first."""
    share, part = Fraction(0), Fraction(1)
    for here in stages:
        if not here.total:
            break
        share += part * here.done / here.total
        part /= here.total
    return share


def resident() -> int | None:
    """Bytes of memory that the process holds; None where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _largest_resident()


def _largest_resident() -> int | None:
    """The most that it ever held, where that is all the system tells."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    import sys

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def in_words(size: int) -> str:
    """Bytes as people say them, such as 7.5 GB; never less than there are."""
    for unit, bytes_ in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= bytes_:
            tenths = -(-10 * size // bytes_)
            return f"{tenths // 10:,}.{tenths % 10} {unit}" if tenths < 10_000 else f"{-(-size // bytes_):,} {unit}"
    return f"{size} bytes"
