"""Circuits with several outputs: every output counts, not only the last."""

from dataclasses import replace

import pytest

from unmask.api import compile_problem, verify_model
from unmask.weights.matrices import Matrix


def test_all_outputs_are_compared():
    verdict = verify_model(compile_problem("family:addition", "mdm", length=6))
    assert (verdict.status, verdict.cases) == ("held", 64)


def test_a_wrong_output_that_is_not_the_last_is_refuted():
    model = compile_problem("family:addition", "mdm", length=4)
    predictor = model.transformers["predictor"]
    first_output = len(predictor.positions) - 3  # three outputs, the last of them the carry
    names = predictor.registers.names
    regions = [names.index("no row"), names.index("no sum")]
    positions = predictor.positions.copy()
    positions[first_output, regions] = positions[first_output, regions[::-1]]
    broken = replace(predictor, positions=positions)
    verdict = verify_model(replace(model, transformers={**model.transformers, "predictor": broken}))
    assert verdict.status == "refuted"
    assert "outputs" in verdict.expected


def test_models_that_end_in_different_symbols_differ():
    model = compile_problem("a", "mdm", length=1)
    predictor = model.transformers["predictor"]
    mute = replace(predictor, out=Matrix.zeros(predictor.out.shape))
    undecided = replace(model, transformers={**model.transformers, "predictor": mute})
    verdict = verify_model(undecided, against=model)
    assert verdict.status == "refuted"
    assert verdict.got.startswith("undecided: ")


def test_other_alphabets_are_not_compared():
    verdict = verify_model(compile_problem("group:A5", "mdm", length=3), against="family:parity")
    assert (verdict.status, verdict.comparable, verdict.exit_code) == ("unknown", False, 2)


@pytest.mark.parametrize("method", ["prove", "exhaustive", "sample"])
@pytest.mark.parametrize("against", [None, "(a|b)*abb"])
def test_a_model_that_reads_no_text_is_refuted_where_words_are_any_text(method, against):
    """With the folder's own problem, and with the same problem given."""
    mute = replace(compile_problem("(a|b)*abb", "mdm", length=2), characters=None)
    verdict = verify_model(mute, against=against, method=method)
    assert verdict.status == "refuted"
    assert verdict.expected == "rejected"
    assert verdict.got.startswith("error: ")


def test_a_regex_may_be_compared_with_anything_that_is_typed_in_characters():
    odd = compile_problem("0*1(0*10*1)*0*", "mdm", length=4)
    assert verify_model(odd, against="family:parity", method="prove").status == "proved"
    assert verify_model(odd, against="family:majority", method="prove").status == "refuted"
