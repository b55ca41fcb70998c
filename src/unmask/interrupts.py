"""Ctrl-C → KeyboardInterrupt, where it is heard; so are SIGTERM and a terminal that is closed.

What would end the process on the spot would leave behind what is half-written: nobody could clear it away.

An exception that is raised while an object is being destroyed is printed and forgotten; libraries that free memory of
their own in `__del__` spend much time there. So an interrupt that arrives in such a place comes again a moment later;
so does one that arrives while a temporary folder is being taken away, for what is left then nobody takes away.
Others make an error of their own of it, which is why `interrupted_by` remembers.
"""

import gc
import signal
import threading
from types import FrameType

AGAIN = 1 / 50  # of a second
CLEARING = {("shutil", "rmtree"), ("tempfile", "cleanup"), ("tempfile", "_cleanup"), ("tempfile", "_rmtree")}
"""Functions (module, name) that are let finish."""
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # not every system has all of them
_arrived: list[int] = []


def interrupted_by() -> signal.Signals | None:
    """The first interrupt that has arrived since `hear_interrupts`."""
    return signal.Signals(_arrived[0]) if _arrived else None


def hear_interrupts() -> None:
    """From now on; nothing where interrupts are ignored, or where this is not the main thread."""
    _arrived.clear()
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _arrived.append(number)
    if not must_wait(frame):
        raise KeyboardInterrupt
    again = threading.Timer(AGAIN, _send, (number,))
    again.daemon = True
    again.start()


def _send(number: int) -> None:
    """To the main thread, which may be asleep: a signal that another thread takes does not wake it."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


def must_wait(frame: FrameType | None) -> bool:
    """Would an exception do harm here: in a finalizer, a callback of collector or weak reference, while clearing up?"""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            return True
        module = frame.f_globals.get("__name__")
        if module in ("weakref", "_weakrefset") or (module, frame.f_code.co_name) in CLEARING:
            return True
        frame = frame.f_back
    return False
