"""The checks of the counterexample and of the lower bound for chains can fail."""

import pytest

from unmask.paper.checks import own_result_checks, space_checks, theorem_checks
from unmask.paper.checks.evidence import Effort, Refuted
from unmask.theorems.cot_to_ac0 import cot_to_ac0

FEW = Effort(6)


def test_a_machine_with_another_table_is_refuted(monkeypatch):
    monkeypatch.setitem(space_checks.MOVES, ("home", "<"), ("<", "home", 0))
    monkeypatch.setattr(space_checks, "machine_steps", lambda _: 4)
    with pytest.raises(Refuted, match="the answer is 0"):
        space_checks.machine_in_slots(FEW)


def test_a_wrong_period_is_refuted(monkeypatch):
    real = space_checks._cycle
    monkeypatch.setattr(space_checks, "_cycle", lambda model, word: (0, real(model, word)[1] + 1))
    with pytest.raises(Refuted, match="loops answer otherwise"):
        space_checks.periodic_loops(Effort(100))


def test_a_circuit_of_another_number_of_steps_is_refuted(monkeypatch):
    monkeypatch.setattr(own_result_checks, "cot_to_ac0", lambda model, **_: cot_to_ac0(model, steps=1))
    with pytest.raises(Refuted, match="the circuit says"):
        own_result_checks.depth_without_steps(Effort(30))


def test_a_circuit_that_grows_with_the_steps_is_refuted(monkeypatch):
    monkeypatch.setattr(own_result_checks, "depth_bound", lambda _: 10)
    with pytest.raises(Refuted, match=r"\d+ deep"):
        own_result_checks.depth_without_steps(Effort(30))


def test_a_conversion_with_more_slots_is_refuted(monkeypatch):
    """The default conversion has one slot more than the packed one."""
    real = theorem_checks.theorem_with_stem
    monkeypatch.setattr(theorem_checks, "theorem_with_stem", lambda _: real("plt_to_mdm"))
    with pytest.raises(Refuted, match="slots instead of"):
        theorem_checks.exact_slots(FEW)
