"""A construction that is wrong is refuted by a run of a random source, or unknown; it is never proved."""

from dataclasses import replace

import pytest

from unmask.engines.fast import FastEngine
from unmask.numerics.precision import Precision
from unmask.theorems.catalogue import THEOREMS
from unmask.verification.conversions.prove import PROVERS, prove_every_source

from .sabotage import COT_TO_PCOT, without_columns

OPEN = {"a loud letter", "heads swapped"}
"""What runs of random sources may survive: the prover still sees that something is not shown."""


def proved(stem, change, part):
    theorem = next(t for t in THEOREMS if t.stem == stem)

    def programs(source):
        made = theorem.programs(source)
        change(made[part])
        return made

    sabotaged = replace(theorem, programs=programs)
    return prove_every_source(sabotaged, PROVERS[stem].shape, Precision(2), FastEngine(), sizes=())


def check(stem, name, change, part):
    found = proved(stem, change, part)
    assert found.verdict == ("unknown" if name in OPEN else "refuted"), found.reason
    assert any(o.verdict == "open" for o in found.obligations) or found.reason
    if found.verdict == "refuted":
        wrong = found.counterexample.to_json()
        assert {"N", "T", "P", "begin", "seed", "word", "expected", "got"} == set(wrong)
        assert wrong["expected"] != wrong["got"]


@pytest.mark.parametrize("name", sorted(set(COT_TO_PCOT) - OPEN - {"no BOOST"}))
def test_a_wrong_cot_to_pcot_is_refuted_by_a_run(name):
    check("cot_to_pcot", name, COT_TO_PCOT[name], "model")


@pytest.mark.long
@pytest.mark.parametrize("name", [*sorted(OPEN), "no BOOST"])
def test_what_takes_long_to_refute(name):
    check("cot_to_pcot", name, COT_TO_PCOT[name], "model")


def test_what_is_not_needed_may_be_left_out():
    """After BOOST there is no HIDE: a score of -B becomes 0, which has a weight."""
    assert proved("cot_to_pcot", lambda program: without_columns(program, "masked"), "model").verdict == "proved"
