"""topk → mdm by threshold; a fixed k is refused, because it counts."""

import pytest

from unmask.errors import UnmaskError
from unmask.pipeline import compile_problem
from unmask.programs.language.coefficients import ULP
from unmask.testing import random_model
from unmask.theorems import planner_and_predictor_to_topk as fusion
from unmask.theorems import topk_to_mdm as module
from unmask.theorems.checking.conversions import check_source
from unmask.theorems.topk_to_mdm import THEOREM
from unmask.weights.price import Price


def fused(seed, precision):
    """A random planner and predictor in one model: unlike a random topk model, it declines slots."""
    source = random_model(seed, "mdm", seed % 4, precision=precision)
    return fusion.THEOREM.convert(source).model


@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 140), marks=pytest.mark.long)])
@pytest.mark.parametrize("precision", [2, 3])
def test_topk_to_mdm_correct(precision, seeds):
    for seed in seeds:
        source = fused(seed, precision)
        conversion = THEOREM.convert(source)
        assert Price.of(conversion.model).within(THEOREM.bound(source))
        assert check_source(source, conversion, seed=seed) is None


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_random_topk_models_by_threshold(precision):
    found = (random_model(seed, "topk", seed % 4, precision=precision) for seed in range(60))
    sources = [model for model in found if model.k is None or model.k >= model.padding]
    assert len(sources) > 20
    for seed, source in enumerate(sources):
        assert check_source(source, THEOREM.convert(source), seed=seed) is None


def test_a_compiled_model_survives():
    source = compile_problem("(ab)*", "topk", length=6)
    assert check_source(source, THEOREM.convert(source), seed=1, words=20) is None


def test_a_fixed_k_is_refused():
    source = next(m for m in (random_model(s, "topk", 2) for s in range(50)) if m.k is not None and m.k < m.padding)
    with pytest.raises(UnmaskError, match="ranks its slots, and in general no mdm"):
        THEOREM.convert(source)


def test_a_planner_that_never_declines_is_caught(monkeypatch):
    monkeypatch.setattr(module, "ONE", ULP)
    sources = [fused(seed, 2) for seed in range(20)]
    assert any(check_source(m, THEOREM.convert(m), seed=i) for i, m in enumerate(sources))
