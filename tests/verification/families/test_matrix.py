"""Twenty more regexes, four groups, two large monoids, all kinds, p = 2, 3 and 4: proved for every N, and replayed."""

import json

import pytest

from unmask.checker.families import solver
from unmask.checker.families.check import check
from unmask.pipeline import compile_problem, prove_family
from unmask.verification.families.regular.certificate import certificate_of
from unmask.weights.kinds import KINDS

from .test_prove import REGEXES as OTHERS

REGEXES = [
    "(ab|ba)*", "a(b|c)*d", "(a|b)*aba(a|b)*", "[a-f0-9]{4}", "(a|bb)*c?", "x*y*z*", "((ab)*c)*", "a{3,7}",
    "(a|b)*b(a|b){2}", "\\d+-\\d+", "(abc|cba)+", ".*foo.*", "(?:a[^b]*b)*", "b*a?b*a?b*", "(aaa)*|(aa)*b", "(a*b){3}",
    "[xyz]?w+", "(0|10)*1?", "if|then|else", "(a|b)*(aa|bb)",
]  # fmt: skip
GROUPS = ["group:A5", "group:S5", "group:S3", "group:Z60"]
CYCLE, SWAP, MERGE, FORGET = [1, 2, 3, 0, 4], [1, 0, 2, 3, 4], [0, 0, 2, 3, 4], [4, 1, 2, 3, 4]
MONOIDS = {"all 256 maps of four points": [CYCLE, SWAP, MERGE], "all 625 partial maps": [CYCLE, SWAP, MERGE, FORGET]}


def test_no_regex_is_one_of_the_other_tests():
    assert not {*REGEXES} & {*OTHERS}
    assert len({*REGEXES}) == 20


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [*REGEXES, *GROUPS])
def test_the_matrix(problem, kind, precision):
    found = prove_family(problem, kind, precision=precision)
    assert found.verdict == "proved", found.reason
    models = [compile_problem(problem, kind, length=length, precision=precision) for length in (2, 9)]
    assert "with unsat" in check(certificate_of(found.claim), models, solver.found())[0]


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
