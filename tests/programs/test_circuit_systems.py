"""Circuits as models: the value of every gate, in as many steps as the depth of the circuit."""

from itertools import product

import numpy as np
import pytest

from problems.circuits.test_circuit import every_input, random_circuit
from unmask.compilers.circuit_compiler import CircuitCompiler, FamilyCompiler
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision
from unmask.problems.circuit_problems import FamilyProblem
from unmask.problems.circuits.circuit import TRUE, CircuitBuilder, collapsed
from unmask.problems.circuits.circuit_families import FAMILIES
from unmask.programs import circuit_systems
from unmask.programs.circuit_systems import UNIFORM, least_length
from unmask.reasoners.run_words import answers
from unmask.recurrences import number


def outputs_of(model, bits, count):
    slots = answers(model, bits.astype(np.int64), engine=FastEngine()).slots[:, -count:]
    assert np.isin(slots, [model.token[model.accept], model.token[model.reject]]).all()
    return slots == model.token[model.accept]


@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("kind", ["mdm", "smdm", "plt", "cot"])
def test_models_compute_the_circuit(kind, precision):
    for seed in range(25):
        circuit = random_circuit(seed, gates=10, inputs=4)
        compiler = CircuitCompiler(circuit, {})
        model = compiler.compile(kind, len(circuit.inputs), Precision(precision))
        bits = every_input(circuit)
        count = 1 if kind == "plt" else len(circuit.outputs)
        assert np.array_equal(outputs_of(model, bits, count), circuit.evaluate(bits)[:, -count:]), (seed, kind)
        steps, padding = compiler.bound(kind, len(circuit.inputs))
        assert model.steps <= steps
        assert model.padding <= padding
        if kind != "cot":
            assert model.steps == max(1, collapsed(circuit).depth)


def test_wide_gates_take_one_step():
    builder = CircuitBuilder(f"x{i}" for i in range(200))
    model = CircuitCompiler(builder.circuit([builder.or_(*(builder.input(i) for i in range(200)))]), {}).compile(
        "mdm", 200, Precision(2)
    )
    bits = np.zeros((3, 200), dtype=bool)
    bits[1, 137] = True
    bits[2] = True
    assert outputs_of(model, bits, 1).ravel().tolist() == [False, True, True]
    assert model.steps == 1
    assert model.padding == 201


def test_a_wire_that_forgets_to_negate_is_caught(monkeypatch):
    circuit = random_circuit(3, gates=10)
    bits = every_input(circuit)
    expected = circuit.evaluate(bits)[:, -1:]
    monkeypatch.setattr(circuit_systems, "number", lambda sign: number(0 * sign))
    model = CircuitCompiler(circuit, {}).compile("mdm", len(circuit.inputs), Precision(2))
    slots = answers(model, bits.astype(np.int64), engine=FastEngine()).slots[:, -1:]
    assert not np.array_equal(slots == model.token[model.accept], expected)


def test_a_constant_needs_no_input_but_a_circuit_does():
    with pytest.raises(ProblemError, match="no input"):
        CircuitCompiler(CircuitBuilder(()).circuit([TRUE]), {})
    circuit = CircuitBuilder("a").circuit([TRUE])
    model = CircuitCompiler(circuit, {}).compile("mdm", 1, Precision(2))
    assert outputs_of(model, every_input(circuit), 1).all()


def test_other_kinds_are_reached_by_conversion():
    with pytest.raises(ProblemError, match="unmask convert --to topk"):
        CircuitCompiler(random_circuit(1), {}).compile("topk", len(random_circuit(1).inputs), Precision(2))


# Families as recurrences in N: every word of the short lengths, by both engines, against the family's own oracle.


ENGINES = pytest.mark.parametrize("engine", [FastEngine(), ReferenceEngine()], ids=["fast", "reference"])


@ENGINES
@pytest.mark.parametrize("family", UNIFORM)
@pytest.mark.parametrize(("kind", "p"), [("mdm", 1), ("mdm", 2), ("smdm", 3)])
def test_every_short_word(family, kind, p, engine):
    compiler = FamilyCompiler(FamilyProblem(family))
    for length in range(1, least_length(family) + 4):
        model = compiler.compile(kind, length, Precision(p))
        words = np.array(list(product((0, 1), repeat=length)))
        accepted = answers(model, words, engine=engine).slots[:, -1] == model.token[model.accept]
        expected = [bool(FAMILIES[family].outputs(word)[0]) for word in words.tolist()]
        assert accepted.tolist() == expected
        assert (model.steps, model.padding) == compiler.bound(kind, length)


@ENGINES
@pytest.mark.parametrize(("kind", "p"), [("mdm", 1), ("mdm", 2), ("smdm", 3)])
def test_every_short_sum(kind, p, engine):
    compiler = FamilyCompiler(FamilyProblem("addition"))
    for length in (2, 4, 6, 8):
        model = compiler.compile(kind, length, Precision(p))
        words = np.array(list(product((0, 1), repeat=length)))
        slots = answers(model, words, engine=engine).slots[:, -(length // 2 + 1) :]
        assert np.isin(slots, [model.token[model.accept], model.token[model.reject]]).all()
        expected = [[bool(bit) for bit in FAMILIES["addition"].outputs(word)] for word in words.tolist()]
        assert (slots == model.token[model.accept]).tolist() == expected
        assert (model.steps, model.padding) == compiler.bound(kind, length)


@pytest.mark.parametrize("family", UNIFORM)
def test_the_recurrence_serves_all_lengths_but_the_shortest(family):
    compiler = FamilyCompiler(FamilyProblem(family))
    least = least_length(family)
    assert compiler.family_of("mdm", Precision(2)).least == least
    assert compiler.at("mdm", least) is compiler.uniform
    assert compiler.at("plt", least) is not compiler.uniform
