"""The pages of the lab contain what docs/lab/results.json contains, and no other measured number."""

import re

from lab_page import PAGES, REGION, RESULTS, TEXTS, fill_page, pictures

from unmask.lab.result_tables import TABLES
from unmask.lab.settings import Config, Shape
from unmask.lab.sweep import read_results

BOTH = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_the_page_is_that_of_its_results():
    cells = read_results(RESULTS)
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        assert fill_page(page, cells) == page
    for name, picture in pictures(cells).items():
        assert (RESULTS.parent / name).read_text(encoding="utf-8") == picture


def test_every_table_has_its_place():
    places = [match[2] for match in REGION.finditer(BOTH)]
    assert sorted(places) == sorted([*TABLES, *TEXTS])


def test_the_first_page_is_short_and_begins_with_the_caveat():
    """At most 800 words and three plots; that addresses are given comes before any result."""
    page = re.sub(r"<!--.*?-->|\(\w+\.svg\)", "", PAGES[0].read_text(encoding="utf-8"))
    assert len(re.findall(r"\w[\w.'’-]*", page)) <= 800
    assert PAGES[0].read_text(encoding="utf-8").count("![") <= 3
    assert page.index("`bits`") < page.index("`aux`") < page.index("## What was asked")


def test_runs_and_cells_are_both_counted():
    cells = read_results(RESULTS)
    runs = sum("right" in cell["result"] for cell in cells)
    signals = sum(cell["table"] == "signal" for cell in cells)
    assert runs + signals == len(cells)
    assert f"{len(cells)} cells: {runs} training runs, and {signals} measurements" in PAGES[0].read_text("utf-8")


def test_every_setting_of_a_run_is_on_the_page():
    page = BOTH
    settings = {*Config.__struct_fields__, *Shape.__struct_fields__}
    assert {name for name in settings if f"`{name}`" not in page} == set()


def test_no_measured_number_stands_elsewhere():
    """Outside the tables and commands: no decimals, no percentages, no seconds."""
    prose = REGION.sub("", BOTH)
    prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+|\d+ ?%|\d+ s\b", re.sub(r"`[^`]*`", "", prose)) == []


def test_a_page_without_results_says_so():
    page = fill_page(BOTH, [])
    assert page.count("*Not run.*") == len(TABLES) + len(TEXTS) - 2
