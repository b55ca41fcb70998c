"""Every theorem on many more random sources than its own file takes."""

import pytest

from unmask.theorems.catalogue import THEOREMS, VARIANTS
from unmask.theorems.checking.conversions import check_theorem

from .odd_sources import odd_sources, wrong

ON_THEIR_OWN = ("topk_to_mdm", "mdm_to_pcot_padded")  # not for any source at random, or from another word
ALL = [pytest.param(t, id=t.stem) for t in (*THEOREMS, *VARIANTS) if t.stem not in ON_THEIR_OWN]
ODD = ("mdm_to_pcot", "mdm_to_fixed_k", "mdm_to_smdm", "planner_and_predictor_to_topk")


@pytest.mark.long
@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("theorem", ALL)
def test_every_theorem_on_many_sources(theorem, precision):
    assert check_theorem(theorem, range(24, 140), precision=precision) == []


@pytest.mark.long
@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("theorem", [param for param in ALL if param.id in ODD])
def test_many_odd_sources(theorem, precision):
    assert wrong(theorem.convert, odd_sources(precision, range(6, 24))) == 0
