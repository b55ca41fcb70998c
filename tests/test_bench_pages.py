"""docs/bench/: every script prints what its page shows. Scripts about a checkout run with UNMASK_PUBLISHED."""

import contextlib
import importlib.util
import io
import os
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "docs" / "generate" / "bench_pages.py"
SPEC = importlib.util.spec_from_file_location("bench_pages", SOURCE)
bench_pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench_pages)
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in bench_pages.reports()}
OURS = [name for name, text in PAGES.items() if not bench_pages.needs_published(text)]
PUBLISHED = os.environ.get("UNMASK_PUBLISHED")


@pytest.mark.parametrize("name", OURS)
def test_a_script_prints_what_the_page_shows(name):
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    if diffusers.__version__ != "0.42.1":
        pytest.skip("the pages are about diffusers 0.42.1")
    script, output = bench_pages.script_and_output(PAGES[name])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(script, name, "exec"), {"__name__": name})
    assert out.getvalue() == output != ""


@pytest.mark.long
@pytest.mark.skipif(PUBLISHED is None, reason="UNMASK_PUBLISHED names no folder with the published code")
@pytest.mark.parametrize("name", sorted(set(PAGES) - set(OURS)))
def test_a_script_about_a_checkout(name):
    assert bench_pages.with_output(PAGES[name], PUBLISHED) == PAGES[name]


def test_pages_show_an_output_and_are_listed():
    index = bench_pages.INDEX.read_text(encoding="utf-8")
    for name, text in PAGES.items():
        assert bench_pages.script_and_output(text)[1], name
        assert f"({name}.md)" in index


def test_an_output_that_changed_is_noticed():
    page = "```python\nprint(2)\n```\n\nSeen:\n\n```text\n1\n```\n"
    assert bench_pages.with_output(page, None) == page.replace("1\n", "2\n")
