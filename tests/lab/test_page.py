"""docs/lab/index.md says what docs/lab/results.json holds, and no number beyond it."""

import re

from lab_page import PAGE, REGION, RESULTS, filled, pictures

from unmask.lab.report.tables import TABLES
from unmask.lab.settings.config import Config
from unmask.lab.settings.shape import Shape
from unmask.lab.sweep.results import read_results


def test_the_page_is_that_of_its_results():
    cells = read_results(RESULTS)
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, cells) == page
    for name, picture in pictures(cells).items():
        assert (RESULTS.parent / name).read_text(encoding="utf-8") == picture


def test_every_table_has_its_place():
    places = {match[2] for match in REGION.finditer(PAGE.read_text(encoding="utf-8"))}
    assert places == {*TABLES, "facts", "findings"}


def test_every_setting_of_a_run_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    settings = {*Config.__struct_fields__, *Shape.__struct_fields__}
    assert {name for name in settings if f"`{name}`" not in page} == set()


def test_no_measured_number_stands_elsewhere():
    """Outside the tables and commands: no decimals, no percentages, no seconds."""
    prose = REGION.sub("", PAGE.read_text(encoding="utf-8"))
    prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+|\d+ ?%|\d+ s\b", re.sub(r"`[^`]*`", "", prose)) == []


def test_a_page_without_results_says_so():
    page = filled(PAGE.read_text(encoding="utf-8"), [])
    assert page.count("*Not run.*") == len(TABLES) + 1
