"""Trace → one self-contained HTML page, a picture, or plain text.

A `Recording` watches a run and keeps it small; with the trace it becomes a `Panel`, and panels side by side a `View`,
which `render` writes as a page, `picture` as an SVG, `text` as lines. Nothing here runs a model: `unmask.views` does,
and hands over what it saw.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.viewer.render import render as render_page
    from unmask.viewer.text import text_of as render_text

__all__ = [
    "render_page",
    "render_text",
]

_MODULES = {
    "render_page": "unmask.viewer.render:render",
    "render_text": "unmask.viewer.text:text_of",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
