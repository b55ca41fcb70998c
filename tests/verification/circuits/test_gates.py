"""Networks and deciders as circuits, compared with runs, simulation, and an outside checker."""

from itertools import product

import numpy as np
import pytest
from aigverse.algorithms import equivalence_checking, simulate
from aigverse.io import read_ascii_aiger_into_aig
from hypothesis import given, settings

from unmask.api import compile_problem
from unmask.problems.catalogue import parse_problem
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.problems.circuits.circuit_files import parse_aiger, write_aiger
from unmask.testing.random_model import all_words, random_model
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words.deciders import (
    AutomatonDecider,
    CircuitDecider,
    Decision,
    ExpressionDecider,
    NetworkGates,
    circuit_of,
    extracted_circuit,
    miter,
)
from unmask.weights.kinds import KINDS
from verification.by_running import runs
from verification.random_circuits import random_circuit
from verification.words.test_extract import harsh
from verification.words.test_network import case_of, every_word, networks, values


@settings(max_examples=60, deadline=None)
@given(networks())
def test_literals_hold_where_the_network_says(example):
    network, quantities = example
    words = every_word(network)
    variable_values = values(network, words)
    sizes = [network.variables[v].size for v in network.letters]
    offsets = np.cumsum([0, *sizes])
    builder = CircuitBuilder(f"x{i}" for i in range(offsets[-1]))
    letters = [
        [builder.input(int(first) + k) for k in range(size)] for first, size in zip(offsets, sizes, strict=False)
    ]
    gates = NetworkGates(network, builder, letters)
    literals, expected = [], []
    for cases in quantities:
        for chosen in range(cases.count):
            literals.append(gates.holds(cases, np.arange(cases.count) == chosen))
            expected.append([case == chosen for case in case_of(cases, variable_values, len(words))])
    if not literals:
        return
    bits = np.zeros((len(words), offsets[-1]), dtype=bool)
    for index, first in enumerate(offsets[:-1]):
        bits[np.arange(len(words)), first + words[:, index]] = True
    assert builder.circuit(literals).evaluate(bits).T.tolist() == expected


def bits_of(numbers, count):
    """Numbers of letters [words, places] as the inputs of an encoding."""
    width = max(0, (count - 1).bit_length())
    return (numbers[:, :, None] >> np.arange(width) & 1).reshape(len(numbers), -1).astype(bool)


@pytest.mark.parametrize("kind", KINDS)
def test_the_circuit_of_a_random_model(kind):
    """accept, undecided, undefined: exactly one of these and `reject` on every word."""
    counts = {"accept": 0, "reject": 0, "undecided": 0, "undefined": 0}
    for seed in range(14):
        model = random_model(seed, kind, 2, precision=1 + seed % 2, steps=2, padding=2, layers=1, width=3)
        model = harsh(model, 8) if seed % 2 else model
        words = all_words(model)
        circuit = extracted_circuit(model)
        assert circuit.output_names == ("answer0", "undecided", "undefined")
        for row, slots in zip(circuit.evaluate(bits_of(words, 2)).tolist(), runs(model, words), strict=True):
            last = None if slots is None else model.vocabulary[slots[-1]]
            meant = {None: "undefined", model.accept: "accept", model.reject: "reject"}.get(last, "undecided")
            counts[meant] += 1
            if meant == "undefined":
                assert row[1:] == [False, True]
            else:
                assert row == [meant == "accept", meant == "undecided", False]
    assert sum(count > 0 for count in counts.values()) >= 3


def test_three_letters_take_two_bits_and_codes_beyond_stand_for_the_last():
    model = compile_problem("group:Z3", "mdm", length=2)
    circuit = extracted_circuit(model)
    assert circuit.inputs == ("x0.0", "x0.1", "x1.0", "x1.1")
    codes = np.array(list(product(range(4), repeat=2)))
    accepted = circuit.evaluate(bits_of(codes, 4))[:, 0]
    assert accepted.tolist() == [(min(a, 2) + min(b, 2)) % 3 == 0 for a, b in codes.tolist()]
    encoding = WordEncoding(3, 2)
    assert [encoding.word(row) for row in bits_of(codes, 4).tolist()] == np.minimum(codes, 2).tolist()


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize("seed", range(3))
def test_a_circuit_comes_back_from_its_model(kind, seed, tmp_path):
    """circuit → model → circuit is equivalent for an outside checker; with an output negated it is not."""
    original = random_circuit(seed, 6, 14)
    (tmp_path / "original.aag").write_text(write_aiger(original))
    model = compile_problem(f"aiger:{tmp_path / 'original.aag'}", kind)
    extracted = extracted_circuit(model)
    accept, undecided, undefined = extracted.outputs
    builder = CircuitBuilder(extracted.inputs)
    builder.gates += extracted.gates
    (tmp_path / "extracted.aag").write_text(write_aiger(builder.circuit([accept, undecided, undefined])))
    twin = CircuitBuilder(original.inputs)
    twin.gates += original.gates
    aigs = [read_ascii_aiger_into_aig(tmp_path / "extracted.aag")]
    for name, outputs in (("same", [original.outputs[-1], 0, 0]), ("negated", [original.outputs[-1] ^ 1, 0, 0])):
        (tmp_path / f"{name}.aag").write_text(write_aiger(twin.circuit(outputs)))
        aigs.append(read_ascii_aiger_into_aig(tmp_path / f"{name}.aag"))
    assert equivalence_checking(aigs[1], aigs[0]) is True
    assert equivalence_checking(aigs[2], aigs[0]) is False


def test_aiger_is_read_back_by_others(tmp_path):
    circuit = extracted_circuit(compile_problem("regex:(ab|b)*", "mdm", length=3))
    (tmp_path / "model.aag").write_text(write_aiger(circuit))
    again = parse_aiger((tmp_path / "model.aag").read_bytes())
    assert (again.inputs, again.output_names) == (circuit.inputs, circuit.output_names)
    inputs = np.array(list(product([False, True], repeat=len(circuit.inputs))))
    expected = circuit.evaluate(inputs)
    assert np.array_equal(again.evaluate(inputs), expected)
    tables = simulate(read_ascii_aiger_into_aig(tmp_path / "model.aag"))
    indices = [sum(int(bit) << i for i, bit in enumerate(row)) for row in inputs]
    assert [[bool(table.get_bit(index)) for table in tables] for index in indices] == expected.tolist()


@pytest.mark.parametrize("problem", ["regex:(a|b)*abb|c?", "group:S3", "regex:", "regex:[^a]*"])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_an_automaton_as_gates(problem, length):
    automaton = parse_problem(problem).automaton
    count = len(automaton.tokens)
    side = AutomatonDecider(automaton, list(range(count)))
    numbers = np.array(list(product(range(count), repeat=length)), dtype=np.int64).reshape(count**length, length)
    circuit = circuit_of(side, WordEncoding(count, length))
    actual = circuit.evaluate(bits_of(numbers, count))
    expected = []
    for row in numbers.tolist():
        state = automaton.start
        for token in row:
            state = automaton.delta[state, token]
        expected.append([bool(automaton.accepting[state]), False, False])
    assert actual.tolist() == expected


def test_a_circuit_as_a_side_reads_its_letters():
    circuit = random_circuit(3, 4, 9, outputs=3)
    inputs = np.array(list(product([0, 1], repeat=4)))
    for bits in ([0, 1], [1, 0]):
        side = circuit_of(CircuitDecider(circuit, bits, outputs=2), WordEncoding(2, 4))
        expected = circuit.evaluate(np.array(bits)[inputs])[:, -2:]
        assert np.array_equal(side.evaluate(inputs)[:, :2], expected)


def test_an_expression_as_a_side():
    problem = parse_problem("expr:a-b")
    letters = list(problem.letters)
    builder = CircuitBuilder(WordEncoding(len(letters), problem.length).names())
    encoding = WordEncoding(len(letters), problem.length)
    decision = ExpressionDecider(problem.shape, letters).decide(builder, encoding.literals(builder))
    (answers,) = decision.answers
    circuit = builder.circuit([*answers.values(), decision.fails])
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, len(letters), (300, problem.length))
    shape = [letters.index(s) for s in "-="]
    numbers[:150, [1, 3]] = shape
    actual = circuit.evaluate(bits_of(numbers, len(letters)))
    fits = 0
    for row, outputs in zip(numbers.tolist(), actual.tolist(), strict=True):
        value = problem.outcome(" ".join(letters[k] for k in row)).value
        name = "reject" if value is None else f"symbol {value}"
        fits += value is not None
        assert [answer for answer, holds in zip([*answers, "none"], outputs, strict=True) if holds] == [name]
    assert 20 <= fits < 280


class Constant:
    """A side that always says the same, or fails."""

    def __init__(self, answer, none=0):
        self._decision = Decision([{answer: 1}], none)

    def decide(self, builder, letters):  # noqa: ARG002
        return self._decision


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Constant("accept"), Constant("accept"), True),
        (Constant("accept"), Constant("reject"), False),
        (Constant("symbol x"), Constant("reject"), False),
        (Constant("symbol x"), Constant("symbol y"), False),
        (Constant("accept"), Constant("accept", 1), False),
        (Constant("accept", 1), Constant("accept", 1), False),
    ],
)
def test_a_miter_is_unequal_wherever_an_answer_differs_or_a_run_fails(one, other, same):
    circuit, pairs = miter((one, other), WordEncoding(2, 1))
    values = circuit.evaluate(np.array([[False], [True]]))
    equal = values[:, ::2] == values[:, 1::2]
    assert pairs.size == values.shape[1]
    assert equal.all() == same
