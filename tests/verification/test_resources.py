"""Measured resources compared with their bounds."""

from dataclasses import replace

import pytest

from unmask.api import compare_frameworks
from unmask.verification.resources import ResourceRow, grows_as_promised, lengths_that_lack_cases
from unmask.weights.model import Extent

FRAMEWORKS = ("mdm", "smdm", "topk", "plt", "pcot", "cot")
KEYS = {
    *("framework", "length", "steps", "padding", "width", "layers", "heads", "parameters", "precision"),
    *("symbols", "bound", "width_bound", "within_bound", "seconds", "correct"),
}
EXTENT = Extent(layers=2, symbols=5, fixed=7, per_bit=1, places=8)


@pytest.mark.parametrize(
    ("problem", "lengths"), [("group:A5", [2, 3, 5, 8, 13, 64]), ("(ab)*", [0, 1, 2, 7]), ("group:Z2", [16])]
)
def test_every_framework_is_right_and_within_its_bound(problem, lengths):
    rows = list(compare_frameworks(problem, lengths))
    assert [(row.length, row.framework) for row in rows] == [(n, kind) for n in lengths for kind in FRAMEWORKS]
    for row in rows:
        assert row.within_bound, row
        assert row.correct is True, row
        assert set(row.to_json()) == KEYS
        if row.framework in ("mdm", "smdm", "topk"):
            assert row.steps == max(1, (row.length - 1).bit_length() if row.length else 1)
            assert row.padding <= max(1, row.length)


def test_chain_of_thought_takes_n_steps_and_diffusion_their_logarithm():
    rows = {(row.framework, row.length): row for row in compare_frameworks("group:Z2", [8, 16, 32])}
    assert [rows["cot", n].steps for n in (8, 16, 32)] == [8, 16, 32]
    assert [rows["mdm", n].steps for n in (8, 16, 32)] == [3, 4, 5]
    for kind in FRAMEWORKS:
        widths = [rows[kind, n].width for n in (8, 16, 32)]
        assert widths[1] - widths[0] == widths[2] - widths[1] <= 6


def test_beyond_a_bound():
    row = ResourceRow("mdm", 8, 4, 8, 10, 2, 2, 99, 2, 5, EXTENT.price(3, 8), EXTENT, 0.1, True)
    assert not row.within_bound
    assert row.to_json()["within_bound"] is False


@pytest.mark.parametrize("too_much", [{"layers": 3}, {"symbols": 6}, {"width": 11}, {"padding": 9}, {"steps": 4}])
def test_width_layers_and_alphabet_are_part_of_the_price(too_much):
    row = ResourceRow("mdm", 8, 3, 8, 10, 2, 2, 99, 2, 5, EXTENT.price(3, 8), EXTENT, 0.1, True)
    assert row.within_bound
    assert not replace(row, **too_much).within_bound


def test_only_the_number_of_places_may_depend_on_the_length():
    rows = list(compare_frameworks("(ab)*", [1, 4, 8]))
    for kind in FRAMEWORKS:
        same = [row for row in rows if row.framework == kind]
        assert grows_as_promised(same)
        for change in ({"fixed": 99}, {"per_bit": 9}, {"symbols": 99}, {"layers": 9}):
            assert not grows_as_promised([*same[:-1], replace(same[-1], extent=replace(same[-1].extent, **change))])


def test_a_short_word_may_lack_cases_of_a_program(tmp_path):
    """No cell of eight has neighbours four to the left and four to the right: one read less than at N = 16."""
    file = tmp_path / "far.py"
    file.write_text(
        "from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter\n"
        "(i,) = indices('i')\n"
        "cell = Slots('cell', i.range(N), BOOLEAN)\n"
        "cell.start(letter(i), lambda x: x == '1')\n"
        "near = [cell[i + far].or_else(False) for far in (-4, 4)]\n"
        "cell.rule((cell[i], *near), lambda *on: any(on))\n"
        "program = System('01', cell, answer=cell, steps=2)\n"
    )
    rows = [row for row in compare_frameworks(f"program:{file}", [8, 16, 32]) if row.framework == "mdm"]
    assert len({row.extent.without_places for row in rows}) == 2
    assert grows_as_promised(rows)
    assert lengths_that_lack_cases(rows) == [8]
    grown = replace(rows[-1], extent=replace(rows[-1].extent, per_bit=99))
    assert not grows_as_promised([*rows[:-1], grown])
