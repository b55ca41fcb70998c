"""A notebook displays a trace by a viewer that traces do not depend on."""

import subprocess
import sys

from unmask import run_word
from unmask.testing import random_model
from unmask.traces import notebook


def test_without_a_viewer_a_notebook_shows_the_line(monkeypatch):
    trace = run_word(random_model(5, "mdm", 2), "ab")
    monkeypatch.setattr(notebook, "_drawing", None)
    assert trace._repr_html_() is None
    notebook.draw_with(lambda trace: f"<b>{trace.kind}</b>")
    assert trace._repr_html_() == "<b>mdm</b>"


def test_the_viewer_is_loaded_when_a_trace_is_drawn_and_not_before():
    program = (
        "import sys\n"
        "from unmask.api import run_word\n"
        "from unmask.testing import random_model\n"
        "trace = run_word(random_model(5, 'mdm', 2), 'ab')\n"
        "assert not any(name.startswith('unmask.viewer') for name in sys.modules)\n"
        "assert trace._repr_html_().startswith('<iframe')\n"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert process.stderr == ""
