"""pcot → cot: scratch rows stand for the masks, in twice the steps."""

import pytest

from unmask.programs.gadgets.focus import focus
from unmask.programs.language.builders import HeadBuilder
from unmask.testing import random_model
from unmask.theorems import pcot_to_cot as module
from unmask.theorems.checking.conversions import check_source, check_theorem
from unmask.theorems.pcot_to_cot import THEOREM


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_pcot_to_cot_correct(precision):
    assert check_theorem(THEOREM, range(24), precision=precision) == []


def test_twice_the_steps_and_no_more():
    source = random_model(3, "pcot", 2, steps=3)
    model = THEOREM.convert(source).model
    assert model.steps == model.padding == 2 * source.padding


@pytest.mark.parametrize("copies", [0, 1])
def test_one_copy_of_focus_is_not_enough(monkeypatch, copies):
    def with_copies(head, a, b, *, cares, **_):
        focus(head, a, b, cares=cares, copies=copies)

    monkeypatch.setattr(module, "focus", with_copies)
    assert any(_check(seed) for seed in range(60))


def test_symbols_must_not_see_scratch_rows(monkeypatch):
    real = HeadBuilder.column

    def without_hiding(self, query, key):
        hides = len(query) == 1 and query[0][1] == -module.B
        real(self, [] if hides else query, [] if hides else key)

    monkeypatch.setattr(HeadBuilder, "column", without_hiding)
    assert any(_check(seed) for seed in range(40))


def _check(seed):
    source = random_model(seed, "pcot", 2, steps=3)
    return check_source(source, THEOREM.convert(source), seed=seed)
