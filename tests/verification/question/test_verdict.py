"""Verdicts: what they hold, and what they refuse to be."""

import pytest

from unmask.verification.question.verdict import Verdict


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
