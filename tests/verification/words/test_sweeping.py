"""SAT sweeping against all inputs of random circuits: equal, different with an input that shows it, never wrong."""

import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest

from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.verification.words import sat_sweeping
from unmask.verification.words.sat_sweeping import sweep_pairs
from verification.random_circuits import random_circuit, rebuilt


def every_input(count):
    return np.array(list(product([False, True], repeat=count)), dtype=bool).reshape(2**count, count)


def two_ways(seed, inputs=5, gates=12, outputs=2):
    """(circuit with the outputs built twice, pairs): equal where the seed is even, else mostly not."""
    first = random_circuit(seed, inputs, gates, outputs)
    second = first if seed % 2 == 0 else random_circuit(seed + 1000, inputs, gates, outputs)
    builder = CircuitBuilder(first.inputs)
    ones = rebuilt(builder, first)
    values = {0: 0, 1: 1}
    for i in range(inputs):
        values |= {builder.input(i): builder.input(i), builder.input(i) ^ 1: builder.input(i) ^ 1}
    for k, gate in enumerate(second.gates):
        node = 2 * (second.first_gate + k)
        operation = builder.and_ if gate.kind == "and" else builder.or_
        values[node] = operation(*(values[x] for x in gate.inputs))
        values[node + 1] = values[node] ^ 1
    pairs = np.array([[a, values[b]] for a, b in zip(ones, second.outputs, strict=True)])
    return builder.circuit(pairs.ravel().tolist()), pairs


def truth(circuit):
    """Is each pair of outputs equal on all inputs?"""
    values = circuit.evaluate(every_input(len(circuit.inputs)))
    return [bool((values[:, k] == values[:, k + 1]).all()) for k in range(0, values.shape[1], 2)]


@pytest.mark.parametrize("seed", range(40))
def test_random_pairs(seed):
    circuit, pairs = two_ways(seed)
    swept, expected = sweep_pairs(circuit, pairs), truth(circuit)
    assert swept.answers == ["equal" if same else "different" for same in expected]
    assert (swept.counterexample is None) == all(expected)
    if swept.counterexample is not None:
        values = circuit.evaluate(np.array([swept.counterexample]))[0]
        assert any(values[k] != values[k + 1] for k in range(0, values.size, 2))


def test_both_answers_occur():
    counts = Counter(same for seed in range(40) for same in truth(two_ways(seed)[0]))
    assert min(counts[True], counts[False]) >= 20


@pytest.mark.parametrize("seed", range(6))
def test_few_random_inputs_only_cost(seed, monkeypatch):
    """With a few random inputs and one conflict per node, most suggestions are wrong or undecided."""
    monkeypatch.setattr(sat_sweeping, "RANDOM_INPUTS", 64)
    monkeypatch.setattr(sat_sweeping, "CONFLICTS_PER_NODE", 1)
    circuit, pairs = two_ways(seed, inputs=9, gates=150, outputs=8)
    assert sweep_pairs(circuit, pairs).answers == ["equal" if same else "different" for same in truth(circuit)]


def test_many_inputs_that_tell_nodes_apart_are_learnt(monkeypatch):
    """Conjunctions of many inputs are 0 on nearly all random inputs: the solver tells them apart, 64 times and more."""
    monkeypatch.setattr(sat_sweeping, "RANDOM_INPUTS", 64)
    builder = CircuitBuilder(f"x{i}" for i in range(16))
    gates = [
        builder.and_(*(builder.input(i) ^ int(k >> (i % 7) & 1) ^ int(i == k % 16) for i in range(16)))
        for k in range(120)
    ]
    total = builder.or_(*gates)
    circuit = builder.circuit([total])
    swept = sweep_pairs(circuit, np.array([[total, 0], [total, total], [gates[0], gates[1]]]))
    assert swept.answers == ["different", "equal", "different"]
    assert swept.queries > 64


@pytest.mark.parametrize("seed", range(6))
def test_what_stays_open_goes_to_the_thorough_solver(seed, monkeypatch):
    monkeypatch.setattr(sat_sweeping, "CONFLICTS_PER_NODE", 0)
    monkeypatch.setattr(sat_sweeping, "QUICK_CONFLICTS", 0)
    circuit, pairs = two_ways(seed, inputs=9, gates=150, outputs=8)
    swept = sweep_pairs(circuit, pairs)
    assert swept.answers == ["equal" if same else "different" for same in truth(circuit)]
    assert swept.solvers == "glucose4 and cadical195"


@pytest.mark.parametrize("seed", range(12))
def test_inputs_that_were_tried_suggest_and_never_decide(seed, monkeypatch):
    """With values that are wrong, all nodes seem equal or none does, and the answers are the same."""
    circuit, pairs = two_ways(seed)
    for wrong in (lambda *_: 0, lambda _, values, ones: len(values) & ones):
        monkeypatch.setattr(sat_sweeping, "_value", wrong)
        assert sweep_pairs(circuit, pairs).answers == ["equal" if same else "different" for same in truth(circuit)]


@pytest.mark.parametrize("seed", range(12))
def test_a_budget_of_nothing_is_unknown(seed, monkeypatch):
    monkeypatch.setattr(sat_sweeping, "CONFLICTS_PER_NODE", 0)
    circuit, pairs = two_ways(seed)
    swept = sweep_pairs(circuit, pairs, conflicts=0)
    for answer, same in zip(swept.answers, truth(circuit), strict=True):
        assert answer == "unknown" or answer == ("equal" if same else "different")
    assert swept.queries == 0


def test_a_small_budget_is_unknown_or_right(monkeypatch):
    """Two multipliers, a × b and b × a, which no solver proves equal in a few conflicts."""
    monkeypatch.setattr(sat_sweeping, "CONFLICTS_PER_NODE", 1)
    builder = CircuitBuilder(f"x{i}" for i in range(14))
    x, y = ([builder.input(i) for i in indices] for indices in (range(7), range(7, 14)))

    def times(a, b):
        total = [0] * 14
        for shift, factor in enumerate(b):
            carry = 0
            for i, bit in enumerate(a):
                sum_bit, product_bit = total[shift + i], builder.and_(bit, factor)
                half = builder.xor(sum_bit, product_bit)
                total[shift + i] = builder.xor(half, carry)
                carry = builder.or_(builder.and_(sum_bit, product_bit), builder.and_(half, carry))
            total[shift + 7] = carry
        return total

    pairs = np.array(list(zip(times(x, y), times(y, x), strict=True)))
    answers = sweep_pairs(builder.circuit([1]), pairs, conflicts=2).answers
    assert "unknown" in answers
    assert "different" not in answers


@pytest.mark.parametrize(
    ("pair", "answer"),
    [((2, 0), "different"), ((2, 8), "different"), ((2, 3), "different"), ((1, 0), "different"), ((6, 6), "equal")],
)
def test_inputs_and_constants_alone(pair, answer):
    """A circuit without gates: no clause names an input, and still a counterexample has all of them."""
    circuit = CircuitBuilder(f"x{i}" for i in range(5)).circuit([2])
    swept = sweep_pairs(circuit, np.array([pair]))
    assert swept.answers == [answer]
    if answer == "different":
        bits = [False, *swept.counterexample]
        assert len(bits) == 6
        assert bits[pair[0] >> 1] ^ (pair[0] & 1) != bits[pair[1] >> 1] ^ (pair[1] & 1)


def test_absorption_is_merged_into_an_input():
    """x ∧ (x ∨ y) is x, whatever the first random input says of x."""
    for seed in range(6):
        builder = CircuitBuilder(("x", "y"))
        x, y = builder.input(0), builder.input(1)
        both = builder.and_(x, builder.or_(x, y))
        swept = sweep_pairs(builder.circuit([both]), np.array([[both, x]]), seed=seed)
        assert swept.answers == ["equal"]
        assert swept.equal == [(both, x)]


def test_without_the_solver_there_is_one_message(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    with pytest.raises(UnmaskError, match=r"needs a SAT solver; run `pip install 'unmask\[verify\]'`"):
        sweep_pairs(CircuitBuilder(["x"]).circuit([2]), np.array([[2, 0]]))
