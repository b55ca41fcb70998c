"""The page is small and complete, and its data cannot change it."""

import json
import random
import re
from html import unescape
from html.parser import HTMLParser

import pytest

from unmask.api import compile_problem, compiler_of
from unmask.problems.catalogue import parse_problem
from unmask.viewer import html_page, model_view
from unmask.viewer.html_page import View, cell_text, render_text, safe_json
from unmask.viewer.model_view import panel_of, view_of
from unmask.viewer.panel import LEFT_OUT, Detail

from .unpacking import unpacked

HOSTILE = [
    "</script><script>boom()</script>",
    "<!--",
    "]]>",
    "&amp;",
    "\"'`",
    "\u202egnitset",  # right to left from here on
    "שלום",
    "e\u0301",
    "\u0301",
    "👩‍🚀",
    "${data}$$",
    "\\u003c",
    "\x1b[31m",
    "\ud800",  # half a character
    " ",
]


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def hostile_view():
    """A chain whose states are all hostile strings, shown with a hostile problem and word."""
    model = compile_problem("(a|b)*abb", "mdm", length=4)
    panel = panel_of(model, "aabb")
    names = dict(zip((i for i in range(len(panel.history.symbols))), HOSTILE, strict=False))
    symbols = tuple(names.get(i, s) for i, s in enumerate(panel.history.symbols))
    object.__setattr__(panel.history, "symbols", symbols)
    object.__setattr__(panel, "blocks", {"predictor": [("".join(HOSTILE), HOSTILE)]})
    return View("".join(HOSTILE), " ".join(HOSTILE), (panel,), ("".join(HOSTILE[:-2]),)), symbols


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_hostile_strings_stay_data():
    view, symbols = hostile_view()
    page = html_page.render(view)
    page.encode("utf-8")
    data = data_of(page)
    assert data["panels"][0]["symbols"] == list(symbols)
    assert data["panels"][0]["transformers"][0]["registers"] in ([], [["".join(HOSTILE), HOSTILE]])
    elements = Elements()
    elements.feed(page)
    calm = Elements()
    calm.feed(html_page.render(view_of(compile_problem("(a|b)*abb", "mdm", length=4), "aabb", [])))
    assert [tag for tag, _ in elements.tags] == [tag for tag, _ in calm.tags]
    assert "\u202e" not in page
    assert "boom()" in unescape(page)  # it was in the input


def test_json_cannot_end_its_element():
    text = safe_json(HOSTILE)
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == HOSTILE


def test_the_policy_allows_this_script_and_nothing_else(abb):
    page = html_page.render(view_of(abb, "abbaabbababababb", []))
    elements = Elements()
    elements.feed(page)
    policy = next(a["content"] for t, a in elements.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for tag, attributes in elements.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "source")
        assert not {"src", "href", "srcset", "action", "style"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import)\s*\(", page)
    assert "innerHTML" not in page


@pytest.mark.parametrize("problem", ["(a|b)*abb", "group:A5", "family:parity", "family:formula"])
def test_pages_stay_small_at_length_64(problem):
    """Every kind that the problem is compiled into, all of them in one page: under 2 MB, with nothing left out."""
    compiler = compiler_of(problem)
    word = next(parse_problem(problem).words(64, random.Random(1)))
    panels = tuple(panel_of(compile_problem(problem, kind, length=64), word) for kind in compiler.kinds)
    page = html_page.render(View(problem, word, panels))
    assert len(page.encode()) < 2_000_000
    assert [panel["leftOut"] for panel in data_of(page)["panels"]] == [[] for _ in panels]


def test_details_that_do_not_fit_are_left_out_and_listed(abb):
    view = view_of(abb, "abbaabbababababb", ["cot"])
    whole = len(html_page.render(view))
    notes = set()
    for at_most in range(whole, whole - 14_000, -300):
        for panel in data_of(html_page.render(view, at_most=at_most))["panels"]:
            note = panel["leftOut"][0] if panel["leftOut"] else None
            notes.add(note)
            stages = sum(len(t["stages"]) for t in panel["transformers"])
            if note == LEFT_OUT[Detail.no_registers]:
                assert stages == 0
                assert panel["heads"]
            if note == LEFT_OUT[Detail.canvas_only]:
                assert stages == 0
                assert not panel["heads"]
            assert unpacked(panel["tokens"]).shape[1] >= 31
    assert notes == set(LEFT_OUT.values())


def test_a_run_too_large_to_watch_shows_its_canvas(abb, monkeypatch):
    monkeypatch.setattr(model_view, "MOST_WATCHED", 10)
    panel = panel_of(abb, "abbaabbababababb")
    assert panel.trace.accepted is True
    assert panel.edges == []
    assert any("too large to record" in note for note in panel.left_out)
    html_page.render(View("", "", (panel,)))


def test_a_page_too_large_for_a_browser_is_reduced(abb, monkeypatch):
    monkeypatch.setattr(html_page, "MOST_UNPACKED_BYTES", 1000)
    panel = data_of(html_page.render(view_of(abb, "abbaabbababababb", [])))["panels"][0]
    assert panel["leftOut"] == [LEFT_OUT[Detail.no_registers]]


def test_text_shows_every_line():
    panel = panel_of(compile_problem("(a|b)*abb", "mdm", length=4), "aabb")
    assert render_text(panel).splitlines() == [
        "masked diffusion: 2 steps, accepted",
        "    start   a   a   b   b  |  m   m   m",
        "   step 1   a   a   b   b  |  a* bb*  m",
        "   step 2   a   a   b   b  |  a  bb   1*",
    ]


def test_text_is_cut_in_the_middle():
    panel = panel_of(compile_problem("(a|b)*abb", "cot", length=200), "ab" * 100)
    lines = render_text(panel).splitlines()
    assert len("\n".join(lines)) < 60_000
    assert any(re.fullmatch(r"… \d+ lines left out …", line) for line in lines)
    assert lines[-1].startswith(" step 200")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("abb", "abb"),
        ("\u202ea", "\\u{202e}a"),
        (" ", "␣"),
        ("\u0301", "◌\u0301"),
        ("\n", "\\u{a}"),
        ("\ud800", "\\u{d800}"),
    ],
)
def test_every_character_shows(text, cell):
    assert cell_text(text) == cell
