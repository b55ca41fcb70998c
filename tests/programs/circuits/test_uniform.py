"""Families as recurrences in N: every word of the short lengths, by both engines, against the family's own oracle."""

from itertools import product

import numpy as np
import pytest

from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.precision import Precision
from unmask.problems.circuits.families import FAMILIES
from unmask.problems.family import FamilyProblem
from unmask.programs.circuits.uniform import UNIFORM, least_length
from unmask.programs.compilers.circuits import FamilyCompiler
from unmask.reasoners.run import answers

ENGINES = pytest.mark.parametrize("engine", [FastEngine(), ReferenceEngine()], ids=["fast", "reference"])


@ENGINES
@pytest.mark.parametrize("family", UNIFORM)
@pytest.mark.parametrize(("kind", "p"), [("mdm", 1), ("mdm", 2), ("smdm", 3)])
def test_every_short_word(family, kind, p, engine):
    compiler = FamilyCompiler(FamilyProblem(family))
    for length in range(1, least_length(family) + 4):
        model = compiler.compile(kind, length, Precision(p))
        words = np.array(list(product((0, 1), repeat=length)))
        found = answers(model, words, engine=engine).slots[:, -1] == model.token[model.accept]
        right = [bool(FAMILIES[family].right(word)[0]) for word in words.tolist()]
        assert found.tolist() == right
        assert (model.steps, model.padding) == compiler.bound(kind, length)


@ENGINES
@pytest.mark.parametrize(("kind", "p"), [("mdm", 1), ("mdm", 2), ("smdm", 3)])
def test_every_short_sum(kind, p, engine):
    compiler = FamilyCompiler(FamilyProblem("addition"))
    for length in (2, 4, 6, 8):
        model = compiler.compile(kind, length, Precision(p))
        words = np.array(list(product((0, 1), repeat=length)))
        slots = answers(model, words, engine=engine).slots[:, -(length // 2 + 1) :]
        assert np.isin(slots, [model.token[model.accept], model.token[model.reject]]).all()
        right = [[bool(bit) for bit in FAMILIES["addition"].right(word)] for word in words.tolist()]
        assert (slots == model.token[model.accept]).tolist() == right
        assert (model.steps, model.padding) == compiler.bound(kind, length)


@pytest.mark.parametrize("family", UNIFORM)
def test_the_recurrence_serves_all_lengths_but_the_shortest(family):
    compiler = FamilyCompiler(FamilyProblem(family))
    least = least_length(family)
    assert compiler.family_of("mdm", Precision(2)).least == least
    assert compiler.at("mdm", least) is compiler.uniform
    assert compiler.at("plt", least) is not compiler.uniform
