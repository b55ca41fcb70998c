"""Circuits of the shapes of public benchmarks, compiled from AIGER files and compared with separate simulators.

The small ones are simulated by aigverse on all inputs; arithmetic by Python's integers; the others by a few lines
that read the AIGER text and share nothing with the project's reader.
"""

import subprocess
import sys

import numpy as np
import pytest
from aigverse import algorithms, io

from programs.benchmark_circuits import (
    array_multiplier,
    c17,
    decoder,
    parity_tree,
    random_and_inverter_graph,
    ripple_adder,
)
from unmask.api import compile_problem
from unmask.engines.fast import FastEngine
from unmask.problems.circuits.circuit import trimmed
from unmask.problems.circuits.circuit_files import read_aiger, write_aiger
from unmask.reasoners.run_words import answers

KINDS = ("mdm", "plt", "cot")
SMALL = {
    "c17": c17(),
    "adder": ripple_adder(4),
    "multiplier": array_multiplier(3),
    "parity": parity_tree(9),
    "decoder": decoder(4),
    "graph": random_and_inverter_graph(5, 80, 8, 6),
}
LARGE = {
    "adder": ripple_adder(64),
    "multiplier": array_multiplier(16),
    "parity": parity_tree(256),
    "decoder": decoder(7),
    "graph": random_and_inverter_graph(1, 3000, 64, 32),
}


def simulated(text, words):
    """The outputs of an ASCII AIGER text whose gates come in order, as bits [words, outputs]."""
    lines = text.split("\n")
    _, _, inputs, _, output_count, gates = (int(x) if x.isdigit() else x for x in lines[0].split())
    rows = [[int(x) for x in line.split()] for line in lines[1 : 1 + inputs + output_count + gates]]
    outputs = []
    for word in words:
        value = {0: 0}
        value |= {row[0]: int(bit) for row, bit in zip(rows[:inputs], word, strict=True)}
        for gate, left, right in rows[inputs + output_count :]:
            value[gate] = (value[left & ~1] ^ left & 1) & (value[right & ~1] ^ right & 1)
        outputs.append([bool(value[row[0] & ~1] ^ row[0] & 1) for row in rows[inputs : inputs + output_count]])
    return np.array(outputs)


def model_outputs(path, kind, words):
    """The outputs of the model that is compiled from a file; those of a plt are the last output alone."""
    model = compile_problem(f"aiger:{path}", kind)
    slots = answers(model, words.astype(np.int64), engine=FastEngine()).slots
    count = 1 if kind == "plt" else len(read_aiger(path).outputs)
    assert np.isin(slots[:, -count:], [model.token[model.accept], model.token[model.reject]]).all()
    return slots[:, -count:] == model.token[model.accept]


def bits_of(numbers, width):
    return np.array([[number >> i & 1 for i in range(width)] for number in numbers], dtype=bool)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SMALL)
def test_small_ones_on_every_input(name, kind, tmp_path):
    path = tmp_path / "circuit.aag"
    path.write_text(write_aiger(SMALL[name]))
    tables = algorithms.simulate(io.read_ascii_aiger_into_aig(str(path)))
    expected = np.array([[table.get_bit(k) for k in range(table.num_bits())] for table in tables], dtype=bool).T
    words = bits_of(range(len(expected)), len(SMALL[name].inputs))
    actual = model_outputs(path, kind, words)
    assert np.array_equal(actual, expected[:, -actual.shape[1] :])


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in ("adder", "decoder") for kind in KINDS] + [("graph", "mdm"), ("multiplier", "plt")],
)
def test_large_ones_on_random_inputs(name, kind, tmp_path):
    check_large(name, kind, tmp_path, 4)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LARGE)
def test_all_large_ones_on_more_inputs(name, kind, tmp_path):
    check_large(name, kind, tmp_path, 32)


def check_large(name, kind, folder, count):
    path = folder / "circuit.aag"
    path.write_text(write_aiger(LARGE[name]))
    words = np.random.default_rng(len(name)).integers(0, 2, (count, len(LARGE[name].inputs)))
    actual = model_outputs(path, kind, words)
    assert np.array_equal(actual, simulated(path.read_text(), words)[:, -actual.shape[1] :])


@pytest.mark.parametrize(("width", "operation"), [(16, "adder"), (8, "multiplier")])
def test_arithmetic_is_that_of_integers(width, operation, tmp_path):
    path = tmp_path / "circuit.aag"
    path.write_text(write_aiger(ripple_adder(width) if operation == "adder" else array_multiplier(width)))
    a, b = np.random.default_rng(width).integers(0, 1 << width, (2, 20)).tolist()
    words = np.hstack([bits_of(a, width), bits_of(b, width)])
    expected = [x + y if operation == "adder" else x * y for x, y in zip(a, b, strict=True)]
    actual = model_outputs(path, "mdm", words)
    assert np.array_equal(actual, bits_of(expected, actual.shape[1]))


def test_a_gate_that_reads_the_wrong_wire_is_caught(tmp_path):
    path = tmp_path / "circuit.aag"
    path.write_text(write_aiger(c17()))
    words = bits_of(range(32), 5)
    header, *rest = path.read_text().split("\n")
    gate = next(i for i, line in enumerate(rest) if len(line.split()) == 3)
    target, left, right = rest[gate].split()
    rest[gate] = f"{target} {int(left) ^ 1} {right}"
    assert not np.array_equal(model_outputs(path, "mdm", words), simulated("\n".join([header, *rest]), words))


def test_the_command_line_runs_them(tmp_path):
    """Compile and run in separate processes: the outputs of c17 as `run --json` prints them."""
    path = tmp_path / "c17.aag"
    path.write_text(write_aiger(c17()))

    def unmask(*arguments):
        command = [sys.executable, "-m", "unmask", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)

    assert unmask("compile", "aiger:c17.aag", "--to", "mdm", "--out", "model").returncode == 0
    process = unmask("run", "model", "10110", "--json")
    expected = simulated(path.read_text(), [[1, 0, 1, 1, 0]])[0]
    assert f'"outputs": [{int(expected[0])}, {int(expected[1])}]' in " ".join(process.stdout.split())


def test_trimming_keeps_the_function():
    circuit = random_and_inverter_graph(2, 300, 10, 3)
    words = np.random.default_rng(0).integers(0, 2, (200, 10))
    small = trimmed(circuit)
    assert len(small.gates) < len(circuit.gates)
    assert np.array_equal(small.evaluate(words), circuit.evaluate(words))
