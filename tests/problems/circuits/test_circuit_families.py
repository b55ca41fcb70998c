"""Textbook circuits of the families, compared with their oracles and with the circuits that are compiled."""

from hashlib import sha256
from itertools import product

import numpy as np
import pytest
from import_graph import closure, module_graph

from unmask.problems.circuits.circuit import CircuitBuilder, collapsed
from unmask.problems.circuits.circuit_families import FAMILIES, textbook_circuit
from unmask.problems.circuits.shallow_circuits import BUILT, PRINTED, shallow_circuit
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words.deciders import CircuitDecider, miter
from unmask.verification.words.sat_sweeping import sweep_pairs


def fitting(family, lengths):
    return [length for length in lengths if FAMILIES[family].fits(length)]


def expected_outputs(family, bits):
    return [[bool(bit) for bit in FAMILIES[family].outputs(row)] for row in bits.tolist()]


def test_every_family_has_one_shallow_circuit():
    assert sorted([*BUILT, *PRINTED]) == sorted(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_small_lengths_on_all_words(family):
    lengths = fitting(family, range(10))
    assert len(lengths) >= 3
    for length in lengths:
        bits = np.array(list(product([0, 1], repeat=length)))
        assert textbook_circuit(family, length).evaluate(bits).tolist() == expected_outputs(family, bits), length


@pytest.mark.parametrize("family", FAMILIES)
def test_larger_lengths_on_random_words(family):
    rng = np.random.default_rng(0)
    for length in fitting(family, (15, 16, 25, 30, 64, 101)):
        even = rng.integers(0, 2, (50, length))
        rare = (rng.random((50, length)) < 0.2).astype(int)  # for paths that are missing
        equal = np.hstack([even[:, : length // 2]] * 2 + [even[:, : length % 2]])
        for bits in (even, rare, equal):
            assert textbook_circuit(family, length).evaluate(bits).tolist() == expected_outputs(family, bits), length


def canonical(circuit):
    """Return the outputs as expressions, without numbers and order of gates; equal forms are equal circuits."""
    forms = {0: "false", 1: "true"}
    for i in range(len(circuit.inputs)):
        forms[2 * i + 2], forms[2 * i + 3] = f"x{i}", f"-x{i}"
    opposite = {"and": "or", "or": "and"}
    for k, gate in enumerate(circuit.gates):
        node = 2 * (circuit.first_gate + k)
        for sign in (0, 1):  # by De Morgan, negations are at the inputs alone
            kind = gate.kind if not sign else opposite[gate.kind]
            parts = sorted({forms[x ^ sign] for x in gate.inputs})
            forms[node + sign] = sha256(f"{kind} {' '.join(parts)}".encode()).hexdigest()
    return [forms[x] for x in circuit.outputs]


TOO_SMALL = {"contains-aba": 4, "parity": 3, "multiplication": 4, "reachability": 4}
"""Words so short that there is one circuit to think of; 2 for the others."""


@pytest.mark.parametrize("family", FAMILIES)
def test_they_are_not_the_circuits_that_are_compiled(family):
    """Otherwise a proof would compare a circuit with itself, as built or with merged gates."""
    lengths = fitting(family, (*range(TOO_SMALL.get(family, 2) + 1, 20), 25, 27, 32, 36))
    for length in lengths:
        compiled, plain = shallow_circuit(family, length), textbook_circuit(family, length)
        if plain.outputs == compiled.outputs and set(plain.outputs) <= {0, 1}:
            continue  # a constant: words of odd length have no equal halves
        for shallow, textbook in product((compiled, collapsed(compiled)), (plain, collapsed(plain))):
            assert canonical(shallow) != canonical(textbook), length
    assert any(shallow_circuit(family, n).depth < textbook_circuit(family, n).depth for n in lengths)


@pytest.mark.parametrize("family", FAMILIES)
def test_they_compute_the_same(family):
    """Proved by a solver for a length at which neither circuit is tiny."""
    length = next(n for n in fitting(family, range(9, 26)) if n != 9 or family == "reachability")
    compiled, plain = shallow_circuit(family, length), textbook_circuit(family, length)
    letters, encoding = [0, 1], WordEncoding(2, length)
    deciders = tuple(CircuitDecider(circuit, letters, len(plain.outputs)) for circuit in (compiled, plain))
    assert set(sweep_pairs(*miter(deciders, encoding)).answers) == {"equal"}


def test_the_same_gates_in_another_order_are_the_same_circuit():
    def built(order):
        builder = CircuitBuilder(("x0", "x1", "x2", "x3"))
        x = [builder.input(i) for i in order]
        pairs = sorted([builder.and_(x[0], x[1]), builder.and_(x[2], x[3])], reverse=order[0] > 0)
        return builder.circuit([builder.or_(*pairs)])

    assert canonical(built([0, 1, 2, 3])) == canonical(built([3, 2, 1, 0]))
    assert canonical(built([0, 1, 2, 3])) != canonical(built([0, 2, 1, 3]))


def test_textbook_circuits_know_nothing_of_what_is_compiled():
    modules = closure(module_graph(), ["problems/circuits/circuit_families", "problems/circuit_problems"])
    assert "problems/circuits/circuit" in modules
    assert not {"problems/circuits/shallow_circuits", "problems/circuits/printed_circuits"} & set(modules)
