"""A trace in a notebook: the viewer in a frame, for every kind of run and any symbols."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from unmask import compile_problem, run_word
from unmask.testing import random_model
from unmask.viewer.html_page import UNRECORDED
from unmask.weights.kinds import KINDS


class Frame(HTMLParser):
    """Return the single element that shows a trace, and its attributes as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes = dict(attrs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"record": True}, {"canvas": False}], ids=str)
def test_every_kind_of_run_shows_itself(kind, options):
    frame = Frame(run_word(random_model(5, kind, 2), "ab", **options)._repr_html_())
    assert frame.tags == ["iframe"]
    assert frame.attributes["sandbox"] == "allow-scripts"
    assert frame.attributes["srcdoc"].startswith("<!doctype html>")
    assert f'"kind":"{kind}"' in frame.attributes["srcdoc"]
    assert (UNRECORDED in frame.attributes["srcdoc"]) == ("record" not in options)


def test_symbols_cannot_leave_the_frame():
    trace = run_word(random_model(5, "mdm", 2), "ab")
    hostile = tuple(f'"></iframe><script>alert({i})</script>' for i in range(len(trace.vocabulary)))
    html = replace(trace, vocabulary=hostile, mask=hostile[-1])._repr_html_()
    assert Frame(html).tags == ["iframe"]
    assert re.findall(r"<[a-z/]+", html) == ["<iframe", "</iframe"]


@pytest.mark.parametrize(
    ("problem", "kind", "word", "line"),
    [
        ("(a|b)*abb", "mdm", "aabb", "Trace(mdm, 'aabb', accepted after 2 steps)"),
        ("(a|b)*abb", "cot", "b", "Trace(cot, 'b', rejected after 1 step)"),
        ("expr:a+b", "mdm", "2+3", "Trace(mdm, '2+3=', '5' after 1 step)"),
    ],
)
def test_a_line_for_the_terminal(problem, kind, word, line):
    length = None if problem.startswith("expr") else len(word)
    assert repr(run_word(compile_problem(problem, kind, length=length), word)) == line


def test_a_browser_shows_the_frame_and_steps_through_it(open_page, tmp_path):
    trace = run_word(compile_problem("(a|b)*abb", "mdm", length=9), "aababbabb", record=True)
    (tmp_path / "cell.html").write_text(f"<!doctype html><title>cell</title>{trace._repr_html_()}", encoding="utf-8")
    observed = open_page((tmp_path / "cell.html").as_uri())
    frame = observed.page.frame_locator("iframe")
    assert "aababbabb" in frame.locator("#title").inner_text()
    assert "accepted" in frame.locator("#panels").inner_text()
    frame.locator("#first").click()
    before = frame.locator("#tick").inner_text()
    frame.locator("#forward").click()
    assert frame.locator("#tick").inner_text() != before
    assert observed.complaints == []
    assert {address.split(":")[0] for address in observed.requests} <= {"file", "about"}
