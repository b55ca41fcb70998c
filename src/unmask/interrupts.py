"""Ctrl-C → KeyboardInterrupt, where it is heard.

An exception that is raised while an object is being destroyed is printed and forgotten; libraries that free memory of
their own in `__del__` spend much time there. So an interrupt that arrives in such a place comes again a moment later.
Others make an error of their own of it, which is why `was_interrupted` remembers.
"""

import gc
import signal
import threading
from types import FrameType

AGAIN = 1 / 50  # of a second
_arrived = threading.Event()


def was_interrupted() -> bool:
    """Has an interrupt arrived since `hear_interrupts`?"""
    return _arrived.is_set()


def hear_interrupts() -> None:
    """From now on; nothing where interrupts are ignored, or where this is not the main thread."""
    _arrived.clear()
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) not in (
        signal.SIG_IGN,
        None,
    ):
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _arrived.set()
    if not is_swallowed(frame):
        raise KeyboardInterrupt
    again = threading.Timer(AGAIN, signal.raise_signal, (number,))
    again.daemon = True
    again.start()


def is_swallowed(frame: FrameType | None) -> bool:
    """Would an exception be printed and forgotten here: in a finalizer, a callback of collector or weak reference?"""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            return True
        if frame.f_globals.get("__name__") in ("weakref", "_weakrefset"):
            return True
        frame = frame.f_back
    return False
