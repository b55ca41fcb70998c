"""Trace → one self-contained HTML page, a picture, or plain text.

A `Recording` watches a run and stores it compactly. With its `RunHistory` it becomes a `Panel`, and panels side by
side a `View`, which `html_page` writes as a page or as text and `svg_picture` as an SVG. Nothing here runs a model:
`unmask.views` does.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.viewer.html_page import render as render_page
    from unmask.viewer.html_page import text_of as render_text

__all__ = [
    "render_page",
    "render_text",
]

_MODULES = {
    "render_page": "unmask.viewer.html_page:render",
    "render_text": "unmask.viewer.html_page:text_of",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
