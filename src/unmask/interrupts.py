"""SIGINT, SIGTERM, SIGHUP → KeyboardInterrupt in the main thread, at a place where it does no harm.

Signals that end the process on the spot would leave temporary files behind, so all three become exceptions.
An exception does harm in three places, and is postponed there:

* in a finalizer, in a callback of the garbage collector, or in that of a lock of a module that was imported, where
  Python prints it and forgets it;
* while a temporary folder is removed, where it would leave the rest of the folder behind;
* inside `uninterrupted()`, for code that creates files and must remove them again.

After a first KeyboardInterrupt the program is cleaning up. Further signals of the next second are recorded and do not
raise again. Some libraries turn a KeyboardInterrupt into an error of their own: ask `interrupted_by`.
"""

import _thread
import gc
import os
import signal
import threading
import time
from types import FrameType

AGAIN = 1 / 50
"""Seconds after which a postponed signal is sent again."""
GRACE = 1
"""Seconds after a KeyboardInterrupt in which no second one is raised."""
CLEARING = {("shutil", "rmtree"), ("tempfile", "cleanup"), ("tempfile", "_cleanup"), ("tempfile", "_rmtree")}
"""Functions (module, name) that are never interrupted."""
FORGETTING = {("importlib._bootstrap", "cb"), ("_frozen_importlib", "cb")}
"""Callbacks (module, name) of weak references to the locks of imports: Python ignores what they raise."""
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # not every system has all of them


class _State:
    """What the handler knows."""

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.depth = 0  # how many `uninterrupted` blocks are open
        self.pending = False  # a signal arrived inside such a block
        self.raised: float | None = None  # when the last KeyboardInterrupt was raised
        self.leaving: float | None = None  # when the program began to end


_state = _State()


def interrupted_by() -> signal.Signals | None:
    """The first signal since `hear_interrupts`, or None."""
    return signal.Signals(_state.arrived[0]) if _state.arrived else None


def hear_interrupts() -> None:
    """Handle the signals from now on, unless they are handled already; signals that are ignored stay ignored.

    Do nothing outside the main thread.
    """
    global _state
    if _state.depth:  # called by `start` before
        return
    _state = _State()
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _interrupt)


def stop_hearing() -> None:
    """Raise nothing any more: the program has said its last word, and the interpreter ends."""
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

    A class, not a generator: the handler runs between two bytecodes, and `__enter__` has changed nothing before it
    has changed the depth.
    """

    _change = 1

    def __enter__(self) -> None:
        self._counts = threading.current_thread() is threading.main_thread()
        self._before = _state.depth
        if self._counts:
            _state.depth = self._before + 1 if self._change else 0

    def __exit__(self, *_: object) -> None:
        if self._counts:
            _state.depth = self._before
            _raise_pending()


class interruptible(uninterrupted):  # noqa: N801 - used like a function
    """Allow interrupts inside an `uninterrupted` block; one that arrived earlier is raised at once."""

    _change = 0

    def __enter__(self) -> None:
        super().__enter__()
        try:
            _raise_pending()
        except KeyboardInterrupt:
            _state.depth = self._before
            raise


def _raise_pending() -> None:
    if _state.pending and not _state.depth and _state.leaving is None:
        _state.pending = False
        _raise()


def _raise() -> None:
    _state.raised = time.monotonic()
    raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _state.arrived.append(number)
    if _state.leaving is not None:
        if time.monotonic() - _state.leaving > GRACE:  # something keeps the interpreter from ending
            os._exit(128 + number)
    elif _state.depth:
        _state.pending = True
    elif _state.raised is not None and time.monotonic() - _state.raised < GRACE:
        return
    elif must_wait(frame):
        try:
            _thread.start_new_thread(_send_again, (number,))  # `threading` would wait for the thread, in a handler
        except RuntimeError:  # no threads are left
            _raise()
    else:
        _raise()


def _send_again(number: int) -> None:
    """Send the signal to the main thread, which may be asleep: one that another thread takes does not wake it."""
    time.sleep(AGAIN)
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


def must_wait(frame: FrameType | None) -> bool:
    """Return whether an exception would do harm in this frame: see the list at the top of this module."""
    if _state.depth:
        return True
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            return True
        module = frame.f_globals.get("__name__")
        if module in ("weakref", "_weakrefset") or (module, frame.f_code.co_name) in CLEARING | FORGETTING:
            return True
        frame = frame.f_back
    return False
