"""View → a self-contained HTML page, plain text, or a frame for a notebook.

    render(view) = template + style + script + data,      at most MOST_PAGE_BYTES

Everything that comes from a user or a model folder is data: JSON in a script element that is never run, with every
`<` and `&` written as an escape, or text with its markup escaped. The page's policy forbids every request.
"""

import json
import unicodedata
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from unmask.errors import visible
from unmask.traces.trace import Trace
from unmask.viewer.panel import Detail, Panel
from unmask.viewer.run_history import EDITED, KEPT, NOTHING, WRITTEN

MOST_CELLS = 40_000
MARKS = {KEPT: " ", WRITTEN: "*", EDITED: "!"}


def render_text(panel: Panel) -> str:
    """Return a line per step: input, a bar, slots; `*` marks slots that the step wrote, `!` slots that it edited."""
    history, trace = panel.history, panel.trace
    verdict = {True: "accepted", False: "rejected", None: "neither accepted nor rejected"}[trace.accepted]
    head = f"{panel.name}: {panel.steps}, {verdict}"
    unit = "loop" if history.looped else "step"
    if history.register is not None:
        head += f"; cells show the register {visible(history.register)}"
    symbols = [cell_text(symbol) for symbol in history.symbols]
    width = max((len(symbols[t]) for t in set(history.tokens.flat) if t != NOTHING), default=1)
    most = max(2, MOST_CELLS // max(1, history.tokens.shape[1] * (width + 2)))
    lines = []
    for line in range(history.lines):
        if most // 2 <= line < history.lines - most // 2:
            if line == most // 2:
                lines.append(f"… {history.lines - 2 * (most // 2)} lines left out …")
            continue
        cells = [
            (symbols[token] if token != NOTHING else ".").rjust(width) + MARKS.get(int(change), " ")
            for token, change in zip(history.tokens[line].tolist(), history.change[line], strict=True)
        ]
        first = history.first_slot
        label = "answer" if history.looped and line == history.lines - 1 else f"{unit} {line}" if line else "start"
        lines.append(f"{label:>9}  {' '.join(cells[:first])} | {' '.join(cells[first:])}".rstrip())
    return "\n".join([head, *lines, *panel.left_out])


def cell_text(text: str) -> str:
    """Return a symbol as its cell shows it: a blank is visible, and a combining mark does not join its neighbour."""
    if text and not text.strip(" "):
        return "␣" * len(text)
    return "◌" + visible(text) if text and unicodedata.category(text[0]).startswith("M") else visible(text)


MOST_PAGE_BYTES = 1_900_000
MOST_UNPACKED_BYTES = 64_000_000  # of all panels, in the memory of the browser
SCRIPTS = ("data.js", "layout.js", "grid.js", "lines.js", "details.js", "clock.js", "start.js")


@dataclass(frozen=True)
class View:
    """Runs of one word side by side; `problem` is what they solve, `remarks` are notes for the reader."""

    problem: str
    word: str
    panels: tuple[Panel, ...]
    remarks: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """Return the text about all runs together."""
        return {"problem": cell_text(self.problem), "word": cell_text(self.word), "remarks": list(self.remarks)}

    @property
    def title(self) -> str:
        return cell_text(f"{self.problem or 'a model'} on {self.word or 'the empty word'}")


def render(view: View, *, at_most: int = MOST_PAGE_BYTES) -> str:
    """Return the page. Details that do not fit are left out, from the largest run first, and the page lists them."""
    static = Template(_asset("viewer.html")).substitute
    fixed = {"style": _asset("viewer.css"), "script": "\n".join(_asset(name) for name in SCRIPTS)}
    fixed |= {f"{name}_hash": _policy_hash(text) for name, text in fixed.items()}
    panels = [_fitted_to_memory(panel, MOST_UNPACKED_BYTES // len(view.panels)) for panel in view.panels]
    documents = [safe_json(panel.to_json()) for panel in panels]
    while True:
        page = static(
            fixed,
            title=escape(view.title),
            text=escape("\n\n".join(render_text(panel) for panel in panels)),
            data=f'{{"about":{safe_json(view.about())},"panels":[{",".join(documents)}]}}',
        )
        largest = max(range(len(panels)), key=lambda i: len(documents[i]))
        if len(page.encode()) <= at_most or panels[largest].detail == max(Detail):
            return page
        panels[largest] = panels[largest].reduced()
        documents[largest] = safe_json(panels[largest].to_json())


def _fitted_to_memory(panel: Panel, memory: int) -> Panel:
    """Return the run with as much detail as a browser can hold."""
    while panel.unpacked_bytes > memory:
        panel = panel.reduced()
    return panel


def safe_json(document: Any) -> str:
    """Return JSON in ASCII without `<`, `>` and `&`, so that no text in it can end its script element."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy_hash(text: str) -> str:
    """Return the hash by which the page's policy allows its one script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("unmask.viewer") / "assets" / name).read_text(encoding="utf-8")


FRAME_HEIGHT = 640  # pixels
UNRECORDED = (
    "This run was not recorded. run_word(model, word, record=True) also stores what every slot read and contained."
)


def html_frame(trace: Trace) -> str:
    """Return an `iframe` that contains the page of a view."""
    remarks = () if trace.activations else (UNRECORDED,)
    page = render(View("", trace.text, (Panel.of_trace(trace),), remarks))
    return (
        f'<iframe srcdoc="{escape(page)}" title="{escape(str(trace))}" sandbox="allow-scripts" '
        f'style="width:100%;height:{FRAME_HEIGHT}px;border:0" loading="lazy"></iframe>'
    )
