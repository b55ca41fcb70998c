"""MDM[cT, P] ⊆ MDM[T, P]: c steps in one pass, the whole state after every step."""

import pytest

from unmask.api import compile_problem, convert_model, verify_model
from unmask.errors import UnmaskError
from unmask.testing import random_model
from unmask.theorems import mdm_speed_up as module
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.mdm_speed_up import speed_up_by


@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("factor", [2, 3])
def test_mdm_speed_up_correct(factor, precision):
    """Random sources have 2 to 4 steps: for both factors some are multiples and some are not."""
    assert theorem_disagreements(speed_up_by(factor), range(10), precision=precision) == []


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 6, 7])
def test_every_remainder(steps):
    for seed in range(3):
        source = random_model(seed, "mdm", 2, steps=steps)
        for factor in (2, 3, 4):
            conversion = speed_up_by(factor).convert(source)
            assert conversion.model.steps == -(-steps // factor)
            assert conversion.model.padding == source.padding
            assert first_disagreement(source, conversion, seed=seed) is None


def test_a_first_pass_that_leaves_no_step_out_is_caught(monkeypatch):
    """With a step too many, some of the random sources end in another state."""
    unrolled = module._unrolled
    monkeypatch.setattr(module, "_unrolled", lambda source, c, _, outputs: unrolled(source, c, 0, outputs))
    sources = [random_model(seed, "mdm", 2, steps=3) for seed in range(12)]
    wrong = [first_disagreement(s, speed_up_by(2).convert(s), seed=i) is not None for i, s in enumerate(sources)]
    assert sum(wrong) > 3


def test_a_compiled_model_is_still_proved():
    source = compile_problem("(a|b)*abb", "mdm", length=5)
    ((theorem, conversion),) = convert_model(source, "mdm", by="mdm_speed_up:3")
    assert (source.steps, conversion.model.steps) == (3, 1)
    assert theorem.label == "own:mdm-speed-up*"
    assert verify_model(conversion.model, method="exhaustive").status != "refuted"


def test_refusals():
    source = compile_problem("(a|b)*abb", "mdm", length=4)
    with pytest.raises(UnmaskError, match="1 … 16 steps per pass, not 0"):
        list(convert_model(source, "mdm", by="mdm_speed_up:0"))
    with pytest.raises(UnmaskError, match="unknown conversion"):
        list(convert_model(source, "mdm", by="mdm_speed_up:x"))
