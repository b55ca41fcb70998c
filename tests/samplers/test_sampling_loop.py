"""What a run carries: sequences, histories, who was written when."""

import warnings
from dataclasses import fields

import numpy as np
import pytest

from samplers.by_formula import Mixed, confident
from unmask.errors import UnmaskError
from unmask.limits import Budget
from unmask.samplers.rule_interface import LARGEST_NUMBER, SMALLEST_NUMBER, SamplerError
from unmask.samplers.sampler_names import NOT_TYPED, PLANNED, RULES, parse_sampler
from unmask.samplers.sampling_loop import Write, masks, sample
from unmask.samplers.write_once_rules import FastDllm, Llada


def test_the_first_history_is_the_initial_canvas():
    predictor = confident(0.5, 0.9, 0.7)
    canvas = masks(predictor, 1, 3)
    sampled = sample(predictor, Llada(3), canvas)
    assert (sampled.histories[0] == canvas).all()
    assert (sampled.histories[-1] == sampled.sequences).all()
    assert len(sampled.histories) == 4
    assert sampled.passes.tolist() == [3]
    assert sampled.step_map.tolist() == [[3, 1, 2]]
    assert sampled.writes(0) == [Write(1, 1, 3, 0), Write(2, 2, 3, 0), Write(3, 0, 3, 0)]
    assert sampled.tokens_per_pass == 1


def test_the_canvas_that_was_given_is_not_changed():
    predictor = confident(0.5, 0.9)
    canvas = masks(predictor, 1, 2)
    sample(predictor, Llada(2), canvas)
    assert (canvas == predictor.mask_id).all()


def test_a_given_slot_has_no_pass():
    predictor = confident(0.5, 0.9)
    sampled = sample(predictor, Llada(1), np.array([[1, predictor.mask_id]]))
    assert sampled.sequences.tolist() == [[1, 0]]
    assert sampled.step_map.tolist() == [[0, 1]]


def test_rows_do_not_depend_on_each_other():
    predictor = Mixed(6, 4, sharpness=1.0)
    sampler = Llada(3, temperature=1.0)
    many = sample(predictor, sampler, masks(predictor, 5, 6), seed=7)
    few = sample(predictor, sampler, masks(predictor, 2, 6), seed=7)
    assert (many.sequences[:2] == few.sequences).all()
    assert (many.sequences != sample(predictor, sampler, masks(predictor, 5, 6), seed=8).sequences).any()


def test_rows_that_are_finished_wait_for_the_others():
    predictor = Mixed(6, 4, sharpness=9.0)
    sampled = sample(predictor, FastDllm(0.9), masks(predictor, 1, 6))
    half = sampled.histories[1]
    both = np.concatenate([sampled.histories[0], half])
    together = sample(predictor, FastDllm(0.9), both)
    assert together.passes.tolist() == [sampled.passes[0], sampled.passes[0] - 1]
    assert (together.sequences[0] == sampled.sequences[0]).all()


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
    monkeypatch.setattr("unmask.samplers.sampling_loop.MOST_PASSES", 2)
    with pytest.raises(UnmaskError, match="is not finished after 2 passes"):
        sample(predictor, Llada(9), masks(predictor, 1, 2))


def test_passes_are_counted_beyond_what_a_token_can_be():
    """Canvases are kept in the smallest integers that hold a token; the number of a pass is not one of them."""
    predictor = confident(*np.linspace(0.9, 0.5, 300))
    sampled = sample(predictor, Llada(300), masks(predictor, 1, 300))
    assert sampled.histories[0].dtype == np.int8
    assert sampled.step_map[0].tolist() == list(range(1, 301))
    assert [write.step for write in sampled.writes(0)] == list(range(1, 301))


# Every parameter of every sampler has a range: outside it is refused, and inside it nothing overflows.


BAD = ["1e400", "inf", "-inf", "nan", "-1", "-1e400", "5e-324", "1e-320", "1e308", "1e-7", "1e7", "-0.1"]
BAD += ["", "x", "True", "None", "1_0e9", "0x10", "½", "1e", "9" * 30, "9" * 400, "\x1b[2J"]
PARAMETERS = [
    (name, field.name, "float" in str(field.type))
    for name, rule in RULES.items()
    for field in fields(rule)
    if name != PLANNED and field.name not in NOT_TYPED and "str" not in str(field.type)
]


def named(name, parameter, value):
    needed = "threshold=0.5," if name == "fast-dllm" and parameter not in ("threshold", "factor") else ""
    return f"{name}:{needed}{parameter}={value}"


@pytest.mark.parametrize(("name", "parameter", "is_float"), PARAMETERS)
@pytest.mark.parametrize("value", BAD)
def test_what_is_out_of_range_is_refused(name, parameter, is_float, value):
    del is_float
    with pytest.raises(SamplerError, match=f"^{parameter} of {name} must be"):
        parse_sampler(named(name, parameter, value))


@pytest.mark.parametrize("value", ["1e400", "inf", "5e-324"])
def test_the_command_says_so_once(value, unmask):
    code, out, err = unmask("samplers", "a*b", "--length", 3, "--sampler", f"llada:temperature={value}")
    assert (code, out) == (2, "")
    assert err.startswith("unmask: temperature of llada must be 0 or a number from 0.000001 to 1,000,000, not ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("name", "parameter", "is_float"), PARAMETERS)
def test_the_ends_of_a_range_run_without_a_warning(name, parameter, is_float, unmask):
    least, most = (SMALLEST_NUMBER, LARGEST_NUMBER) if is_float else (1, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (0, least, most) if is_float else (least, most):
            if (is_float and value == most and parameter in ("eps", "threshold")) or (name, parameter) == (
                "remdm",
                "eta",
            ):
                value = min(value, 0.5)
            if parameter == "gen_length":
                value = 2
            for more in ("", ",alg=entropy,temperature=1e6", ",alg=maskgit_plus,temperature=1e-6"):
                if (more and name != "dream") or f"{parameter}=" in more:
                    continue
                sampler = named(name, parameter, value) + more
                code, _, err = unmask("samplers", "a*b", "--length", 3, "--words", 2, "--sampler", sampler)
                assert (code, err) == (0, ""), sampler
