"""Measured resources beside their bounds."""

import pytest

from unmask.pipeline import compare_frameworks
from unmask.verification.compare import Bound, Row

FRAMEWORKS = ("mdm", "smdm", "topk", "plt", "pcot", "cot")
KEYS = {
    *("framework", "length", "steps", "padding", "width", "layers", "heads", "parameters", "precision"),
    *("bound", "within_bound", "seconds", "correct"),
}


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
    row = Row("mdm", 8, 4, 8, 10, 2, 2, 99, 2, Bound(3, 8), 0.1, True)
    assert not row.within_bound
    assert row.to_json()["within_bound"] is False
