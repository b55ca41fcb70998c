"""The page of the gallery shows the files as they are; one of its tables is measured again."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import gallery_page as gallery
import pytest


@pytest.mark.parametrize("exhibit", gallery.EXHIBITS, ids=lambda exhibit: exhibit.file)
def test_the_page_lists_every_file_as_it_is(exhibit):
    text = (gallery.ROOT / "examples" / exhibit.file).read_text(encoding="utf-8")
    assert "\n".join(gallery.listing(exhibit, text)) in gallery.PAGE.read_text(encoding="utf-8"), "run `make gallery`"


def test_every_file_is_shown():
    listed = {exhibit.file for exhibit in gallery.EXHIBITS}
    folders = (gallery.ROOT / "examples" / name for name in ("programs", "grammars"))
    assert listed == {f"{path.parent.name}/{path.name}" for folder in folders for path in folder.glob("*.*")}


@pytest.mark.parametrize("exhibit", gallery.EXHIBITS, ids=lambda exhibit: exhibit.file)
def test_every_program_has_its_picture(exhibit):
    svg = ElementTree.parse(exhibit.picture).getroot()
    texts = {element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert "step 1" in texts
    assert len(exhibit.picture.read_bytes()) < 12_000


@pytest.mark.parametrize("file", ["programs/sorting.py", "programs/ends_in_abb.py"])
def test_a_picture_is_that_of_a_run_made_now(file):
    exhibit = next(e for e in gallery.EXHIBITS if e.file == file)
    assert gallery.picture_of(exhibit) == exhibit.picture.read_text(encoding="utf-8"), "run `make gallery`"


def test_a_slot_has_the_colour_of_the_step_that_wrote_it():
    """A chain of three slots: three steps, three colours; the light one first."""
    names = ("x[0]", "x[1]", "x[2]", "x[2] k=0")
    canvas = [["a", "m", "m", "m"], ["a", "b", "m", "m"], ["a", "b", "c", "m"]]
    trace = SimpleNamespace(slots=names, canvas_symbols=canvas, mask="m")
    svg = gallery.picture(trace, edits=False)
    fills = re.findall(r'fill="(#\w+)" d="M(\d+) ', svg)
    assert [colour for colour, _ in fills] == ["#dbeafe", "#7c92c4", "#1e3a8a"]
    assert sorted(int(x) for _, x in fills) == [int(x) for _, x in fills], "from left to right"
    assert "k=0" not in svg


def test_a_section_is_what_is_measured_now():
    exhibit = next(e for e in gallery.EXHIBITS if "sorting" in e.file)
    assert "\n".join(gallery.section(exhibit)) in gallery.PAGE.read_text(encoding="utf-8"), "run `make gallery`"
