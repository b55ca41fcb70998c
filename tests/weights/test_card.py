"""What a model says of itself, on a terminal and in a notebook."""

import re
from dataclasses import replace

import pytest

from unmask.pipeline import compile_problem, convert_model
from unmask.testing import random_model


def test_a_model_says_what_it_is():
    model = compile_problem("(a|b)*abb", "mdm", length=9)
    assert repr(model) == "Model(mdm, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb)"
    table = model._repr_html_()
    for cell in ("<td>mdm</td>", "<td>regex:(a|b)*abb</td>", "<td>9</td>", "<td>8</td>", "<td>4</td>", "<td>F_2</td>"):
        assert cell in table
    widths = [t.width for t in model.transformers.values()]
    assert [int(width) for width in re.findall(r"<td>width (\d+), ", table)] == widths
    assert all(f'<th scope="row">{name}</th>' in table for name in model.transformers)
    (_, conversion), *_ = convert_model(model, "plt")
    assert repr(conversion.model).endswith("regex:(a|b)*abb → mdm_to_plt)")


@pytest.mark.parametrize(
    ("problem", "provenance", "told"),
    [
        ({}, [], "no problem named"),
        (
            {"kind": "regex", "pattern": "<b>"},
            [],
            "{&quot;kind&quot;: &quot;regex&quot;, &quot;pattern&quot;: &quot;&lt;b&gt;&quot;}",
        ),
        ({}, [{"compiled": "<script>alert(1)</script>"}], "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ({}, [{"compiled": 3}, 4, {"converted": None}], "no problem named"),
        ({}, "by hand", "no problem named"),
    ],
)
def test_what_a_folder_says_of_itself_is_escaped(problem, provenance, told):
    model = replace(random_model(1, "mdm", 2), problem=problem, provenance=provenance)
    assert f'<th scope="row">problem</th><td>{told}</td>' in model._repr_html_()
