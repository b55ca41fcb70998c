"""Whole models as circuits of constant depth per step, compared with runs of the reference engine."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from aigverse import algorithms, io

from unmask.api import compile_problem
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, UnmaskError
from unmask.problems.circuits.circuit_files import write_aiger
from unmask.problems.circuits.shallow_circuits import shallow_circuit
from unmask.reasoners.run_words import answers
from unmask.testing.random_model import all_words, random_model
from unmask.testing.random_transformer import random_diffusion
from unmask.verification.circuits.constant_depth import constant_depth_model, model_depth, pass_depth, token_bits
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix


def runs(model, words):
    """The final slots and the answer of every word; None where the run ends in an error."""
    outcomes = []
    for word in words:
        try:
            answer = answers(model, word[None], engine=ReferenceEngine())
            outcomes.append((answer.slots[0].tolist(), int(answer.accepted[0])))
        except (AttendsToNothing, EditsWrittenSlot):
            outcomes.append(None)
    return outcomes


def wrong_words(model, circuit):
    """How many of all words the circuit gets wrong, and how many end in an error."""
    words = all_words(model)
    bits = circuit.evaluate(token_bits(words, [model.token[s] for s in model.input_symbols]))
    wrong, errors = 0, 0
    for row, run in zip(bits, runs(model, words), strict=True):
        *slots, undefined, rejected, accepted = row.tolist()
        if run is None:
            errors += 1
            wrong += not undefined
            continue
        final_slots, answer = run
        expected = [token == symbol for token in final_slots for symbol in range(len(model.vocabulary))]
        wrong += slots != expected or undefined or (rejected, accepted) != (answer == 0, answer == 1)
    return wrong, errors


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_of_every_kind(kind):
    deep = 0
    for seed in range(4):
        model = random_model(seed, kind, 2, precision=1)
        if model.k is not None:
            continue
        circuit = constant_depth_model(model, slots=True)
        assert wrong_words(model, circuit) == (0, 0), seed
        assert circuit.depth <= model_depth(model)
        deep += circuit.depth > 10
    assert deep >= 1


DIVIDE_BY_ZERO = (28, 29, 34, 54, 62, 68, 88, 116, 118, 119)  # on some of their four words


def test_runs_that_divide_by_zero():
    """In any step, of planner or predictor."""
    actual = [
        wrong_words(m, constant_depth_model(m, slots=True)) for m in (random_diffusion(s, 2) for s in DIVIDE_BY_ZERO)
    ]
    assert [wrong for wrong, _ in actual] == [0] * len(actual)
    assert all(1 <= errors < 4 for _, errors in actual)


def test_mask_dominated_models_that_edit():
    actual = [
        wrong_words(m, constant_depth_model(m, slots=True))
        for m in (random_diffusion(s, 2, kind="smdm") for s in range(20))
    ]
    assert [wrong for wrong, _ in actual] == [0] * len(actual)
    assert sum(errors == 0 for _, errors in actual) >= 3
    assert sum(errors > 0 for _, errors in actual) >= 3


@pytest.mark.parametrize("kind", ["mdm", "plt"])
@pytest.mark.parametrize(("problem", "length"), [("contains-aba", 4), ("parity", 3)])
def test_compiled_circuits_come_back(kind, problem, length):
    model = compile_problem(f"family:{problem}", kind, length=length, precision=1)
    circuit = constant_depth_model(model, slots=True)
    assert wrong_words(model, circuit) == (0, 0)
    assert circuit.depth <= model_depth(model)


def test_as_deep_as_there_are_steps():
    model = random_diffusion(23, 2)
    depths = [constant_depth_model(replace(model, steps=steps)).depth for steps in (3, 4, 5, 6)]
    each = {after - before for before, after in pairwise(depths)}
    assert len(each) == 1
    assert 20 < each.pop() < pass_depth(model.precision, 1)


def test_a_changed_logit_is_seen():
    model = compile_problem("family:contains-aba", "mdm", length=3, precision=1)
    predictor = model.transformers["predictor"]
    broken = replace(predictor, out=Matrix.of(-predictor.out.dense()))
    circuit = constant_depth_model(replace(model, transformers={**model.transformers, "predictor": broken}), slots=True)
    assert wrong_words(model, circuit)[0] > 0


def test_more_than_two_symbols_take_more_bits():
    model = compile_problem("group:Z3", "cot", length=2)
    circuit = constant_depth_model(model, slots=True)
    assert circuit.inputs == ("x0.0", "x0.1", "x1.0", "x1.1")
    assert wrong_words(model, circuit) == (0, 0)


def test_a_topk_that_counts_is_refused():
    model = next(m for m in (random_model(s, "topk", 1, precision=1) for s in range(20)) if m.k is not None)
    with pytest.raises(UnmaskError, match="has to count, which is impossible in constant depth"):
        constant_depth_model(model)


def test_no_input_at_all():
    model = random_model(0, "mdm", 0, precision=1)
    circuit = constant_depth_model(model, slots=True)
    assert circuit.inputs == ()
    assert circuit.evaluate(np.zeros((1, 0), dtype=bool)).shape == (1, len(circuit.outputs))
    assert wrong_words(model, circuit) == (0, 0)


@pytest.mark.parametrize(("family", "length"), [("contains-aba", 5), ("parity", 3), ("equal-halves", 6)])
def test_an_outside_checker_proves_the_way_there_and_back(family, length, tmp_path):
    """circuit → mdm → circuit, both as AIGER files, equivalent for aigverse; with one output negated they are not."""
    original = shallow_circuit(family, length)
    extracted = constant_depth_model(compile_problem(f"family:{family}", "mdm", length=length, precision=1))

    def outside(circuit, output):
        path = tmp_path / "circuit.aag"
        path.write_text(write_aiger(replace(circuit, outputs=(output,), output_names=("answer",))))
        return io.read_ascii_aiger_into_aig(str(path))

    expected = outside(original, original.outputs[-1])
    assert algorithms.equivalence_checking(expected, outside(extracted, extracted.outputs[-1]))
    assert not algorithms.equivalence_checking(expected, outside(extracted, extracted.outputs[-1] ^ 1))
