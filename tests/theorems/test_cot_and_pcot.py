"""cot → pcot: the rows before the mask are those of the source."""

import pytest

from theorems.odd_sources import engine
from unmask.api import compile_problem, verify_model
from unmask.expressions import choose, n
from unmask.programs.gadgets.attention import focus
from unmask.programs.program import HeadBuilder
from unmask.testing import random_model
from unmask.theorems import cot_and_pcot as module
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.cot_and_pcot import COT_TO_PCOT, PCOT_TO_COT, PCOT_TO_COT_ANSWER_ONLY


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_cot_to_pcot_correct(precision):
    assert theorem_disagreements(COT_TO_PCOT, range(12), precision=precision) == []


def test_a_mask_row_without_boost_divides_by_zero(monkeypatch):
    monkeypatch.setattr(module, "boost", lambda *_: None)
    disagreements = [_check_cot(seed, length=1, steps=4) for seed in (13, 47, 68, 145)]
    assert any("divides by zero" in str(d.difference) for d in disagreements if d)


def test_reading_the_mask_row_itself_is_caught(monkeypatch):
    monkeypatch.setattr(module.Simulation, "read_out", lambda self, program, _: _read_own(self, program))
    assert any(_check_cot(seed) for seed in range(20))


def _read_own(simulation, program):
    out = simulation.source.out
    program.read_out(out.row, simulation.work[out.column], out.value)


def _check_cot(seed, length=2, steps=3):
    source = random_model(seed, "cot", length, steps=steps)
    return first_disagreement(source, COT_TO_PCOT.convert(source), seed=seed)


# pcot → cot: scratch rows stand for the masks, in twice the steps.


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_pcot_to_cot_correct(precision):
    assert theorem_disagreements(PCOT_TO_COT, range(12), precision=precision) == []


def test_twice_the_steps_and_no_more():
    source = random_model(3, "pcot", 2, steps=3)
    model = PCOT_TO_COT.convert(source).model
    assert model.steps == model.padding == 2 * source.padding


@pytest.mark.parametrize("copies", [0, 1])
def test_one_copy_of_focus_is_not_enough(monkeypatch, copies):
    def with_copies(head, a, b, *, cares, **_):
        focus(head, a, b, cares=cares, copies=copies)

    monkeypatch.setattr(module, "focus", with_copies)
    assert any(_check_pcot(seed) for seed in range(60))


def test_symbols_must_not_see_scratch_rows(monkeypatch):
    real = HeadBuilder.column

    def without_hiding(self, query, key):
        hides = len(query) == 1 and query[0][1] == -module.B
        real(self, [] if hides else query, [] if hides else key)

    monkeypatch.setattr(HeadBuilder, "column", without_hiding)
    assert any(_check_pcot(seed) for seed in range(40))


def _check_pcot(seed):
    source = random_model(seed, "pcot", 2, steps=3)
    return first_disagreement(source, PCOT_TO_COT.convert(source), seed=seed)


# pcot → cot in 2P - P' + 1 steps: of the last block only the answer is written.


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_pcot_to_cot_answer_only_correct(precision):
    assert theorem_disagreements(PCOT_TO_COT_ANSWER_ONLY, range(8), precision=precision, engine=engine()) == []


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3])
def test_many_sources(precision):
    assert theorem_disagreements(PCOT_TO_COT_ANSWER_ONLY, range(8, 300), precision=precision) == []


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_as_many_steps_as_claimed(steps):
    blocks = set()
    for seed in range(6):
        source = random_model(seed, "pcot", 2, steps=steps)
        model = PCOT_TO_COT_ANSWER_ONLY.convert(source).model
        assert model.steps == model.padding == 2 * source.padding - source.block + 1
        assert steps > 1 or model.steps == source.padding + 1
        assert first_disagreement(source, PCOT_TO_COT_ANSWER_ONLY.convert(source), seed=3, engine=engine()) is None
        blocks.add(source.block)
    assert len(blocks) > 1


def test_a_compiled_language_survives():
    source = compile_problem("(a|b)*abb", "pcot", length=4)
    assert verify_model(PCOT_TO_COT_ANSWER_ONLY.convert(source).model, method="exhaustive").status == "held"


def test_the_answer_must_come_from_the_last_scratch_row(monkeypatch):
    """If the first scratch row predicted the answer, as in other blocks, it would be the first symbol of the block."""
    monkeypatch.setattr(module._ScratchLayout, "origin", property(first_scratch_row))
    sources = [s for s in (random_model(seed, "pcot", 2, steps=1) for seed in range(20)) if s.block > 1]
    assert (
        sum(
            first_disagreement(s, PCOT_TO_COT_ANSWER_ONLY.convert(s), seed=0, engine=engine()) is not None
            for s in sources
        )
        > 3
    )


def first_scratch_row(layout):
    origin = layout.following - layout.block
    return choose(layout.emits, choose(origin < layout.rows, origin, n), n)
