"""Circuits with several outputs: every output counts, not only the last."""

from dataclasses import replace

import pytest

from unmask.errors import UnmaskError
from unmask.pipeline import compile_problem, verify_model
from unmask.weights.matrix import Matrix


def test_all_outputs_are_compared():
    verdict = verify_model(compile_problem("family:addition", "mdm", length=6))
    assert (verdict.status, verdict.cases) == ("held", 64)


def test_a_wrong_output_that_is_not_the_last_is_refuted():
    model = compile_problem("family:addition", "mdm", length=4)
    predictor = model.transformers["predictor"]
    first_output = len(predictor.positions) - 3  # three outputs, the last of them the carry
    column = predictor.registers.names.index("AND")
    positions = predictor.positions.copy()
    positions[first_output, [column, column + 1]] = positions[first_output, [column + 1, column]]
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


@pytest.mark.parametrize("problem", ["group:A5", "family:parity"])
def test_other_alphabets_are_not_compared(problem):
    with pytest.raises(UnmaskError, match="read different alphabets"):
        verify_model(compile_problem("(ab)*", "mdm", length=3), against=problem)
