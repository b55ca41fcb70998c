"""Models whose positions call the machine that prints their circuit."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import verify_model
from unmask.compilers.circuit_compiler import printed_family
from unmask.expressions import N, computed_by, n
from unmask.numerics.arithmetic import Precision
from unmask.problems.circuits.metered import MachineCall, RegisterBound
from unmask.problems.circuits.printed_circuits import PRINTED, item
from unmask.programs.declarations import SignedBits
from unmask.programs.program import Program
from unmask.programs.uniform_positions import growth, uniformity
from unmask.verification.lengths.expected_weights import compare_with_family
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.weights.transformer import Transformer


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("kind", ["mdm", "smdm"])
@pytest.mark.parametrize("p", [1, 2])
def test_the_model_decides_the_family_and_further_steps_change_nothing(name, kind, p):
    model = printed_family(name, kind).model_at(4, Precision(p))
    for steps in (model.steps, model.steps + 3):
        assert verify_model(replace(model, steps=steps), method="exhaustive").status == "held"
    assert verify_model(replace(model, steps=1), method="exhaustive").status == "refuted"


@pytest.mark.parametrize("name", PRINTED)
def test_one_program_for_every_length(name):
    family = printed_family(name, "mdm")
    models = [family.model_at(length, Precision(2)) for length in (4, 9)]
    assert all(compare_with_family(family, model) > 0 for model in models)
    shapes = [[len(layer.heads) for layer in t.layers] for t in models[0].transformers.values()]
    assert shapes == [[len(layer.heads) for layer in t.layers] for t in models[1].transformers.values()]


def test_a_model_with_another_wire_is_not_of_the_family():
    family = printed_family("parity", "mdm")
    model = family.model_at(4, Precision(2))
    predictor = model.transformers["predictor"]
    positions = np.array(predictor.positions.tolist())
    positions[[4, 7]] = positions[[7, 4]]
    wrong: Transformer = replace(predictor, positions=positions)
    with pytest.raises(ObligationFailed, match="row 4 of the positions"):
        compare_with_family(family, replace(model, transformers={**model.transformers, "predictor": wrong}))


def _checked(machine, length):
    program = Program(("a",), outputs=1, length=length, rows=2 * length)
    program.register("item", 40, SignedBits(computed_by(machine, N, n)))
    return [uniformity(program)]


def test_positions_may_call_metered_functions_only():
    call = MachineCall(item, (PRINTED["parity"].machine,), RegisterBound(2))
    assert growth({length: _checked(call, length) for length in (4, 16)}).status == "uniform"
    (flaw,) = growth({4: _checked(lambda length, position: length + position, 4)}).flaws
    assert "not metered" in flaw


def test_a_size_that_is_not_a_polynomial_of_small_degree_is_refused():
    call = MachineCall(item, (PRINTED["parity"].machine,), RegisterBound(9))
    assert growth({length: _checked(call, length) for length in (4, 16)}).status == "refused"
