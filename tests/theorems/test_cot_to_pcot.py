"""cot → pcot: the rows before the mask are those of the source."""

import pytest

from unmask.testing import random_model
from unmask.theorems import cot_to_pcot as module
from unmask.theorems.checking.conversions import check_source, check_theorem
from unmask.theorems.cot_to_pcot import THEOREM


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_cot_to_pcot_correct(precision):
    assert check_theorem(THEOREM, range(24), precision=precision) == []


def test_a_mask_row_without_boost_divides_by_zero(monkeypatch):
    monkeypatch.setattr(module, "boost", lambda *_: None)
    found = [_check(seed, length=1, steps=4) for seed in (13, 47, 68, 145)]
    assert any("divides by zero" in str(d.what) for d in found if d)


def test_reading_the_mask_row_itself_is_caught(monkeypatch):
    monkeypatch.setattr(module.Simulation, "read_out", lambda self, program, _: _read_own(self, program))
    assert any(_check(seed) for seed in range(20))


def _read_own(simulation, program):
    out = simulation.source.out
    program.read_out(out.row, simulation.work[out.column], out.value)


def _check(seed, length=2, steps=3):
    source = random_model(seed, "cot", length, steps=steps)
    return check_source(source, THEOREM.convert(source), seed=seed)
