"""Trace → what a notebook shows of it: the viewer's page, in a frame that may run its script and do nothing else."""

from html import escape

from unmask.traces.trace import Trace
from unmask.viewer.panel import Panel
from unmask.viewer.render import View, render

HEIGHT = 640
UNRECORDED = (
    "This run was not recorded. run_word(model, word, record=True) also stores what every slot read and contained."
)


def framed(trace: Trace) -> str:
    """An `iframe` that holds its page."""
    remarks = () if trace.activations else (UNRECORDED,)
    page = render(View("", trace.text, (Panel.of_trace(trace),), remarks))
    return (
        f'<iframe srcdoc="{escape(page)}" title="{escape(str(trace))}" sandbox="allow-scripts" '
        f'style="width:100%;height:{HEIGHT}px;border:0" loading="lazy"></iframe>'
    )
