"""pcot → cot: scratch rows stand for the masks, in twice the steps."""

import pytest

from theorems.checking import check_source, check_theorem
from unmask.programs import attention
from unmask.testing import random_model
from unmask.theorems import pcot_to_cot as module
from unmask.theorems.pcot_to_cot import THEOREM


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_pcot_to_cot_correct(precision):
    assert check_theorem(THEOREM, range(100), precision=precision) == []


def test_twice_the_steps_and_no_more():
    source = random_model(3, "pcot", 2, steps=3)
    model = THEOREM.convert(source).model
    assert model.steps == model.padding == 2 * source.padding


@pytest.mark.parametrize("copies", [0, 1])
def test_one_copy_of_focus_is_not_enough(monkeypatch, copies):
    monkeypatch.setattr(module, "same_block", lambda *arguments: _same_block(*arguments[:-1], copies))
    assert any(_check(seed) for seed in range(60))


def test_symbols_must_not_see_scratch_rows(monkeypatch):
    real = attention.HeadBuilder.column

    def without_hiding(self, query, key):
        hides = len(query) == 1 and query[0][1] == -module.B
        real(self, [] if hides else query, [] if hides else key)

    monkeypatch.setattr(attention.HeadBuilder, "column", without_hiding)
    assert any(_check(seed) for seed in range(40))


_same_block = module.same_block


def _check(seed):
    source = random_model(seed, "pcot", 2, steps=3)
    return check_source(source, THEOREM.convert(source), seed=seed)
