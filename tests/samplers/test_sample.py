"""What a run carries: sequences, histories, who was written when."""

import numpy as np
import pytest

from samplers.by_formula import Mixed, confident
from unmask.budget import Budget
from unmask.errors import UnmaskError
from unmask.samplers.passes.sample import Write, masks, sample
from unmask.samplers.rules.fast_dllm import FastDllm
from unmask.samplers.rules.llada import Llada


def test_the_first_history_is_the_initial_canvas():
    predictor = confident(0.5, 0.9, 0.7)
    canvas = masks(predictor, 1, 3)
    found = sample(predictor, Llada(3), canvas)
    assert (found.histories[0] == canvas).all()
    assert (found.histories[-1] == found.sequences).all()
    assert len(found.histories) == 4
    assert found.passes.tolist() == [3]
    assert found.step_map.tolist() == [[3, 1, 2]]
    assert found.writes(0) == [Write(1, 1, 3, 0), Write(2, 2, 3, 0), Write(3, 0, 3, 0)]
    assert found.tokens_per_pass == 1


def test_the_canvas_that_was_given_is_not_changed():
    predictor = confident(0.5, 0.9)
    canvas = masks(predictor, 1, 2)
    sample(predictor, Llada(2), canvas)
    assert (canvas == predictor.mask_id).all()


def test_a_given_slot_has_no_pass():
    predictor = confident(0.5, 0.9)
    found = sample(predictor, Llada(1), np.array([[1, predictor.mask_id]]))
    assert found.sequences.tolist() == [[1, 0]]
    assert found.step_map.tolist() == [[0, 1]]


def test_rows_do_not_depend_on_each_other():
    predictor = Mixed(6, 4, sharpness=1.0)
    sampler = Llada(3, temperature=1.0)
    many = sample(predictor, sampler, masks(predictor, 5, 6), seed=7)
    few = sample(predictor, sampler, masks(predictor, 2, 6), seed=7)
    assert (many.sequences[:2] == few.sequences).all()
    assert (many.sequences != sample(predictor, sampler, masks(predictor, 5, 6), seed=8).sequences).any()


def test_rows_that_are_finished_wait_for_the_others():
    predictor = Mixed(6, 4, sharpness=9.0)
    found = sample(predictor, FastDllm(0.9), masks(predictor, 1, 6))
    half = found.histories[1]
    both = np.concatenate([found.histories[0], half])
    together = sample(predictor, FastDllm(0.9), both)
    assert together.passes.tolist() == [found.passes[0], found.passes[0] - 1]
    assert (together.sequences[0] == found.sequences[0]).all()


@pytest.mark.parametrize("canvas", [np.zeros((0, 3), int), np.zeros(3, int), np.zeros((2, 0), int)])
def test_what_is_no_canvas_is_refused(canvas):
    with pytest.raises(UnmaskError, match="a canvas must have the shape"):
        sample(confident(0.5), Llada(1), canvas)


def test_too_many_canvases_are_refused(monkeypatch):
    predictor = confident(0.5, 0.9)
    with Budget(memory=7) as budget:
        budget._before = None  # what the process itself has grown by is another matter
        with pytest.raises(UnmaskError, match="with 4 canvases of 1 × 2 slots would take about 8 bytes"):
            sample(predictor, Llada(9), masks(predictor, 1, 2))
    monkeypatch.setattr("unmask.samplers.passes.sample.MOST_PASSES", 2)
    with pytest.raises(UnmaskError, match="is not finished after 2 passes"):
        sample(predictor, Llada(9), masks(predictor, 1, 2))


def test_passes_are_counted_beyond_what_a_token_can_be():
    """Canvases are kept in the smallest integers that hold a token; the number of a pass is not one of them."""
    predictor = confident(*np.linspace(0.9, 0.5, 300))
    found = sample(predictor, Llada(300), masks(predictor, 1, 300))
    assert found.histories[0].dtype == np.int8
    assert found.step_map[0].tolist() == list(range(1, 301))
    assert [write.step for write in found.writes(0)] == list(range(1, 301))
