"""Proofs for every source of a shape, every N and T: which conversions are proved, and the message for the others."""

import json

import numpy as np
import pytest

from theorems.odd_sources import with_attention
from unmask.api import prove_conversion, save_model
from unmask.errors import ProblemError
from unmask.limits import Budget
from unmask.testing import random_model
from unmask.verification.conversions.prove_conversions import CONVERSION_PROOFS
from unmask.verification.conversions.unknown_source import SourceWeight


@pytest.mark.parametrize("precision", [1, 2, 3, 4])
@pytest.mark.parametrize("stem", sorted(CONVERSION_PROOFS))
def test_a_conversion_is_proved(stem, precision):
    verdict = prove_conversion(stem, precision=precision)
    assert verdict.verdict == "proved", verdict.reason
    assert {o.verdict for o in verdict.obligations} == {"proved"}
    assert {o.method for o in verdict.obligations} >= {"SMT", "closure", "enumeration of all scores", "comparison"}
    assert "For every N >= 0" in verdict.statement
    assert f"F_{precision}" in verdict.statement


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stem", sorted(CONVERSION_PROOFS))
def test_other_shapes(stem, seed):
    kind = stem.split("_")[0]
    source = random_model(seed, kind, 2, layers=1 + seed % 3, width=1 + seed)
    alike = len({t.attention for t in source.transformers.values()}) == 1
    verdict = prove_conversion(stem, like=source)
    assert verdict.verdict == ("proved" if alike else "unknown"), verdict.reason


def test_a_causal_source_has_a_row_to_see():
    source = with_attention(random_model(0, "mdm", 2), "causal", "causal")
    verdict = prove_conversion("mdm_to_smdm", like=source, lengths=(0, 7))
    assert verdict.verdict == "proved", verdict.reason
    assert "N + begin >= 1" in verdict.statement


def test_what_is_not_reached_is_unknown():
    verdict = prove_conversion("plt_to_mdm")
    assert (verdict.verdict, verdict.obligations) == ("unknown", ())
    with Budget(seconds=0):
        assert prove_conversion("cot_to_pcot").verdict == "unknown"


def test_what_is_not_a_question_is_an_error():
    for arguments, sentence in (
        ({"stem": "abb"}, "unknown theorem"),
        ({"stem": "cot_to_pcot", "kind": "mdm"}, "to a pcot"),
        ({"stem": "cot_to_pcot", "precision": 9}, "1 … 8"),
        ({"stem": "cot_to_pcot", "like": random_model(0, "mdm", 1)}, "takes a cot"),
    ):
        with pytest.raises(ProblemError, match=sentence):
            prove_conversion(**arguments)


def test_the_name_of_a_weight_cannot_be_computed_with():
    weight = np.array([SourceWeight("model", "out", 0, 0)], dtype=object)
    for look in (lambda: weight + 1, lambda: weight != 0, lambda: bool(weight[0]), lambda: np.clip(weight, -1, 1)):
        with pytest.raises(TypeError):
            look()


def test_the_command(unmask, tmp_path):
    save_model(random_model(3, "cot", 2), tmp_path / "cot")
    page = tmp_path / "report.md"
    code, out, _ = unmask(
        "prove", "theorem:cot_to_pcot", "--every-length", "--like", str(tmp_path / "cot"), "--check-length", "19",
        "--out", str(page), "--json",
    )  # fmt: skip
    document = json.loads(out)
    assert (code, document["verdict"], document["counterexample"]) == (0, "proved", None)
    fields = {"verdict", "statement", "obligations", "counterexample", "seconds"}
    assert set(document) == fields | {"compared", "not_compared", "trusted"}
    assert any(o["name"].startswith("N = 19, ") for o in document["obligations"])
    assert "every source" in page.read_text()
    for arguments, sentence in (
        (("abb", "--to", "mdm", "--every-length", "--like", str(tmp_path / "cot")), "--like is for a theorem"),
        (("theorem:abb", "--every-length"), "unknown theorem"),
    ):
        code, _, errors = unmask("prove", *arguments)
        assert (code, sentence in errors, len(errors.strip().splitlines())) == (2, True, 1)
