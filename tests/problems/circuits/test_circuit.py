"""Circuits: evaluation, equivalent shapes, AIGER files compared with an independent reader."""

import random
from itertools import permutations, product

import numpy as np
import pytest
from aigverse import algorithms, io

from unmask.errors import ProblemError, TooLarge
from unmask.problems.catalogue import problem_from_json
from unmask.problems.circuit_problems import CircuitProblem
from unmask.problems.circuits.circuit import (
    FALSE,
    TRUE,
    Circuit,
    CircuitBuilder,
    Gate,
    collapsed,
    with_binary_gates,
    with_output_gates,
)
from unmask.problems.circuits.circuit_files import parse_aiger, read_aiger, write_aiger

HALF_ADDER = "aag 7 2 0 2 3\n2\n4\n6\n12\n6 13 15\n12 2 4\n14 3 5\ni0 x\ni1 y\no0 s\no1 c\nc\nhalf adder\n"


def random_circuit(seed, gates=20, inputs=5):
    rng = random.Random(seed)
    builder = CircuitBuilder(f"x{i}" for i in range(rng.randint(1, inputs)))
    literals = [builder.input(i) for i in range(len(builder.names))] + [FALSE]
    for _ in range(rng.randint(0, gates)):
        operation = rng.choice([builder.and_, builder.or_])
        literals.append(operation(*(rng.choice(literals) ^ rng.randint(0, 1) for _ in range(rng.randint(1, 5)))))
    return builder.circuit([rng.choice(literals) ^ rng.randint(0, 1) for _ in range(rng.randint(1, 3))])


def every_input(circuit):
    count = len(circuit.inputs)
    return np.array([[x >> i & 1 for i in range(count)] for x in range(2**count)], dtype=bool).reshape(-1, count)


@pytest.mark.parametrize("seed", range(60))
def test_every_shape_computes_the_same(seed):
    circuit = random_circuit(seed)
    bits = every_input(circuit)
    expected = circuit.evaluate(bits)
    flat = collapsed(circuit)
    assert np.array_equal(flat.evaluate(bits), expected)
    assert flat.depth <= circuit.depth
    narrow = with_binary_gates(circuit)
    assert np.array_equal(narrow.evaluate(bits), expected)
    assert all(len(gate.inputs) == 2 for gate in narrow.gates)
    inner, outputs = with_output_gates(circuit)
    first = circuit.first_gate + len(inner)
    rebuilt = Circuit(
        circuit.inputs, (*inner, *outputs), tuple(2 * (first + i) for i in range(len(outputs))), circuit.output_names
    )
    assert np.array_equal(rebuilt.evaluate(bits), expected)
    assert rebuilt.depth <= max(1, circuit.depth)


@pytest.mark.parametrize("seed", range(60))
def test_ascii_aiger_round_trip(seed):
    circuit = random_circuit(seed)
    again = parse_aiger(write_aiger(circuit).encode())
    assert (again.inputs, again.output_names) == (circuit.inputs, circuit.output_names)
    assert np.array_equal(again.evaluate(every_input(circuit)), circuit.evaluate(every_input(circuit)))


@pytest.mark.parametrize("seed", range(20))
def test_an_outside_reader_agrees_and_its_binary_files_are_read(seed, tmp_path):
    circuit = random_circuit(seed)
    path, packed = tmp_path / "c.aag", tmp_path / "c.aig"
    path.write_text(write_aiger(circuit))
    theirs = io.read_ascii_aiger_into_aig(str(path))
    io.write_aiger(theirs, str(packed))
    again = read_aiger(packed)
    assert np.array_equal(again.evaluate(every_input(circuit)), circuit.evaluate(every_input(circuit)))
    tables = algorithms.simulate(theirs)
    ours = circuit.evaluate(every_input(circuit))
    for i, table in enumerate(tables):
        assert [table.get_bit(k) for k in range(table.num_bits())] == ours[:, i].tolist()


def test_a_chain_of_ands_becomes_one_gate():
    builder = CircuitBuilder(f"x{i}" for i in range(64))
    value = builder.input(0)
    for i in range(1, 64):
        value = builder.and_(value, builder.input(i))
    chain = builder.circuit([value])
    assert (chain.depth, collapsed(chain).depth, collapsed(chain).wires) == (63, 1, 64)


def test_negations_turn_and_into_or():
    builder = CircuitBuilder("abcd")
    a, b, c, d = (builder.input(i) for i in range(4))
    value = builder.and_(builder.and_(a, b) ^ 1, builder.and_(c, d) ^ 1) ^ 1  # (a ∧ b) ∨ (c ∧ d)
    assert collapsed(builder.circuit([value])).depth == 2


def test_symbol_tables_are_read():
    circuit = parse_aiger(HALF_ADDER.encode())
    assert circuit.inputs == ("x", "y")
    assert circuit.output_names == ("s", "c")
    assert circuit.evaluate(np.array([[1, 1], [1, 0]], dtype=bool)).tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends too early"),
        ("hello", "must start with"),
        ("aag 1 0 1 0 0\n2 3\n", "1 latches"),
        ("aag 1 1 0 1 0\n2\n9\n", "literal 9, beyond 3"),
        ("aag 2 1 0 1 1\n2\n4\n5 2 2\n", "not three literals"),
        ("aag 3 1 0 1 1\n2\n4\n4 6 2\n", "which nothing defines"),
        ("aag 3 1 0 1 2\n2\n4\n4 6 2\n6 4 2\n", "has a cycle"),
        ("aag 2 1 0 1 1\n2\n4\n2 2 2\n", "defines a variable twice"),
        ("aag x 1 0 1 1\n", "where a number is needed"),
        ("aig 2 1 0 1 1\n4\n\xff", "cut off within its and-gates"),
        ("aag 1 1 0 1 0\n2\n2\ni7 name\n", "names no input or output"),
    ],
)
def test_damaged_files_are_refused(text, message):
    with pytest.raises(ProblemError, match=message):
        parse_aiger(text.encode("latin-1"))


def test_gates_may_come_in_any_order_and_share_what_they_read():
    """Gate 12 reads 8 and 10, and 10 also reads 8: this is not a cycle, in any order of the lines."""
    gates = ["12 8 10", "10 8 4", "8 2 4"]
    for order in permutations(gates):
        circuit = parse_aiger("\n".join(["aag 6 2 0 1 3", "2", "4", "12", *order]).encode())
        bits = np.array(list(product([False, True], repeat=2)))
        assert circuit.evaluate(bits).tolist() == [[x and y] for x, y in bits.tolist()]


def test_a_long_chain_in_reverse_order():
    """Each gate is listed before the gate that it reads; a quadratic search would not end."""
    count = 200_000
    chain = [f"{2 * k} {2 * k - 2} {2 * k - 2}" for k in range(count + 1, 1, -1)]
    text = "\n".join([f"aag {count + 1} 1 0 1 {count}", "2", str(2 * count + 2), *chain])
    circuit = parse_aiger(text.encode())
    assert [gate.inputs[0] for gate in circuit.gates] == [2 * k for k in range(1, count + 1)]


def test_an_absurd_header_is_refused_at_once():
    with pytest.raises(TooLarge, match="more than 2000000 variables"):
        parse_aiger(b"aag 999999999 999999999 0 1 0\n")


def test_gates_must_come_after_what_they_read():
    with pytest.raises(ProblemError, match="does not come before it"):
        Circuit(("x",), (Gate("and", (2, 4)),), (4,), ("o",))


def test_the_problem_survives_json():
    problem = CircuitProblem("aiger:half.aag", parse_aiger(HALF_ADDER.encode()))
    again = problem_from_json(problem.to_json())
    assert again.name == problem.name
    assert [again.outcome(w) for w in ("00", "01", "11")] == [problem.outcome(w) for w in ("00", "01", "11")]
    assert [problem.outcome(w).bits for w in ("00", "01", "11")] == [(False, False), (True, False), (False, True)]
    assert problem.outcome("11").accepted
    assert not problem.outcome("01").accepted


def test_constants_fold():
    builder = CircuitBuilder("a")
    a = builder.input(0)
    assert builder.and_(a, a ^ 1) == FALSE
    assert builder.or_(a, a ^ 1) == TRUE
    assert builder.and_() == TRUE
    assert builder.or_(a, FALSE) == a
