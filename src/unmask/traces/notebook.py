"""How a notebook displays a trace. Traces do not depend on a viewer; the package registers one with `draw_with`.

This is not part of `trace`, so that `import unmask` can register the viewer without loading NumPy.
"""

from collections.abc import Callable
from typing import Any

Drawing = Callable[[Any], str]
"""Trace → HTML."""

_drawing: Drawing | None = None


def draw_with(drawing: Drawing) -> None:
    """Register the function that draws traces."""
    global _drawing
    _drawing = drawing


def draw_trace(trace: Any) -> str | None:
    """Draw a trace. Return None if no viewer is registered; the notebook then shows the line of text."""
    return None if _drawing is None else _drawing(trace)
