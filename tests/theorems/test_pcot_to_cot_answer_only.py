"""pcot → cot in 2P - P' + 1 steps: of the last block only the answer is written."""

import pytest

from theorems.odd_sources import engine
from unmask.pipeline import compile_problem, verify_model
from unmask.programs.language.positions import choose, n
from unmask.testing import random_model
from unmask.theorems import pcot_to_cot as module
from unmask.theorems.checking.conversions import check_source, check_theorem
from unmask.theorems.pcot_to_cot_answer_only import THEOREM


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_pcot_to_cot_answer_only_correct(precision):
    assert check_theorem(THEOREM, range(16), precision=precision, engine=engine()) == []


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_many_sources(precision):
    assert check_theorem(THEOREM, range(16, 300), precision=precision) == []


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_as_many_steps_as_claimed(steps):
    blocks = set()
    for seed in range(6):
        source = random_model(seed, "pcot", 2, steps=steps)
        model = THEOREM.convert(source).model
        assert model.steps == model.padding == 2 * source.padding - source.block + 1
        assert steps > 1 or model.steps == source.padding + 1
        assert check_source(source, THEOREM.convert(source), seed=3, engine=engine()) is None
        blocks.add(source.block)
    assert len(blocks) > 1


def test_a_compiled_language_survives():
    source = compile_problem("(a|b)*abb", "pcot", length=4)
    assert verify_model(THEOREM.convert(source).model, method="exhaustive").status == "held"


def test_the_answer_must_come_from_the_last_scratch_row(monkeypatch):
    """From the first one, as in the other blocks, it would be the first symbol of the block."""
    monkeypatch.setattr(module._Layout, "origin", property(first_scratch_row))
    sources = [s for s in (random_model(seed, "pcot", 2, steps=1) for seed in range(20)) if s.block > 1]
    assert sum(check_source(s, THEOREM.convert(s), seed=0, engine=engine()) is not None for s in sources) > 3


def first_scratch_row(layout):
    origin = layout.following - layout.block
    return choose(layout.emits, choose(origin < layout.rows, origin, n), n)
