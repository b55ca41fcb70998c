"""The generated architecture pages are up to date."""

import pytest
from architecture import ROOT, fill_regions, pages

PAGES = pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_current(page):
    assert page.read_text(encoding="utf-8") == PAGES[page], "run `make architecture`"


def test_pages_are_written_between_their_markers():
    text = (ROOT / "docs" / "background" / "trusted-modules.md").read_text(encoding="utf-8")
    for marker in ("checked", "trusted"):
        inside = text.split(f"<!-- {marker} -->")[1].split(f"<!-- end of {marker} -->")[0]
        assert "`numerics/arithmetic`" in inside


@pytest.mark.parametrize("marker", ["checked", "trusted", "packages"])
def test_a_stale_line_is_replaced(marker):
    page = f"before\n<!-- {marker} -->\n| an old line |\n<!-- end of {marker} -->\nafter"
    assert fill_regions(page, {marker: ["new"]}) == f"before\n<!-- {marker} -->\nnew\n<!-- end of {marker} -->\nafter"
