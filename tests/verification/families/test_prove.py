"""Proved for every N: which families, and what is said of those that are not reached."""

import pytest

from unmask.budget import Budget
from unmask.pipeline import prove_family
from unmask.weights.kinds import KINDS

REGEXES = [
    "(a|b)*abb", "a.*b|c+", "", "a*", "(ab)*", "(a|b|c)*abc(a|b|c)*", "[0-9]+(\\.[0-9]+)?", "x", "(a|b){2,5}",
    "(aa|b)*", "[^a]*", "a?b?c?d?", "((a|b)(a|b))*", "(a|b)*a(a|b){3}", "\\w+@\\w+", "(?i)hello", "a+b+c+",
    "b*(ab*ab*)*", "(0|1(01*0)*1)*", "h(a|e)llo",
]  # fmt: skip
GROUPS = ["group:A5", "group:S5", "group:Z12", "group:D4"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_regex_is_proved_for_every_length(kind):
    found = prove_family("(a|b)*abb", kind)
    assert found.verdict == "proved", found.reason
    assert {o.verdict for o in found.obligations} == {"proved"}
    assert {o.method for o in found.obligations} >= {"SMT", "closure", "prover of folders", "comparison"}
    assert found.counterexample is None
    assert "N >= 0" in found.statement


@pytest.mark.parametrize("precision", [3, 4])
def test_other_precisions(precision):
    assert prove_family("group:S3", "plt", precision=precision).verdict == "proved"


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [*REGEXES, *GROUPS])
def test_many_languages(problem, kind, precision):
    found = prove_family(problem, kind, precision=precision)
    assert found.verdict == "proved", found.reason


def test_a_monoid_without_a_family_is_unknown():
    found = prove_family("((a|b)*a(a|b){4}b(a|b)*c)*", "mdm")
    assert (found.verdict, found.obligations) == ("unknown", ())
    assert "1,024" in found.reason


def test_what_is_no_regular_language_is_unknown():
    found = prove_family("expr:(a+b)*c", "mdm")
    assert found.verdict == "unknown"
    assert "regular" in found.reason


def test_when_the_time_is_over_nothing_is_proved():
    with Budget(seconds=0):
        found = prove_family("(a|b)*abb", "mdm")
    assert found.verdict == "unknown"
