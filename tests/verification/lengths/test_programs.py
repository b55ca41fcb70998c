"""Programs for every N: chains, grids and trees are proved; wrong ones are refuted by a model, or unknown."""

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
    result, family = proved(PROGRAMS[name]())
    assert result.verdict == "proved", result.reason
    assert {o.verdict for o in result.obligations} == {"proved"}
    assert {o.method for o in result.obligations} >= {"SMT", "closure", "search", "enumeration", "comparison"}
    assert f"from N = {family.least} on" in result.statement


@pytest.mark.parametrize(("kind", "precision"), [("smdm", 3), ("topk", 1), ("topk", 2), ("mdm", 1)])
def test_other_kinds_and_precisions(kind, precision):
    result, _ = proved(PROGRAMS["chain"](), kind, Precision(precision), lengths=())
    assert result.verdict == "proved", result.reason


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk"])
@pytest.mark.parametrize("precision", [1, 2, 3, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kind_and_precision(name, kind, precision):
    result, _ = proved(PROGRAMS[name](), kind, Precision(precision), lengths=())
    assert result.verdict == "proved", result.reason


@pytest.mark.parametrize("truth", [(0.0, 1.0), tuple(np.array([False, True])), tuple(np.arange(3))])
def test_what_equals_a_truth_value_is_one(truth):
    """Such a value has the symbol of a truth value, so that a model proved for every N is not refuted at one."""
    (i,) = indices("i")
    odd = Slots("odd", i.range(N - 1), truth)
    odd.rule((odd[i - 1].or_else(truth[0]), letter(i)), lambda before, x: truth[int(before != (x == "b"))])
    system = System("ab", odd, answer=odd[N - 2])
    result, family = proved(system, lengths=())
    assert result.verdict == "proved", result.reason
    for length in (family.least, family.least + 1):
        model = family.model_at(length, P)
        for method in ("prove", "exhaustive"):
            assert verify_model(model, against=program_problem(system), method=method).status in ("proved", "held")


def test_no_words_is_a_length_of_its_own():
    """There is no K for N = 0; this model is proved by itself, and is the family's."""
    result, family = proved(even(), lengths=())
    assert result.verdict == "proved", result.reason
    assert family.least == 0
    assert {"N = 0: the folder", "N = 0: `compile` writes the family's weights"} <= {o.name for o in result.obligations}


def test_a_program_that_has_no_meaning_from_some_length_on_is_unknown():
    result, _ = proved(unlisted_when_long())
    assert result.verdict == "unknown"
    assert "N = 151" in result.reason


def check(name):
    make, kind, change = SABOTAGES[name]
    result, family = proved(make(), kind, change=change, lengths=())
    assert result.verdict == "refuted", result.reason
    assert any(o.verdict == "open" for o in result.obligations)
    if result.counterexample is not None:
        model = family.model_at(result.length, P)
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
    result = prove_every_length(problem, compiler_for(problem), "mdm", P, FastEngine())
    assert result.verdict == "unknown"
    assert "a range depends on another index" in result.reason
    result = prove_family("program:examples/programs/rule_110.py", "mdm")
    assert "rewritten in every step" in result.reason
    result = prove_family("program:examples/programs/ends_in_abb.py", "cot")
    assert result.verdict == "unknown"


def test_an_order_that_is_not_found_says_what_to_change():
    """Slot i reads slot i div 2: the step of a slot is the logarithm of its index."""
    (i,) = indices("i")
    path = Slots("path", i.range(N), "ab")
    path.rule((path[i // 2], letter(i)), lambda above, x: x if above == "a" else "a", where=i > 0)
    path.rule(letter(i), lambda x: x)
    result, _ = proved(System("ab", path, answer=path[N - 1]), lengths=())
    assert result.verdict == "unknown"
    assert "Number the slots" in result.reason


@pytest.mark.parametrize("name", ["grid", "cube", "heap"])
def test_where_the_family_fits_its_folder_is_that_of_one_length(name, monkeypatch):
    """No weight differs at a length at which all regions occur."""
    from unmask.compilers import system_compiler
    from unmask.weights.storage import content_hash

    system, length = PROGRAMS[name](), 7
    once = SystemCompiler(system, {}).compile("mdm", length, P)
    monkeypatch.setattr(system_compiler, "FAMILIES", ())
    alone = SystemCompiler(system, {}).compile("mdm", length, P)
    assert content_hash(once) == content_hash(alone)


def test_a_length_that_the_plan_does_not_fit_is_compiled_by_itself():
    """A region that only occurs from N = 13 on: the family is not used where it would be wrong."""
    from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter, pick

    (i,) = indices("i")
    odd = Slots("seen", i.range(N), BOOLEAN)
    late = pick(i < 20, letter(i), letter(0).map(lambda x: "b" if x == "a" else "a"))
    odd.rule((odd[i - 1].or_else(False), late), lambda before, x: before != (x == "b"))
    system = System("ab", odd, answer=odd[N - 1])
    compiler = SystemCompiler(system, {})
    family = compiler.family("mdm")
    assert family is not None
    model = compiler.compile("mdm", 24, P)
    assert verify_model(model, against=program_problem(system), method="prove").status == "proved"
    result, _ = proved(system, lengths=())
    assert result.verdict == "unknown"
    assert "left out" in result.reason
