"""mdm → plt: same state after every loop, same path under one tape."""

import pytest

from unmask.programs.gadgets.attention import clear
from unmask.testing import random_model
from unmask.theorems import mdm_to_plt as module
from unmask.theorems.conversion_checks import first_disagreement, theorem_disagreements
from unmask.theorems.mdm_to_plt import MDM_TO_PLT


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_mdm_to_plt_correct(precision):
    assert theorem_disagreements(MDM_TO_PLT, range(12), precision=precision) == []


@pytest.mark.parametrize("precision", [2, 3])
def test_the_same_tape_gives_the_same_path(precision):
    assert theorem_disagreements(MDM_TO_PLT, range(100, 120), precision=precision, sampled=True) == []


def test_a_loop_that_does_not_clear_is_caught(monkeypatch):
    monkeypatch.setattr(module, "clear", lambda head, *registers: clear(head, *registers[:1]))
    wrong = 0
    for seed in range(20):
        source = random_model(seed, "mdm", 2, steps=3)
        wrong += first_disagreement(source, MDM_TO_PLT.convert(source), seed=seed) is not None
    assert wrong > 5
