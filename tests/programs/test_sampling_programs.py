"""Random circuits as models: the weights have the law of the circuit, and broken ones have another."""

import json
import random
from fractions import Fraction
from itertools import pairwise
from math import ceil, log2
from pathlib import Path

import pytest

from unmask import compile_problem
from unmask.compilers.sampling_models import random_circuit_of, sampling_model
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, TooLarge
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import parse_problem
from unmask.problems.random_circuits import (
    COPY,
    XOR,
    Coin,
    Layout,
    RandomCircuit,
    TableGate,
    even_parity,
    with_random_inputs,
)
from unmask.programs.sampling_programs import coin_probability, counter_bits
from unmask.reasoners.sampled_law import sampled_law
from unmask.samplers.write_once_parity import write_once_distance

from .parity_on_grid import distance_on_grid


def random_circuit(rng):
    nodes = [Coin() for _ in range(rng.randrange(1, 4))]
    for _ in range(rng.randrange(8)):
        table = tuple(rng.random() < 0.5 for _ in range(4))
        gate = TableGate(table, rng.randrange(len(nodes)), rng.randrange(len(nodes)))
        nodes.append(Coin() if rng.random() < 0.15 else gate)
    return RandomCircuit(tuple(nodes), tuple(rng.randrange(len(nodes)) for _ in range(rng.randrange(1, 4))))


def law_of(model, engine):
    law = {}
    for tokens, chance in sampled_law(model, engine=engine).items():
        text = "".join(model.vocabulary[t] for t in tokens[-model.outputs :])
        law[text] = law.get(text, Fraction(0)) + chance
    return dict(sorted(law.items()))


@pytest.mark.parametrize("engine", [FastEngine(), ReferenceEngine()], ids=["fast", "reference"])
@pytest.mark.parametrize("p", [2, 3])
def test_random_circuits_have_their_law(p, engine):
    for seed in range(12):
        circuit = random_circuit(random.Random(seed))
        law = circuit.law(coin_probability(Precision(p)))
        once, rewritten = sampling_model(circuit, p, "circuit"), sampling_model(circuit.in_place(), p, "circuit")
        assert law_of(once, engine) == law, seed
        assert law_of(rewritten, engine) == law, seed
        repeats = len(circuit.outputs) - len(set(circuit.outputs))
        assert once.steps == rewritten.steps == circuit.depth + (circuit.depth == 1 and repeats > 0)
        assert once.padding <= len(circuit.nodes) + repeats
        assert rewritten.padding == circuit.width + counter_bits(rewritten.steps)


def test_a_chain_of_gates_is_sampled_in_few_slots_by_rewriting():
    """y ← y ⊕ coin, nine times: two slots and a counter, where writing once takes a slot for each of 19 nodes."""
    nodes = [Coin()]
    for _ in range(9):
        last = len(nodes) - 1
        nodes += [Coin(), TableGate(XOR, last, last + 1)]
    circuit = RandomCircuit(tuple(nodes), (len(nodes) - 1,))
    model = sampling_model(circuit, 2, "chain")
    assert (model.padding, model.steps) == (19, 10)
    layout = circuit.in_place()
    assert len(layout.passes) == 10
    assert layout.slots == 2  # a coin is tossed when it is needed
    rewritten = sampling_model(layout, 2, "chain")
    assert (rewritten.padding, rewritten.steps) == (2 + 4, 10)  # ⌈log2(10 - 1)⌉ = 4
    assert law_of(rewritten, FastEngine()) == circuit.law(coin_probability(Precision(2)))


def test_a_coin_is_nearly_fair_and_a_decided_bit_is_certain():
    chances = [coin_probability(Precision(p)) for p in range(2, 7)]
    assert all(a < b < Fraction(1, 2) for a, b in pairwise(chances))
    assert 0.46 < chances[0] < 0.47
    layout = Layout(((Coin(), None), (TableGate(COPY, 0, 0), TableGate((True,) * 4, 0, 0))), 1)
    assert law_of(sampling_model(layout, 2, "one"), FastEngine()) == {"1": Fraction(1)}


def test_precision_1_is_refused_because_noise_could_change_a_decided_bit():
    with pytest.raises(ProblemError, match="at least 2"):
        sampling_model(even_parity(3), 1, "even")


@pytest.mark.parametrize("engine", [FastEngine(), ReferenceEngine()], ids=["fast", "reference"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_even_parity_in_two_passes(n, engine):
    model = compile_problem("coins:even-parity", "mdm", length=n)
    law = law_of(model, engine)
    assert (model.steps, model.padding) == (2, n)
    assert set(law) == {f"{x:0{n}b}" for x in range(2**n) if x.bit_count() % 2 == 0}
    q = coin_probability(model.precision)
    for text, chance in law.items():  # y is the running sum of z
        y = [sum(map(int, text[: i + 1])) % 2 for i in range(n - 1)]
        assert chance == q ** sum(y) * (1 - q) ** (n - 1 - sum(y))


def test_a_broken_layout_has_another_law():
    broken = Layout((even_parity(3).passes[0], (TableGate(COPY, 0, 0),) * 3), 3)
    assert law_of(sampling_model(broken, 2, "broken"), FastEngine()) != law_of(
        compile_problem("coins:even-parity", "mdm", length=3), FastEngine()
    )


def test_writing_once_cannot_do_it():
    """In two passes, with two operands a slot: exact up to three slots, half of the mass is lost from four on."""
    assert [write_once_distance(n) for n in (1, 2, 3, 4, 5)] == [0, 0, 0, Fraction(1, 2), Fraction(1, 2)]
    assert [write_once_distance(n, reads=1) for n in (2, 3)] == [0, Fraction(1, 2)]


def test_circuits_of_a_family():
    circuit = with_random_inputs(parse_problem("family:parity").specification(3).circuit)
    assert circuit.law() == {"0": Fraction(1, 2), "1": Fraction(1, 2)}
    for kind in ("smdm", "mdm"):
        model = compile_problem("coins:family:parity", kind, length=3)
        assert law_of(model, FastEngine()) == circuit.law(coin_probability(model.precision))


PAGE = Path(__file__).parents[2] / "docs" / "background" / "passes.md"


@pytest.mark.parametrize(("family", "length"), [("parity", 4), ("parity", 16), ("majority", 7), ("reachability", 16)])
def test_prices_are_within_the_bounds_and_are_those_of_the_page(family, length):
    name = f"coins:family:{family}"
    circuit = random_circuit_of(parse_problem(name.removeprefix("coins:")), length)
    d, w, size = circuit.depth, circuit.width, len(circuit.nodes)
    models = (compile_problem(name, kind, length=length) for kind in ("smdm", "mdm"))
    measured = [(model.steps, model.padding) for model in models]
    bounds = [(d, size), (d + 1, w + ceil(log2(d + 1)))]
    assert all(
        price <= bound for pair in zip(measured, bounds, strict=True) for price, bound in zip(*pair, strict=True)
    )
    prices = [f"{t}, {slots}" for pair in zip(measured, bounds, strict=True) for t, slots in pair]
    row = " | ".join([f"`{name}`, length {length}", str(d), str(w), str(size), *prices])
    assert f"| {row} |" in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("problem", "kind", "length", "message"),
    [
        ("coins:(a|b)*", "mdm", 3, "needs a circuit"),
        ("coins:family:parity", "mdm", None, "--length N"),
        ("coins:family:parity", "plt", 3, "smdm .* or mdm"),
        ("coins:even-parity", "smdm", 3, "--to mdm"),
        ("coins:even-parity", "mdm", 0, "length 1 or more"),
    ],
)
def test_messages(problem, kind, length, message):
    with pytest.raises(ProblemError, match=message):
        compile_problem(problem, kind, length=length)


def test_the_law_on_the_command_line(unmask, tmp_path):
    folder = str(tmp_path / "even")
    assert unmask("compile", "coins:even-parity", "--length", "3", "--to", "mdm", "--out", folder)[0] == 0
    code, out, _ = unmask("sample", folder, "--law")
    assert code == 0
    assert sorted(line.split()[0] for line in out.splitlines()) == ["000", "011", "101", "110"]
    code, out, _ = unmask("sample", folder, "--count", "20")
    assert set(out.split()) <= {"000", "011", "101", "110"}


@pytest.mark.parametrize("kind", ["smdm", "mdm"])
def test_samples_on_the_command_line_are_outputs_alone(unmask, tmp_path, kind):
    folder = str(tmp_path / kind)
    assert unmask("compile", "coins:family:parity", "--length", "3", "--to", kind, "--out", folder)[0] == 0
    assert set(unmask("sample", folder, "--count", "12")[1].split()) == {"0", "1"}
    samples = json.loads(unmask("sample", folder, "--count", "3", "--json")[1])["samples"]
    assert all(len(sample["output"]) == 1 for sample in samples)


def test_other_probabilities_come_closer_than_fair_coins_but_not_to_even_parity():
    """The numbers of docs/background/passes.md."""
    assert all(distance_on_grid(n, 2) == (0, write_once_distance(n)) for n in (2, 3, 4))
    assert distance_on_grid(3, 16)[1] == 0
    lower, upper = distance_on_grid(4, 64)
    assert 0.335 < lower == upper - Fraction(4, 128)
    assert 0.366 < upper < 0.367 < 2**0.5 - 1  # the best with fair address bits and two biased coins
    with pytest.raises(TooLarge, match="lengths from 2 to 4"):
        distance_on_grid(5, 8)
