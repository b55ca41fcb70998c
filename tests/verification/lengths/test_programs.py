"""Programs for every N: chains, grids and trees are proved; what is wrong is refuted by a folder, or unknown."""

import numpy as np
import pytest

from unmask.api import prove_family, verify_model
from unmask.compilers.compiler import compiler_for
from unmask.compilers.system_compiler import SystemCompiler
from unmask.engines.fast import FastEngine
from unmask.numerics.arithmetic import Precision
from unmask.problems.program_problems import program_problem
from unmask.recurrences import N, Slots, System, indices, letter
from unmask.verification.lengths.prove_lengths import prove_every_length

from .programs_to_prove import PROGRAMS, SABOTAGES, even, triangle, unlisted_when_long

P = Precision(2)
QUICK = (
    "a region off by one",
    "a wrong entry",
    "a step too few in a tree",
    "a step too few after a tree",
    "another guard",
    "wrong from 21 on",
    "wrong at 0 alone",
)


def proved(system, kind="mdm", precision=P, change=lambda family: family, lengths=(7, 20)):
    problem = program_problem(system)
    compiler = compiler_for(problem)
    family = change(compiler.family(kind, precision))
    return prove_every_length(problem, compiler, kind, precision, FastEngine(), family=family, lengths=lengths), family


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_proved_for_every_length(name):
    found, family = proved(PROGRAMS[name]())
    assert found.verdict == "proved", found.reason
    assert {o.verdict for o in found.obligations} == {"proved"}
    assert {o.method for o in found.obligations} >= {"SMT", "closure", "search", "enumeration", "comparison"}
    assert f"from N = {family.least} on" in found.statement


@pytest.mark.parametrize(("kind", "precision"), [("smdm", 3), ("topk", 1), ("topk", 2), ("mdm", 1)])
def test_other_kinds_and_precisions(kind, precision):
    found, _ = proved(PROGRAMS["chain"](), kind, Precision(precision), lengths=())
    assert found.verdict == "proved", found.reason


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk"])
@pytest.mark.parametrize("precision", [1, 2, 3, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kind_and_precision(name, kind, precision):
    found, _ = proved(PROGRAMS[name](), kind, Precision(precision), lengths=())
    assert found.verdict == "proved", found.reason


@pytest.mark.parametrize("truth", [(0.0, 1.0), tuple(np.array([False, True])), tuple(np.arange(3))])
def test_what_equals_a_truth_value_is_one(truth):
    """It has the symbol of a truth value, so that a folder which is proved for every N is not refuted at one N."""
    (i,) = indices("i")
    odd = Slots("odd", i.range(N - 1), truth)
    odd.rule((odd[i - 1].or_else(truth[0]), letter(i)), lambda before, x: truth[int(before != (x == "b"))])
    system = System("ab", odd, answer=odd[N - 2])
    found, family = proved(system, lengths=())
    assert found.verdict == "proved", found.reason
    for length in (family.least, family.least + 1):
        model = family.model_at(length, P)
        for method in ("prove", "exhaustive"):
            assert verify_model(model, against=program_problem(system), method=method).status in ("proved", "held")


def test_no_words_is_a_length_of_its_own():
    """The solver knows no K for N = 0: the folder is proved, and is the family's."""
    found, family = proved(even(), lengths=())
    assert found.verdict == "proved", found.reason
    assert family.least == 0
    assert {"N = 0: the folder", "N = 0: `compile` writes the family's weights"} <= {o.name for o in found.obligations}


def test_a_program_that_has_no_meaning_from_some_length_on_is_unknown():
    found, _ = proved(unlisted_when_long())
    assert found.verdict == "unknown"
    assert "N = 151" in found.reason


def check(name):
    make, kind, change = SABOTAGES[name]
    found, family = proved(make(), kind, change=change, lengths=())
    assert found.verdict == "refuted", found.reason
    assert any(o.verdict == "open" for o in found.obligations)
    if found.counterexample is not None:
        model = family.model_at(found.length, P)
        assert verify_model(model, against=program_problem(make()), method="prove").status == "refuted"


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_family_is_not_proved(name):
    check(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(SABOTAGES) - set(QUICK)))
def test_no_wrong_family_is_proved(name):
    check(name)


def test_what_has_no_program_of_every_length_is_unknown():
    problem = program_problem(triangle())
    found = prove_every_length(problem, compiler_for(problem), "mdm", P, FastEngine())
    assert found.verdict == "unknown"
    assert "a range depends on another index" in found.reason
    found = prove_family("program:examples/programs/rule_110.py", "mdm")
    assert "rewritten in every step" in found.reason
    found = prove_family("program:examples/programs/ends_in_abb.py", "cot")
    assert found.verdict == "unknown"


def test_an_order_that_is_not_found_says_what_to_change():
    """Slot i reads slot i div 2: the step of a slot is the logarithm of its index."""
    (i,) = indices("i")
    path = Slots("path", i.range(N), "ab")
    path.rule((path[i // 2], letter(i)), lambda above, x: x if above == "a" else "a", where=i > 0)
    path.rule(letter(i), lambda x: x)
    found, _ = proved(System("ab", path, answer=path[N - 1]), lengths=())
    assert found.verdict == "unknown"
    assert "Number the slots" in found.reason


@pytest.mark.parametrize("name", ["grid", "cube", "heap"])
def test_where_the_family_fits_its_folder_is_that_of_one_length(name, monkeypatch):
    """A length at which all regions occur: not a weight differs."""
    from unmask.compilers import system_compiler
    from unmask.weights.storage import content_hash

    system, length = PROGRAMS[name](), 7
    once = SystemCompiler(system, {}).compile("mdm", length, P)
    monkeypatch.setattr(system_compiler, "FAMILIES", ())
    alone = SystemCompiler(system, {}).compile("mdm", length, P)
    assert content_hash(once) == content_hash(alone)


def test_a_length_that_the_plan_does_not_fit_is_compiled_by_itself():
    """A region that no length below 13 has: the family is not taken where it would be wrong."""
    from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter, pick

    (i,) = indices("i")
    seen = Slots("seen", i.range(N), BOOLEAN)
    late = pick(i < 20, letter(i), letter(0).map(lambda x: "b" if x == "a" else "a"))
    seen.rule((seen[i - 1].or_else(False), late), lambda before, x: before != (x == "b"))
    system = System("ab", seen, answer=seen[N - 1])
    compiler = SystemCompiler(system, {})
    family = compiler.family("mdm")
    assert family is not None
    model = compiler.compile("mdm", 24, P)
    assert verify_model(model, against=program_problem(system), method="prove").status == "proved"
    found, _ = proved(system, lengths=())
    assert found.verdict == "unknown"
    assert "left out" in found.reason
