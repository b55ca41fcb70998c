"""The picture of a run is well formed and describes the run; the picture in the documentation is up to date."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from unmask.api import compile_problem
from unmask.viewer.html_page import View
from unmask.viewer.model_view import panel_of, view_of
from unmask.viewer.svg_picture import picture
from unmask.weights.kinds import KINDS

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "denoising.svg"
NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_the_picture_of_the_documentation_is_in_step(abb):
    """docs/how-to/viewer.md has the command that draws it."""
    assert PICTURE.read_text(encoding="utf-8") == picture(view_of(abb, "abbaabbababababb", ["cot"]))


def test_the_picture_is_a_tree_beside_a_chain(abb):
    svg = ElementTree.fromstring(picture(view_of(abb, "abbaabbababababb", ["cot"])))
    tree, chain = svg.findall(f"{NAMESPACE}g")
    assert len(tree.findall(f"{NAMESPACE}rect")) == 15  # one per slot
    assert len(tree.findall(f"{NAMESPACE}path")) == 30  # two children each
    assert len(chain.findall(f"{NAMESPACE}rect")) == 16
    assert len(chain.findall(f"{NAMESPACE}path")) == 16 + 15  # a letter each, and the symbol before
    assert (
        svg.find(f"{NAMESPACE}desc").text == "masked diffusion: 4 steps, accepted; chain of thought: 16 steps, accepted"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_picture(kind):
    panel = panel_of(compile_problem("(a|b)*abb", kind, length=4), "aabb")
    ElementTree.fromstring(picture(View('<&"', "]]>", (panel,))))
