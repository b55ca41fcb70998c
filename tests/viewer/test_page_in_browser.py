"""The page in a real browser: its drawing, its controls, and that it sends no request."""

from html import escape

import numpy as np
import pytest

from unmask.api import compile_problem, run_word
from unmask.engines.reference import ReferenceEngine
from unmask.viewer.html_page import render
from unmask.viewer.model_view import view_of
from unmask.weights.kinds import KINDS

from .conftest import WORD
from .test_html_page import hostile_view


@pytest.fixture
def load_page(open_page):
    """Open a page and wait for its runs; nothing may be printed on the console."""
    opened = []

    def load(address, **options):
        observed = open_page(address, **options)
        observed.page.wait_for_selector("html[data-ready]")
        opened.append(observed)
        return observed.page

    yield load
    for observed in opened:
        assert observed.complaints == []
        assert all(request.startswith("file://") for request in observed.requests)
        assert len(observed.requests) == 1


def click_cell(page, panel, line, column):
    position = page.evaluate(
        """([p, line, column]) => {
            const { state, centre } = unmaskView, panel = state.panels[p];
            const [x, y] = centre(panel, state, line, column);
            panel.section.scrollIntoView();
            panel.scroller.scrollLeft = Math.max(0, x - 200);
            panel.scroller.scrollTop = Math.max(0, y - 60);
            return [x, y];
        }""",
        [panel, line, column],
    )
    box = page.locator(".space").nth(panel).bounding_box()
    page.mouse.click(box["x"] + position[0], box["y"] + position[1])


def rows_read(page, selector):
    """Return {(transformer, layer, head): {row: weight}} as the page shows it."""
    rows = {}
    for data in page.locator(selector).evaluate_all("all => all.map(e => ({...e.dataset}))"):
        head = data["transformer"], int(data["layer"]), int(data["head"])
        rows.setdefault(head, {})[int(data["row"])] = int(data["weight"])
    return rows


def rows_of_the_reference(trace, step, row):
    rows = {}
    for name, weights in trace.activations.items():
        if name.startswith(f"steps.{step}.") and name.endswith(".weights"):
            _, _, transformer, _, layer, _, head, _ = name.split(".")
            keys = np.flatnonzero(weights[row]).tolist()
            rows[transformer, int(layer), int(head)] = {key: int(weights[row, key]) for key in keys}
    return rows


def step_shown(page):
    return page.locator("#tick").inner_text()


def test_a_click_shows_the_rows_that_the_reference_engine_reads(load_page, abb, abb_page):
    page = load_page(abb_page)
    trace = run_word(abb, WORD, engine=ReferenceEngine(), record=True)
    for line, column in ((1, 16), (1, 23), (2, 25), (3, 29), (4, 30), (3, 30)):
        click_cell(page, 0, line, column)
        expected = rows_of_the_reference(trace, line - 1, column)
        assert len(expected) == 4
        assert rows_read(page, "#reads tr") == expected
        assert rows_read(page, "section[data-kind=mdm] svg.over path.read") == expected
        assert step_shown(page) == f"step {line} of 16"
        assert page.locator("#details h3").first.inner_text().startswith(f"Slot {column - 16}")


def test_a_click_in_the_chain_shows_the_row_before(load_page, abb_page):
    page = load_page(abb_page)
    trace = run_word(compile_problem("(a|b)*abb", "cot", length=16), WORD, engine=ReferenceEngine(), record=True)
    click_cell(page, 1, 5, 20)  # the fifth symbol is decided by row 19
    assert rows_read(page, "#reads tr") == rows_of_the_reference(trace, 4, 19)
    click_cell(page, 1, 9, 20)  # later the row is read like any other
    assert rows_read(page, "#reads tr") == rows_of_the_reference(trace, 8, 20)


def test_registers_have_names_and_values_and_the_planner_a_reason(load_page, abb_page):
    page = load_page(abb_page)
    click_cell(page, 0, 4, 30)
    assert page.locator("#happened").inner_text() == "The planner chose this masked slot, and the predictor wrote 1."
    why = page.locator("#why").inner_text()
    assert "take has the larger logit" in why
    value = page.locator("#registers [data-register=left] dd").inner_text()
    assert value == "a 1"
    assert page.locator("#registers [data-register=right] dd").inner_text() == "abb 1"
    page.locator("#stage").select_option(label="planner, after layer 0")
    assert page.locator("#registers [data-register=masked] dd").inner_text() == "1"
    click_cell(page, 0, 2, 30)
    assert page.locator("#happened").inner_text() == "The planner did not choose this slot. It is still masked."
    assert "keep has the larger logit" in page.locator("#why").inner_text()


def test_the_keyboard_steps(load_page, abb_page):
    page = load_page(abb_page)
    assert step_shown(page) == "step 16 of 16"
    for key, line in [
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", 16),
        ("ArrowRight", 16),
        ("Home", 0),
        ("ArrowLeft", 0),
    ]:
        page.keyboard.press(key)
        assert step_shown(page) == f"step {line} of 16"
    assert page.locator("section[data-kind=mdm] .state").inner_text() == "step 0 of 4"
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.locator("section[data-kind=mdm] .state").inner_text() == "accepted ✓ after 4 steps"
    assert page.locator("section[data-kind=plt] .state").inner_text() == "accepted ✓ after 4 loops"
    assert page.locator("section[data-kind=cot] .state").inner_text() == "step 4 of 16"


def test_it_plays_and_pauses(load_page, abb_page):
    page = load_page(abb_page)
    page.locator("#speed").select_option("120")
    page.locator("#title").click()
    page.keyboard.press("Space")
    page.locator("#tick", has_text="step 2 of 16").wait_for()
    page.keyboard.press("Space")
    stopped = step_shown(page)
    assert page.locator("#play").get_attribute("aria-label") == "play"
    page.wait_for_timeout(300)
    assert step_shown(page) == stopped
    page.locator("#play").click()
    page.locator("#tick", has_text="step 16 of 16").wait_for()
    page.locator("#play[aria-label=play]").wait_for()


def test_the_choice_moves_with_shift(load_page, abb_page):
    page = load_page(abb_page)
    click_cell(page, 0, 1, 20)
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator("#details h3").first.inner_text().startswith("Slot 5 · step 1")
    page.keyboard.press("Shift+ArrowDown")
    assert page.locator("#details h3").first.inner_text().startswith("Slot 5 · step 2")
    assert step_shown(page) == "step 2 of 16"


def test_the_tree_is_drawn_over_its_input(load_page, abb_page):
    page = load_page(abb_page)
    count = (
        "() => [...document.querySelectorAll('section[data-kind=mdm] svg.under .edge')]"
        ".map(e => e.getAttribute('d').split('M').length - 1)"
    )
    assert page.evaluate(count) == [15, 15]  # over the canvas: left children, right children
    page.keyboard.press("t")
    assert page.locator("input[value=tree]").is_checked()
    assert page.evaluate(count) == [15, 15]
    middles = page.evaluate(
        "() => { const { state, centre } = unmaskView, p = state.panels[0];"
        " return [[0, 0], [0, 15], [4, 30]].map(([l, c]) => centre(p, state, l, c)[0]); }"
    )
    assert middles[2] == pytest.approx((middles[0] + middles[1]) / 2)
    page.keyboard.press("Home")
    assert page.evaluate(count) == []
    page.keyboard.press("End")
    page.keyboard.press("r")
    assert page.evaluate(count) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes_and_the_toggle(load_page, abb_page, scheme):
    def brightness():
        colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return sum(int(channel) for channel in colour.strip("rgb()").split(","))

    page = load_page(abb_page, color_scheme=scheme)
    assert (brightness() > 380) == (scheme == "light")
    page.locator("#theme").click()
    assert (brightness() > 380) == (scheme == "dark")
    page.locator("#theme").click()
    assert (brightness() > 380) == (scheme == "light")


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_pages_do_not_scroll_sideways(load_page, abb_page, width):
    page = load_page(abb_page, width=width, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    click_cell(page, 0, 2, 25)
    assert page.locator("#details h3").first.inner_text().startswith("Slot 9 · step 2")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate(
        "() => [...document.querySelectorAll('.clock button')].map(b => b.getBoundingClientRect())"
        ".filter(b => b.width < 30 || b.height < 30).length"
    )
    assert small == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_shown(load_page, tmp_path, kind):
    path = tmp_path / "page.html"
    path.write_text(render(view_of(compile_problem("(a|b)*abb", kind, length=4), "babb", [])), encoding="utf-8")
    page = load_page(path.as_uri())
    assert page.locator("section.panel .state").inner_text().startswith("accepted ✓ after")
    assert page.locator("#details .symbol").inner_text() == "1"
    assert "1" in page.locator("#why .chosen").last.inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.locator("#reads tr").count() >= 1
    assert page.locator("#registers [data-register]").count() >= 3


def test_hostile_strings_do_nothing_but_show(load_page, tmp_path):
    view, symbols = hostile_view()
    path = tmp_path / "hostile.html"
    path.write_text(render(view), encoding="utf-8")
    page = load_page(path.as_uri())
    page.evaluate("() => { globalThis.boom = () => document.title = 'boom' }")
    texts = set()
    for line in range(3):
        for column in range(4, 7):
            click_cell(page, 0, line, column)
            texts.add(page.locator("#details .symbol").text_content())
    assert texts & {s for s in symbols if "<" in s or "&" in s}
    assert page.title() != "boom"
    assert page.locator("script").count() == 2


def test_length_64_beside_its_chain(load_page, tmp_path):
    model = compile_problem("(a|b)*abb", "mdm", length=64)
    path = tmp_path / "long.html"
    path.write_text(render(view_of(model, "ab" * 30 + "babb", ["cot"])), encoding="utf-8")
    assert path.stat().st_size < 2_000_000
    page = load_page(path.as_uri())
    click_cell(page, 1, 40, 103)
    assert page.locator("#details h3").first.inner_text().startswith("Slot 39 · step 40 · chain of thought")
    click_cell(page, 0, 6, 126)
    assert page.locator("#details .symbol").inner_text() == "1"


def test_without_scripts_the_runs_are_text(open_page, abb_page):
    page = open_page(abb_page, java_script_enabled=False).page
    assert page.locator(".noscript").is_visible()
    assert not page.locator(".clock").is_visible()
    text = page.locator("pre").inner_text()
    assert page.locator("pre").is_visible()
    assert "masked diffusion: 4 steps, accepted" in text
    assert "chain of thought: 16 steps, accepted" in text


def test_it_can_be_embedded(open_page, tmp_path, abb):
    """As in a notebook: the whole page is the `srcdoc` of a frame that may only run scripts."""
    page = render(view_of(abb, WORD, []))
    outer = tmp_path / "notebook.html"
    outer.write_text(f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}"></iframe>', encoding="utf-8")
    observed = open_page(outer.as_uri())
    frame = observed.page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for()
    assert frame.locator("#details .symbol").inner_text() == "1"
    assert observed.complaints == []


def test_keyboard_alone_reaches_everything(load_page, abb_page):
    page = load_page(abb_page)
    reached = set()
    name = "() => { const e = document.activeElement; return e.id || e.className || e.name; }"
    for _ in range(24):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(name))
    assert {"theme", "first", "back", "play", "forward", "last", "scrub", "speed"} <= reached
    assert {"layout", "all", "smaller", "larger", "scroller", "stage", "fold"} <= reached
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('button, input, select, [tabindex=\"0\"]')].filter(e => "
        "!(e.ariaLabel || e.labels?.[0]?.textContent.trim() || e.textContent.trim())).map(e => e.outerHTML)"
    )
    assert unnamed == []
