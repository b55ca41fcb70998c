"""Circuits that a metered machine prints from the weights of a model."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.uniform_circuit_checks import check_extraction
from unmask.problems.circuits.circuit import Circuit, Gate
from unmask.problems.circuits.metered import RegisterBound, RegisterOverflow
from unmask.problems.circuits.printed_circuits import AND, OR, printed_circuit
from unmask.testing.random_model import random_model
from unmask.testing.random_transformer import random_diffusion
from unmask.verification.circuits.printed_extraction import print_sum, printed_depth, printed_extraction, sum_size


@pytest.mark.parametrize(("seed", "length", "steps"), [(138, 2, 1), (309, 2, 2), (20, 3, 1)])
def test_the_printed_circuit_does_what_the_model_does(seed, length, steps):
    model = random_diffusion(seed, length, padding=1, steps=steps)
    assert check_extraction(model, printed_extraction(model)) >= 3


def test_several_heads_and_layers():
    """The model writes 0 for a and b for b; with 0 as its answer it accepts one word of the two."""
    model = random_model(54, "mdm", 1, precision=1, padding=1, steps=1, layers=2, width=2)
    assert [len(layer.heads) for t in model.transformers.values() for layer in t.layers] == [2, 2, 2, 2]
    model = replace(model, accept="0", reject="1")
    circuit = printed_extraction(model)
    assert circuit.evaluate(np.array([[0], [1]]))[:, 0].tolist() == [True, False]
    assert check_extraction(model, circuit) == 2


def test_the_circuit_of_another_model_is_refuted():
    model = random_diffusion(309, 2, padding=1, steps=2)
    with pytest.raises(AssertionError, match="differs from the run"):
        check_extraction(model, printed_extraction(random_diffusion(138, 2, padding=1, steps=2)))


def test_a_deeper_circuit_is_refuted():
    model = random_diffusion(138, 1, padding=1, steps=1)
    deep = Circuit(("x0",), tuple(Gate("and", (2 * (1 + k),)) for k in range(printed_depth(model) + 1)), (4,), ("o",))
    deep = replace(deep, outputs=(2 * (1 + len(deep.gates)),))
    with pytest.raises(AssertionError, match="deep"):
        check_extraction(model, deep)


def test_a_step_costs_the_same_depth_in_the_formula():
    depths = [printed_depth(random_diffusion(1, length, steps=steps)) for length in (1, 9) for steps in (1, 2, 3)]
    assert depths[:3] == depths[3:]
    assert depths[1] - depths[0] == depths[2] - depths[1] > 0


def test_numbers_of_gates_that_outgrow_their_registers_end_the_machine():
    with pytest.raises(RegisterOverflow):
        printed_extraction(random_diffusion(1, 2, padding=1, steps=1), RegisterBound(degree=3))


def test_what_cannot_be_printed_is_refused():
    with pytest.raises(UnmaskError, match="kind mdm"):
        printed_extraction(random_model(1, "cot", 2, precision=1))


@pytest.mark.parametrize("terms", [0, 1, 2, 4, 7])
def test_the_printed_sum_clips_after_every_addition(terms):
    """Of one-hot cells that are inputs; m = 7 is p = 1."""
    m, bound = Precision(1).size, Precision(1).bound
    rng = np.random.default_rng(terms)
    numbers = rng.integers(-bound, bound + 1, (200, terms))
    inputs = m * terms
    printed = list(print_sum(10**6, m, inputs + 1, 1, m, terms))
    assert sum(number in (AND, OR) for number in printed) == sum_size(10**6, m, terms)
    circuit = printed_circuit(inputs, printed)
    last = len(circuit.gates)
    outputs = tuple(2 * (inputs + 1 + last - m + v) for v in range(m))
    circuit = replace(circuit, outputs=outputs, output_names=tuple(map(str, range(m))))
    bits = (numbers[:, :, None] + bound == np.arange(m)).reshape(200, inputs)
    expected = np.zeros(200, dtype=int)
    for column in numbers.T:
        expected = np.clip(expected + column, -bound, bound)
    assert (circuit.evaluate(bits) == (expected[:, None] + bound == np.arange(m))).all()
