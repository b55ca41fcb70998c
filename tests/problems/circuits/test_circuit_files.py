"""BLIF files, compared with an evaluator that reads the text independently; files that are damaged or not flat."""

import random
from itertools import product

import numpy as np
import pytest

from problems.circuits.test_circuit import every_input
from unmask.errors import ProblemError, TooLarge
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.circuits import circuit_files
from unmask.problems.circuits import circuit_files as circuit_file
from unmask.problems.circuits.circuit_files import parse_blif, read_blif

FULL_ADDER = """# one bit
.model adder
.inputs a b \\
        c
.outputs s carry
.names a b c s   # odd
001 1
010 1
100 1
111 1
.names a b c carry
00- 0
0-0 0
-00 0
.end
"""


def random_text(seed):
    """Tables over earlier signals, written in a random order, of both phases, with constants and unused signals."""
    rng = random.Random(seed)
    inputs = [f"i{k}" for k in range(rng.randint(1, 5))]
    signals, tables = list(inputs), []
    for k in range(rng.randint(1, 12)):
        reads = rng.sample(signals, rng.randint(0, min(4, len(signals))))
        value = rng.choice("01")
        rows = {"".join(rng.choice("01-") for _ in reads) for _ in range(rng.randint(0, 4))}
        tables.append("\n".join([f".names {' '.join([*reads, f'n{k}'])}", *(f"{row} {value}" for row in rows)]))
        signals.append(f"n{k}")
    rng.shuffle(tables)
    outputs = rng.choices(signals, k=rng.randint(1, 3))
    return "\n".join([".model m", f".inputs {' '.join(inputs)}", f".outputs {' '.join(outputs)}", *tables, ".end"])


def value_of(text, signal, inputs):
    """Return the value of a signal of a text without comments and continuations, looked up row by row."""
    if signal in inputs:
        return inputs[signal]
    blocks = [block.split("\n") for block in text.split("\n.")]
    head, *rows = next(b for b in blocks if b[0].split()[0].endswith("names") and b[0].split()[-1] == signal)
    values = [value_of(text, read, inputs) for read in head.split()[1:-1]]
    rows = [row.split() if head.split()[1:-1] else ["", row.strip()] for row in rows if row]
    if not rows:
        return False
    hit = any(all(c in ("-", str(int(v))) for c, v in zip(cube, values, strict=True)) for cube, _ in rows)
    return hit == (rows[0][1] == "1")


def differing_inputs(text):
    """Return the number of inputs on which the circuit of a text and the evaluator differ."""
    circuit = parse_blif(text)
    count = 0
    for bits, row in zip(every_input(circuit), circuit.evaluate(every_input(circuit)), strict=True):
        inputs = dict(zip(circuit.inputs, bits.tolist(), strict=True))
        count += [value_of(text, signal, inputs) for signal in circuit.output_names] != row.tolist()
    return count


@pytest.mark.parametrize("seed", range(80))
def test_tables_mean_what_an_independent_evaluator_says(seed):
    assert differing_inputs(random_text(seed)) == 0


def test_a_reader_that_forgets_the_phase_is_caught(monkeypatch):
    real = circuit_files._gate
    monkeypatch.setattr(
        circuit_files, "_gate", lambda *a: real(a[0], circuit_files._Table(0, a[1].reads, a[1].rows), a[2])
    )
    assert sum(differing_inputs(random_text(seed)) > 0 for seed in range(20)) >= 5


def test_comments_continuations_and_both_phases():
    circuit = parse_blif(FULL_ADDER)
    assert (circuit.inputs, circuit.output_names) == (("a", "b", "c"), ("s", "carry"))
    bits = np.array(list(product((0, 1), repeat=3)))
    total = bits.sum(axis=1)
    assert np.array_equal(circuit.evaluate(bits), np.stack([total % 2 == 1, total >= 2], axis=1))


def test_it_is_a_problem(tmp_path):
    (tmp_path / "adder.blif").write_text(FULL_ADDER)
    problem = parse_problem(f"blif:{tmp_path / 'adder.blif'}")
    assert problem.name == "blif:adder.blif"
    again = problem_from_json(problem.to_json())
    assert [again.outcome(w).accepted for w in ("110", "100")] == [True, False]
    with pytest.raises(ProblemError, match="has no file name"):
        parse_problem("blif:")
    with pytest.raises(ProblemError, match="cannot be read"):
        parse_problem(f"blif:{tmp_path / 'missing.blif'}")


HEAD = ".model m\n.inputs a b\n.outputs f\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no .model"),
        (".model m\n.inputs a\n", "has no .outputs"),
        ("hello\n", "line 1, has 'hello' where a declaration is needed"),
        (HEAD + ".latch a f re c 0\n", "line 4, has a .latch; only combinational"),
        (HEAD + ".subckt and2 a=a b=b o=f\n", "line 4, has a .subckt; only flat"),
        (HEAD + ".gate and2 a=a b=b o=f\n", "line 4, has a .gate"),
        (HEAD + ".names a b f\n11 1\n.end\n.model n\n", "line 7, starts a second .model"),
        (HEAD + ".names a b f\n111 1\n", "line 5, has a row that is not 2 of"),
        (HEAD + ".names a b f\n1x 1\n", "has a row that is not 2 of"),
        (HEAD + ".names a b f\n11\n", "has a row that is not 2 of"),
        (HEAD + ".names a b f\n11 1\n00 0\n", "rows give both 0 and 1"),
        (HEAD + ".names a f\n1 1\n.names b f\n1 1\n", "line 6, defines the signal 'f' twice"),
        (HEAD + ".names b a\n1 1\n.names a f\n1 1\n", "defines the signal 'a' twice"),
        (HEAD + ".names a g f\n11 1\n", "reads the signal 'g', which nothing defines"),
        (HEAD + ".names g f\n1 1\n.names f g\n1 1\n", "has a cycle through the signal"),
        (HEAD + ".names f f\n1 1\n", "has a cycle through the signal 'f', defined in line 4"),
        (HEAD + ".names\n", "has a .names without a signal"),
        (HEAD + ".banana\n", "unknown declaration '.banana'"),
    ],
)
def test_damaged_files_are_refused(text, message):
    with pytest.raises(ProblemError, match=message):
        parse_blif(text)


def test_large_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "adder.blif"
    path.write_text(FULL_ADDER)
    monkeypatch.setattr(circuit_files, "MOST_SIGNALS", 3)
    with pytest.raises(TooLarge, match="too many signals"):
        read_blif(path)
    monkeypatch.setattr(circuit_file, "LARGEST_FILE", 10)
    with pytest.raises(TooLarge, match="has more than"):
        read_blif(path)


def test_a_long_chain_needs_no_recursion():
    tables = [f".names n{k} n{k + 1}\n0 1" for k in range(5000)]
    circuit = parse_blif("\n".join([".model m", ".inputs n0", ".outputs n5000", *reversed(tables)]))
    assert circuit.evaluate(np.array([[0], [1]])).ravel().tolist() == [False, True]
