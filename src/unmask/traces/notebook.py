"""What a notebook shows of a trace. Traces know no viewer: the front door says who draws them."""

from collections.abc import Callable
from typing import Any

Drawing = Callable[[Any], str]
"""Trace → HTML."""

_drawing: Drawing | None = None


def draw_with(drawing: Drawing) -> None:
    """From now on, traces are drawn by this."""
    global _drawing
    _drawing = drawing


def drawn(trace: Any) -> str | None:
    """Return None if no viewer is registered, so that the notebook shows the line of text."""
    return None if _drawing is None else _drawing(trace)
