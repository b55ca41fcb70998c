"""A construction that is wrong is refuted by a run of a random source, or unknown; it is never proved."""

from dataclasses import replace

import pytest

from unmask.engines.fast import FastEngine
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.theorems.all_theorems import THEOREMS
from unmask.verification.conversions.prove_conversions import CONVERSION_PROOFS, SAMPLE, prove_every_source

from .sabotage import SABOTAGES, flag, without_columns

QUICK = (
    ("cot_to_pcot", "two rows before"),
    ("cot_to_pcot", "a letter is boosted"),
    ("cot_to_pcot", "a bit too few"),
    ("cot_to_pcot", "the mask's logit is 0"),
    ("mdm_to_smdm", "HIDE once"),
    ("mdm_to_smdm", "the slot beside"),
    ("mdm_to_smdm", "first block off by one"),
    ("mdm_to_smdm", "all masked slots are seen"),
)
OPEN = {"a loud letter", "heads swapped"}
"""Sabotages that random sources may not refute: the prover still reports an open obligation."""


def proved(stem, component, change, sizes=()):
    theorem = next(t for t in THEOREMS if t.stem == stem)

    def programs(source):
        sabotaged_programs = theorem.programs(source)
        change(sabotaged_programs[component])
        return sabotaged_programs

    sabotaged = replace(theorem, programs=programs)
    return prove_every_source(sabotaged, CONVERSION_PROOFS[stem].shape, Precision(2), FastEngine(), sizes=sizes)


def check(stem, name):
    verdict = proved(stem, *SABOTAGES[stem][name])
    assert verdict.verdict == ("unknown" if name in OPEN else "refuted"), verdict.reason
    assert any(o.verdict == "open" for o in verdict.obligations) or verdict.reason
    if verdict.verdict == "refuted":
        wrong = verdict.to_json()["counterexample"]
        assert {"N", "T", "P", "begin", "seed", "word", "expected", "got"} == set(wrong)
        assert wrong["expected"] != wrong["got"]


@pytest.mark.parametrize(("stem", "name"), QUICK)
def test_a_wrong_construction_is_refuted_by_a_run(stem, name):
    check(stem, name)


@pytest.mark.long
@pytest.mark.parametrize(
    ("stem", "name"), sorted({(stem, name) for stem in SABOTAGES for name in SABOTAGES[stem]} - set(QUICK))
)
def test_every_wrong_construction_is_refuted_or_unknown(stem, name):
    check(stem, name)


NOT_NEEDED = {
    # no HIDE follows: a score of -B becomes 0, which has a weight
    "BOOST once": ("cot_to_pcot", "model", lambda program: without_columns(program, "masked")),
    # a row of the first block reads itself, so that it is masked one block back if it is masked
    "no first block": ("mdm_to_smdm", "predictor", lambda program: flag(program, "first block", n < 0)),
}


@pytest.mark.parametrize("name", sorted(NOT_NEEDED))
def test_what_is_not_needed_may_be_left_out(name):
    """The statement is proved of whatever has it, not of one way to write it."""
    stem, component, change = NOT_NEEDED[name]
    assert proved(stem, component, change).verdict == "proved"


def test_what_is_right_but_is_not_what_convert_writes_is_unknown():
    """The folder of a random source has another entry than the program that was proved."""
    verdict = proved(*NOT_NEEDED["no first block"], sizes=SAMPLE[:2])
    assert verdict.verdict == "unknown"
    assert verdict.obligations[-1].method == "comparison"
    assert "row 1 of the positions" in verdict.reason
