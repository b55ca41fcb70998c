"""topk → mdm by threshold; a fixed k is refused, because it counts."""

import pytest

from theorems.checking import check_source
from unmask.errors import UnmaskError
from unmask.programs.coefficients import ULP
from unmask.testing import random_model
from unmask.theorems import topk_to_mdm as module
from unmask.theorems.theorem import Price
from unmask.theorems.topk_to_mdm import THEOREM


def sources(precision, count=300):
    """Random topk models by threshold, or with k >= P."""
    found = (random_model(seed, "topk", seed % 4, precision=precision) for seed in range(count))
    return [model for model in found if model.k is None or model.k >= model.padding]


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_topk_to_mdm_correct(precision):
    models = sources(precision, 180)
    assert len(models) >= 100
    for seed, source in enumerate(models):
        conversion = THEOREM.convert(source)
        assert Price.of(conversion.model).within(THEOREM.bound(source))
        assert check_source(source, conversion, seed=seed) is None


def test_a_fixed_k_is_refused():
    source = next(m for m in (random_model(s, "topk", 2) for s in range(50)) if m.k is not None and m.k < m.padding)
    with pytest.raises(UnmaskError, match="ranks its slots, which is counting"):
        THEOREM.convert(source)


def test_a_planner_that_never_declines_is_caught(monkeypatch):
    monkeypatch.setattr(module, "ONE", ULP)
    wrong = [check_source(m, THEOREM.convert(m), seed=i) for i, m in enumerate(sources(2, 100))]
    assert any(wrong)
