"""Circuits of chains of thought decide the same as runs, with a depth that depends on neither N nor T."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.engines.reference import ReferenceEngine
from unmask.errors import TooLarge, UnmaskError
from unmask.problems.circuits.circuit import TRUE
from unmask.problems.problem import ACCEPTED, REJECTED
from unmask.reasoners.run_words import run_batch
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.theorems import cot_to_ac0 as module
from unmask.theorems.cot_to_ac0 import cot_to_ac0, depth_bound
from unmask.verification.circuits.constant_depth import token_bits
from unmask.verification.model_outcomes import outcomes
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head


def spelled_words(model):
    between = "" if all(len(symbol) == 1 for symbol in model.input_symbols) else " "
    return [between.join(model.symbols(word)) for word in all_words(model).tolist()]


def disagreements(model):
    """Return the words on which the circuit disagrees with a run."""
    circuit, words = cot_to_ac0(model), all_words(model)
    assert circuit.depth <= depth_bound(model)
    outputs = circuit.evaluate(token_bits(words, [model.token[s] for s in model.input_symbols]))
    spelled = spelled_words(model)
    differences = []
    for word, (undefined, rejected, accepted), outcome in zip(
        spelled, outputs.tolist(), outcomes(model, spelled, ReferenceEngine()), strict=True
    ):
        expected = outcome.error is not None, outcome == REJECTED, outcome == ACCEPTED
        agree = undefined if expected[0] else (undefined, rejected, accepted) == expected
        if not agree:
            differences.append((word, outcome, (undefined, rejected, accepted)))
    return differences


SOURCES = [
    (2, 2, 1),
    (4, 2, 1),
    (8, 2, 1),
    (0, 3, 2),
    (6, 3, 2),
    (2, 4, 2),
    (3, 4, 2),
    (4, 4, 2),
    (10, 4, 2),
    (1, 5, 3),
]


def chain(seed, length, steps):
    return random_model(seed, "cot", length, precision=1, steps=steps, layers=1, width=3)


@pytest.mark.parametrize(("seed", "length", "steps"), [*SOURCES, (1, 5, 3)])
def test_random_chains(seed, length, steps):
    """T = ⌈log2 N⌉ steps, every word."""
    assert steps == max(1, (length - 1).bit_length())
    assert disagreements(chain(seed, length, steps)) == []


def test_the_sources_are_not_constant():
    assert sum(len(cot_to_ac0(chain(*source)).gates) > 20 for source in SOURCES) >= 6


def blind(source):
    """Return the source with one more head, whose scores are -B unless the stream sums to 0."""
    model = source.transformers["model"]
    column = np.full((model.width, 1), model.precision.bound)
    head = Head(Matrix.of(column), Matrix.of(-column), Matrix.zeros((model.width, model.width)))
    layers = (replace(model.layers[0], heads=(*model.layers[0].heads, head)), *model.layers[1:])
    return replace(source, transformers={"model": replace(model, layers=layers)})


def test_chains_that_divide_by_zero():
    undefined = 0
    for seed in range(8):
        source = blind(chain(seed, 2, 2))
        assert disagreements(source) == []
        all_outcomes = outcomes(source, spelled_words(source), ReferenceEngine())
        undefined += sum(outcome.error is not None for outcome in all_outcomes)
    assert 3 < undefined < 32


@pytest.mark.parametrize(("problem", "length", "precision"), [("family:contains-aba", 3, 1), ("group:Z2", 3, 2)])
def test_compiled_chains(problem, length, precision):
    """Chains that are not of logarithmic length: the circuit is large, but correct."""
    assert disagreements(compile_problem(problem, "cot", length=length, precision=precision)) == []


def test_the_depth_has_a_bound_without_length_and_steps():
    assert len({depth_bound(chain(1, length, steps)) for length, steps in ((1, 1), (4, 2), (8, 3), (16, 4))}) == 1


def test_steps_that_are_not_checked_are_caught(monkeypatch):
    """Then every chain counts as the one that is written."""
    real = module.argmax_wires
    monkeypatch.setattr(module, "argmax_wires", lambda builder, scores: dict.fromkeys(real(builder, scores), TRUE))
    assert sum(disagreements(chain(*source)) != [] for source in SOURCES) > 3


def test_what_is_refused():
    with pytest.raises(UnmaskError, match="kind cot"):
        cot_to_ac0(random_model(1, "pcot", 2))
    with pytest.raises(TooLarge, match="chains"):
        cot_to_ac0(random_model(1, "cot", 2, steps=40))


def test_groups_of_symbols_make_long_chains_possible():
    """4^12 chains are too many at once; two symbols at once take six groups."""
    model = random_model(2, "cot", 3, precision=1, steps=12, layers=1, width=3)
    with pytest.raises(TooLarge):
        cot_to_ac0(model)
    circuit, words = cot_to_ac0(model, together=2), all_words(model)
    assert circuit.depth <= depth_bound(model, 6)
    outputs = circuit.evaluate(token_bits(words, [model.token[s] for s in model.input_symbols])).tolist()
    for (_, rejected, accepted), trace in zip(outputs, run_batch(model, words, engine=ReferenceEngine()), strict=True):
        assert (rejected, accepted) == (trace.output[-1] == model.reject, trace.output[-1] == model.accept)
