"""Proofs for every N of regular languages, and the verdicts on problems that have none."""

import json
from dataclasses import replace

import pytest

from unmask.api import compile_problem, prove_family, verify_model
from unmask.checker import family_positions
from unmask.checker.families import check
from unmask.compilers.compiler import compiler_for
from unmask.engines.fast import FastEngine
from unmask.expressions import N, log2_above
from unmask.limits import Budget
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import parse_problem
from unmask.verification.lengths.family_certificate import certificate_of
from unmask.verification.lengths.prove_lengths import prove_every_length
from unmask.weights.kinds import KINDS

from .wrong_families import SABOTAGES

REGEXES = [
    "(a|b)*abb", "a.*b|c+", "", "a*", "(ab)*", "(a|b|c)*abc(a|b|c)*", "[0-9]+(\\.[0-9]+)?", "x", "(a|b){2,5}",
    "(aa|b)*", "[^a]*", "a?b?c?d?", "((a|b)(a|b))*", "(a|b)*a(a|b){3}", "\\w+@\\w+", "(?i)hello", "a+b+c+",
    "b*(ab*ab*)*", "(0|1(01*0)*1)*", "h(a|e)llo",
]  # fmt: skip
GROUPS = ["group:A5", "group:S5", "group:Z12", "group:D4"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_regex_is_proved_for_every_length(kind):
    result = prove_family("(a|b)*abb", kind)
    assert result.verdict == "proved", result.reason
    assert {o.verdict for o in result.obligations} == {"proved"}
    assert {o.method for o in result.obligations} >= {"SMT", "closure", "prover of folders", "comparison"}
    assert result.counterexample is None
    assert "N >= 0" in result.statement


@pytest.mark.parametrize("precision", [3, 4])
def test_other_precisions(precision):
    assert prove_family("group:S3", "plt", precision=precision).verdict == "proved"


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [*REGEXES, *GROUPS])
def test_many_languages(problem, kind, precision):
    result = prove_family(problem, kind, precision=precision)
    assert result.verdict == "proved", result.reason


def test_a_monoid_without_a_family_is_unknown():
    result = prove_family("((a|b)*a(a|b){4}b(a|b)*c)*", "mdm")
    assert (result.verdict, result.obligations) == ("unknown", ())
    assert "1,024" in result.reason


def test_what_is_not_a_regular_language_is_unknown():
    result = prove_family("expr:(a+b)*c", "mdm")
    assert result.verdict == "unknown"
    assert "regular" in result.reason


def test_when_the_time_is_over_nothing_is_proved():
    with Budget(seconds=0):
        result = prove_family("(a|b)*abb", "mdm")
    assert result.verdict == "unknown"


# Twenty more regexes, four groups, two large monoids, all kinds, p = 2, 3 and 4: proved for every N, and replayed.


REPLAYED_REGEXES = [
    "(ab|ba)*", "a(b|c)*d", "(a|b)*aba(a|b)*", "[a-f0-9]{4}", "(a|bb)*c?", "x*y*z*", "((ab)*c)*", "a{3,7}",
    "(a|b)*b(a|b){2}", "\\d+-\\d+", "(abc|cba)+", ".*foo.*", "(?:a[^b]*b)*", "b*a?b*a?b*", "(aaa)*|(aa)*b", "(a*b){3}",
    "[xyz]?w+", "(0|10)*1?", "if|then|else", "(a|b)*(aa|bb)",
]  # fmt: skip
REPLAYED_GROUPS = ["group:A5", "group:S5", "group:S3", "group:Z60"]
CYCLE, SWAP, MERGE, FORGET = [1, 2, 3, 0, 4], [1, 0, 2, 3, 4], [0, 0, 2, 3, 4], [4, 1, 2, 3, 4]
MONOIDS = {"all 256 maps of four points": [CYCLE, SWAP, MERGE], "all 625 partial maps": [CYCLE, SWAP, MERGE, FORGET]}


def test_no_regex_is_one_of_the_other_tests():
    assert not {*REPLAYED_REGEXES} & {*REGEXES}
    assert len({*REPLAYED_REGEXES}) == 20


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [*REPLAYED_REGEXES, *REPLAYED_GROUPS])
def test_the_matrix(problem, kind, precision):
    result = prove_family(problem, kind, precision=precision)
    assert result.verdict == "proved", result.reason
    models = [compile_problem(problem, kind, length=length, precision=precision) for length in (2, 9)]
    assert "with unsat" in check(certificate_of(result.certificate.claim), models, family_positions.solver_named())[0]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("monoid", sorted(MONOIDS))
def test_large_monoids(monoid, kind, tmp_path):
    letters = dict(zip("abcd", MONOIDS[monoid], strict=False))
    states = [str(q) for q in range(5)]
    moves = {q: {letter: str(image[int(q)]) for letter, image in letters.items()} for q in states}
    document = {"alphabet": [*letters], "states": states, "start": "0", "accepting": ["0"], "transitions": moves}
    (tmp_path / "dfa.json").write_text(json.dumps(document))
    assert prove_family(f"dfa:{tmp_path / 'dfa.json'}", kind).verdict == "proved"


# A family that is wrong is refuted at some N, by a folder, or unknown; it is never proved.


P = Precision(2)
QUICK = ("one HIDE", "a bit too few", "the next child", "last step off by one", "one wrong product, plt")
OPEN = {"a loud letter"}
"""Faults that no model of small N may show; the proof still fails."""


def proved(kind, change, problem="(a|b)*abb"):
    parsed = parse_problem(problem)
    compiler = compiler_for(parsed)
    family = change(compiler_for(parsed).family(kind))
    return prove_every_length(parsed, compiler, kind, P, FastEngine(), family=family, lengths=()), family


def check_wrong_family(name):
    kind, program_name, change = SABOTAGES[name]

    def sabotaged(family):
        change(family.design.programs[program_name])
        return family

    result, family = proved(kind, sabotaged)
    assert result.verdict in (("refuted", "unknown") if name in OPEN else ("refuted",))
    assert any(o.verdict == "open" for o in result.obligations) or result.reason
    if result.verdict == "refuted":
        model = family.model_at(result.length, P)
        assert verify_model(model, against="(a|b)*abb", method="prove").status == "refuted"
        assert len(result.counterexample) == result.length


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_family_is_refuted_by_a_folder(name):
    check_wrong_family(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(SABOTAGES) - set(QUICK)))
def test_every_wrong_family_is_refuted_or_unknown(name):
    check_wrong_family(name)


@pytest.mark.parametrize("steps", [2 * log2_above(N), log2_above(N) - 1])
def test_other_steps_are_not_the_statement(steps):
    result, _ = proved("mdm", lambda family: replace(family, design=replace(family.design, steps=steps)))
    assert result.verdict == "refuted"
    assert result.length >= 2


@pytest.mark.long
def test_a_family_of_another_problem_is_refuted():
    result, _ = proved("mdm", lambda _: compiler_for(parse_problem("(a|b)*ab")).family("mdm"))
    assert result.verdict == "refuted"
    assert result.counterexample is not None
