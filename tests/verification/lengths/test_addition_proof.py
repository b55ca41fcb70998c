"""Addition in one step, for every even N: proved; families that are almost correct are refuted, or unknown."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compile_problem, prove_family, verify_model
from unmask.compilers.circuit_compiler import family_circuit_compiler
from unmask.compilers.compiler import compiler_for
from unmask.engines.fast import FastEngine
from unmask.expressions import N, both, choose, constant, n
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import parse_problem
from unmask.problems.circuit_problems import FamilyProblem
from unmask.problems.problem import Outcome
from unmask.programs.one_step_addition import HALF_LENGTH, IS_CARRY
from unmask.programs.program import Edges
from unmask.reasoners.run_words import answers
from unmask.verification.lengths.prove_lengths import prove_every_length

from .wrong_families import address, flag

P = Precision(2)
PROBLEM = parse_problem("family:addition")


@pytest.mark.parametrize(("kind", "precision"), [("mdm", 2), ("smdm", 1), ("mdm", 8)])
def test_it_is_proved_for_every_even_length(kind, precision):
    result = prove_family("family:addition", kind, precision=precision, lengths=[12])
    assert result.verdict == "proved", result.reason
    assert "in 1 step with N + N div 2 + 1 slots from N = 2 on" in result.statement
    assert {o.method for o in result.obligations} >= {"SMT", "closure", "enumeration", "comparison"}
    assert "N = 12: `compile` writes the family's weights" in [o.name for o in result.obligations]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mdm", "smdm"])
@pytest.mark.parametrize("precision", range(1, 9))
def test_every_precision(kind, precision):
    assert prove_family("family:addition", kind, precision=precision).verdict == "proved"


@pytest.mark.parametrize("length", [2, 4, 8, 16])
def test_it_costs_no_more_than_the_circuit(length):
    model = compile_problem("family:addition", "mdm", length=length)
    circuit = family_circuit_compiler(PROBLEM, length).compile("mdm", length, P)
    assert (model.steps, model.padding) == (1, 3 * length // 2 + 1)
    assert model.steps <= circuit.steps
    assert model.padding <= circuit.padding
    for name, transformer in model.transformers.items():
        assert transformer.width <= circuit.transformers[name].width
        assert len(transformer.layers) <= len(circuit.transformers[name].layers)
    assert verify_model(model, against=PROBLEM, method="prove").status == "proved"


def falling(program):
    """Bits are compared from the highest to the lowest, so that the lowest decides."""
    program.layers[1].heads[0].rising.clear()


def once(program):
    """Every column of the comparison occurs once: a bit that differs does not override a lower one."""
    (head,) = program.layers[1].heads
    for side in (head.query, head.key):
        side[:] = [e for e in side if int(e.target[0]) not in (2, 4)]


def swapped(program):
    """A pair of ones kills, and a pair of zeros generates."""
    value = program.layers[1].heads[0].value
    value[0], value[1] = replace(value[0], weight=value[1].weight), replace(value[1], weight=value[0].weight)


def any_sum(program):
    """There is a carry wherever the output of the third head is not negative."""
    inputs = program.layers[1].mlp.inputs
    inputs[:] = [e for e in inputs if int(e.source[0]) != int(program.one[0])]


def half_a_carry(program):
    """The last slot does not use its carry as its sum."""
    outputs = program.layers[0].mlp.outputs
    last = outputs[-1]
    outputs[-1] = Edges(last.source, last.target + 1, last.weight)


def one_row(program):
    """Only the first of the two rows of a pair of bits has an effect."""
    flag(program, "no row", choose(both(IS_CARRY, ((n - N) % 2).equals(0)), 0, 1))


def beside(program):
    """Rows read the next bit of the second number."""
    address(program, "y address", lambda e: choose(both(IS_CARRY, e < N - 1), e + 1, e))


def own_carry(program):
    """A slot also reads the rows of its own bits."""
    address(program, "order", lambda e: choose(both(n >= 2 * N, e < HALF_LENGTH), e + 1, e))


def without_last(program):
    """The planner never chooses the last slot."""
    flag(program, "no slot", choose(both(n >= 2 * N, n < 2 * N + HALF_LENGTH), 0, 1))


SABOTAGES = {
    "one row for every pair": ("predictor", one_row),
    "the bit beside": ("predictor", beside),
    "its own carry": ("predictor", own_carry),
    "the highest bit first": ("predictor", falling),
    "every column once": ("predictor", once),
    "ones kill": ("predictor", swapped),
    "a carry from nowhere": ("predictor", any_sum),
    "an odd carry out": ("predictor", half_a_carry),
    "the last slot is not taken": ("planner", without_last),
}
UNDECIDED = {
    "all slots are taken": ("planner", lambda p: flag(p, "no slot", n < N)),
    "slots are seen": ("predictor", lambda p: flag(p, "hidden", both(n > 0, n < N))),
}
"""Correct by coincidence: nothing reads the other slots that are taken, and slots add 0. The argument excludes both."""


def changed(name, of):
    program_name, change = of[name]
    compiler = compiler_for(PROBLEM)
    family = compiler.family_of("mdm", P)
    programs = deepcopy(family.design.programs)
    change(programs[program_name])
    wrong = replace(family, design=replace(family.design, programs=programs))
    return prove_every_length(PROBLEM, compiler, "mdm", P, FastEngine(), family=wrong, lengths=()), wrong


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_wrong_family_is_refuted(name):
    result, family = changed(name, SABOTAGES)
    assert result.verdict == "refuted", result.reason
    assert any(o.verdict == "open" for o in result.obligations)
    model = family.model_at(result.length, P)
    assert verify_model(model, against=PROBLEM, method="prove").status == "refuted"


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_is_right_for_another_reason_is_unknown(name):
    assert changed(name, UNDECIDED)[0].verdict == "unknown"


def test_a_step_too_many_is_not_proved():
    compiler = compiler_for(PROBLEM)
    family = compiler.family_of("mdm", P)
    slow = replace(family, design=replace(family.design, steps=constant(2)))
    result = prove_every_length(PROBLEM, compiler, "mdm", P, FastEngine(), family=slow, lengths=())
    assert result.verdict == "refuted"  # beyond its bounds


def test_the_sum_is_that_of_the_problem(monkeypatch):
    """The family adds, but the problem has the highest bit first."""
    textbook, oracle = FamilyProblem.specification, FamilyProblem.outcome

    def specification(self, length):
        addition = textbook(self, length)
        return replace(addition, circuit=replace(addition.circuit, outputs=addition.circuit.outputs[::-1]))

    assert any(o.name == "N = 4: the folder" for o in prove_family("family:addition", "mdm").obligations)
    monkeypatch.setattr(FamilyProblem, "specification", specification)
    monkeypatch.setattr(FamilyProblem, "outcome", lambda self, word: Outcome.of_bits(oracle(self, word).bits[::-1]))
    result = prove_family("family:addition", "mdm")
    assert result.verdict == "refuted", result.reason
    assert result.length == 2


def test_long_numbers():
    rng = np.random.default_rng(7)
    words = rng.integers(0, 2, (50, 200))
    words[:5, 1:100] = 1 - words[:5, 101:]  # long carries
    model = compile_problem("family:addition", "mdm", length=200)
    slots = answers(model, words, engine=FastEngine()).slots[:, -101:] == model.token[model.accept]
    weights = [1 << k for k in range(101)]
    for word, bits in zip(words.tolist(), slots.tolist(), strict=True):
        x, y = (sum(b << k for k, b in enumerate(bits)) for bits in (word[:100], word[100:]))
        assert sum(w for w, b in zip(weights, bits, strict=True) if b) == x + y
