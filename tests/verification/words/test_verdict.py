"""Verdicts: their fields, and the combinations that they refuse."""

import pytest

from unmask.verification.verdict import Obligation, ProofRecord, Verdict


def test_a_verdict_has_no_truth_value():
    with pytest.raises(TypeError, match="not true or false"):
        bool(Verdict("held", "sample", 3))


def test_exit_codes_of_what_holds():
    assert Verdict("held", "exhaustive", 4).exit_code == 0
    assert Verdict("proved", "prove", 4, proof={"by": "cases"}).exit_code == 0


def test_exit_codes_of_what_does_not():
    assert Verdict("refuted", "sample", 4, counterexample="a").exit_code == 1
    assert Verdict("unknown", "sample", 0, reason="too many").exit_code == 2


def test_what_a_verdict_needs():
    with pytest.raises(ValueError, match="if and only if it has a counterexample"):
        Verdict("refuted", "sample", 1)
    with pytest.raises(ValueError, match="if and only if it has a counterexample"):
        Verdict("held", "sample", 1, counterexample="a")
    for status, proof in (("proved", None), ("held", {"by": "hope"})):
        with pytest.raises(ValueError, match="if and only if it has a proof"):
            Verdict(status, "prove", 1, proof=proof)
    with pytest.raises(ValueError, match="gives its reason"):
        Verdict("unknown", "sample", 1)


def test_an_empty_word_is_a_counterexample():
    assert Verdict("refuted", "exhaustive", 1, counterexample="").to_json()["counterexample"] == ""


def test_the_document():
    assert Verdict("refuted", "sample", 7, counterexample="ab", expected="accepted", got="rejected").to_json() == {
        "verdict": "refuted",
        "method": "sample",
        "cases": 7,
        "counterexample": "ab",
        "expected": "accepted",
        "got": "rejected",
    }
    assert Verdict("held", "sample", 7).to_json() == {
        "verdict": "held",
        "method": "sample",
        "cases": 7,
        "counterexample": None,
    }


def test_a_verdict_about_every_length_has_its_record():
    record = ProofRecord("For every N", (Obligation("layout", "SMT", "proved", 0.0),), (3,), (99,), ("Python",))
    verdict = Verdict.of_record("proved", record)
    assert (verdict.status, verdict.verdict, verdict.cases, verdict.exit_code) == ("proved", "proved", 1, 0)
    assert verdict.to_json() == {
        "verdict": "proved",
        "statement": "For every N",
        "obligations": [{"name": "layout", "method": "SMT", "seconds": 0.0, "verdict": "proved"}],
        "counterexample": None,
        "compared": [3],
        "not_compared": [99],
        "trusted": ["Python"],
    }
    assert list(verdict.files()) == [".json"]


def test_a_refutation_for_every_length_may_be_about_a_bound_instead_of_a_word():
    verdict = Verdict.of_record("refuted", ProofRecord("s"), length=4, expected="1 step", got="2 steps")
    assert verdict.exit_code == 1
    assert verdict.to_json()["counterexample"] == {"N": 4, "word": None, "expected": "1 step", "got": "2 steps"}
    with pytest.raises(ValueError, match="counterexample"):
        Verdict.of_record("refuted", ProofRecord("s"))
