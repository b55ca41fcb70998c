"""Pages of real runs, made once."""

import pytest

from unmask.api import compile_problem
from unmask.viewer.html_page import render
from unmask.viewer.model_view import view_of

WORD = "abbaabbababababb"


@pytest.fixture(scope="session")
def abb():
    """(a|b)*abb as masked diffusion, for words of length 16."""
    return compile_problem("(a|b)*abb", "mdm", length=16)


@pytest.fixture(scope="session")
def abb_page(abb, tmp_path_factory):
    """The address of a page with masked diffusion, a chain of thought and a looped transformer."""
    path = tmp_path_factory.mktemp("pages") / "abb.html"
    path.write_text(render(view_of(abb, WORD, ["cot", "plt"])), encoding="utf-8")
    return path.as_uri()
