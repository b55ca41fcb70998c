"""View → one HTML file that asks for nothing: no network, no other file.

    render(view) = template + style + script + data,      at most PAGE bytes

Everything that came from a user or a model folder is data: JSON in a script element that is never run, with every
`<` and `&` written as an escape, or text with its markup escaped. The page's policy forbids every request.
"""

import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from unmask.viewer.panel import Detail, Panel
from unmask.viewer.text import in_a_cell, text_of

PAGE = 1_900_000
UNPACKED = 64_000_000
SCRIPTS = ("data.js", "layout.js", "grid.js", "lines.js", "details.js", "clock.js", "start.js")


@dataclass(frozen=True)
class View:
    """Runs of one word side by side; `problem` is what they solve, `remarks` are sentences for the reader."""

    problem: str
    word: str
    panels: tuple[Panel, ...]
    remarks: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """What the page says of all runs together."""
        return {"problem": in_a_cell(self.problem), "word": in_a_cell(self.word), "remarks": list(self.remarks)}

    @property
    def title(self) -> str:
        return in_a_cell(f"{self.problem or 'a model'} on {self.word or 'the empty word'}")


def render(view: View, *, at_most: int = PAGE) -> str:
    """The page. What does not fit is left out, the largest run first, and the page says what."""
    static = Template(_asset("viewer.html")).substitute
    fixed = {"style": _asset("viewer.css"), "script": "\n".join(_asset(name) for name in SCRIPTS)}
    fixed |= {f"{name}_hash": _policy_hash(text) for name, text in fixed.items()}
    panels = [_within(panel, UNPACKED // len(view.panels)) for panel in view.panels]
    documents = [safe_json(panel.to_json()) for panel in panels]
    while True:
        page = static(
            fixed,
            title=escape(view.title),
            text=escape("\n\n".join(text_of(panel) for panel in panels)),
            data=f'{{"about":{safe_json(view.about())},"panels":[{",".join(documents)}]}}',
        )
        largest = max(range(len(panels)), key=lambda i: len(documents[i]))
        if len(page.encode()) <= at_most or panels[largest].detail == max(Detail):
            return page
        panels[largest] = panels[largest].reduced()
        documents[largest] = safe_json(panels[largest].to_json())


def _within(panel: Panel, memory: int) -> Panel:
    """The run with as much detail as a browser can hold."""
    while panel.unpacked_bytes > memory:
        panel = panel.reduced()
    return panel


def safe_json(document: Any) -> str:
    """JSON that cannot end its script element, and that survives any character: ASCII without `<`, `>`, `&`."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy_hash(text: str) -> str:
    """How the page's policy names the one script, and the one style, that it may use."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("unmask.viewer") / "assets" / name).read_text(encoding="utf-8")
