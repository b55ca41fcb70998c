"""A family that is wrong is refuted at some N, by a folder, or unknown; it is never proved."""

from dataclasses import replace

import pytest

from unmask.engines.fast import FastEngine
from unmask.numerics.precision import Precision
from unmask.pipeline import verify_model
from unmask.problems.catalogue import parse_problem
from unmask.programs.compilers.compiler import compiler_for
from unmask.programs.language.positions import N, log2_above
from unmask.verification.families.prove import prove_every_length

from .sabotage import SABOTAGES

P = Precision(2)
QUICK = ("one HIDE", "a bit too few", "the next child", "last step off by one", "one wrong product, plt")
OPEN = {"a loud letter"}
"""What a folder of small N may survive: the prover still sees that something is not shown."""


def proved(kind, change, problem="(a|b)*abb"):
    given = parse_problem(problem)
    compiler = compiler_for(given)
    family = change(compiler_for(given).family(kind))
    return prove_every_length(given, compiler, kind, P, FastEngine(), family=family, lengths=()), family


def check(name):
    kind, part, change = SABOTAGES[name]

    def sabotaged(family):
        change(family.design.programs[part])
        return family

    found, family = proved(kind, sabotaged)
    assert found.verdict in (("refuted", "unknown") if name in OPEN else ("refuted",))
    assert any(o.verdict == "open" for o in found.obligations) or found.reason
    if found.verdict == "refuted":
        wrong = found.counterexample
        model = family.model_at(wrong.length, P)
        assert verify_model(model, against="(a|b)*abb", method="prove").status == "refuted"
        assert len(wrong.word) == wrong.length


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_family_is_refuted_by_a_folder(name):
    check(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(SABOTAGES) - set(QUICK)))
def test_every_wrong_family_is_refuted_or_unknown(name):
    check(name)


@pytest.mark.parametrize("steps", [2 * log2_above(N), log2_above(N) - 1])
def test_other_steps_are_not_the_statement(steps):
    found, _ = proved("mdm", lambda family: replace(family, design=replace(family.design, steps=steps)))
    assert found.verdict == "refuted"
    assert found.counterexample.length >= 2


@pytest.mark.long
def test_a_family_of_another_problem_is_refuted():
    found, _ = proved("mdm", lambda _: compiler_for(parse_problem("(a|b)*ab")).family("mdm"))
    assert found.verdict == "refuted"
    assert found.counterexample.word is not None
