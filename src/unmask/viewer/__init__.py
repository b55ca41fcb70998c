"""Model × word, or trace → one self-contained HTML page, a picture, or plain text.

`run_recording` watches a run and stores it compactly; `run_history` derives from it what every step wrote, and from
which sources. `panel` is one run as data for a page. `html_page` writes panels as a page or as text, and `svg_picture`
as an SVG. `model_view` runs the models; the other modules only show the result.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.viewer.html_page import render as render_page
    from unmask.viewer.html_page import render_text
    from unmask.viewer.model_view import view_of

__all__ = [
    "render_page",
    "render_text",
    "view_of",
]

_MODULES = {
    "render_page": "unmask.viewer.html_page:render",
    "render_text": "unmask.viewer.html_page:render_text",
    "view_of": "unmask.viewer.model_view",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
