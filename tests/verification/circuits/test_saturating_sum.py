"""The flip-flop cascade compared with direct sums, on all terms if there are few, else on random ones."""

import random
from itertools import product

import numpy as np
import pytest

from unmask.numerics.arithmetic import Precision, total
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.verification.circuits import one_hot as sums


def sum_circuit(domains, precision, method):
    """A circuit whose inputs are the terms, one-hot, and whose outputs are the sum, one-hot, and its values."""
    builder = CircuitBuilder(f"x{i}={v}" for i, domain in enumerate(domains) for v in domain)
    wires = iter(range(len(builder.names)))
    terms = [{v: builder.input(next(wires)) for v in domain} for domain in domains]
    result = method(builder, terms, precision)
    return builder.circuit(list(result.values())), list(result)


def one_hot(words, domains):
    columns = [words[:, i] == v for i, domain in enumerate(domains) for v in domain]
    return np.stack(columns, axis=1)


def wrong_sums(words, domains, precision, method):
    circuit, values = sum_circuit(domains, precision, method)
    actual = circuit.evaluate(one_hot(words, domains))
    expected = total(words, precision)
    return int((actual != (expected[:, None] == np.array(values))).any(axis=1).sum()), circuit


@pytest.mark.parametrize("method", [sums.cascade_sum, sums.chain_sum, sums.saturating_sum])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_every_word_at_precision_one(method, count):
    precision = Precision(1)
    domains = [list(precision.numbers())] * count
    words = np.array(list(product(precision.numbers(), repeat=count)))
    assert wrong_sums(words, domains, precision, method)[0] == 0


def test_every_pair_at_precision_two():
    precision = Precision(2)
    words = np.array(list(product(precision.numbers(), repeat=2)))
    assert wrong_sums(words, [list(precision.numbers())] * 2, precision, sums.cascade_sum)[0] == 0


@pytest.mark.parametrize(("p", "count"), [(1, 12), (1, 25), (2, 6), (2, 12)])
def test_random_words(p, count):
    precision = Precision(p)
    domains = [list(precision.numbers())] * count
    words = np.random.default_rng(count).integers(-precision.bound, precision.bound + 1, (3000, count))
    wrong, circuit = wrong_sums(words, domains, precision, sums.cascade_sum)
    assert wrong == 0
    assert circuit.depth <= sums.sum_depth(precision)


@pytest.mark.parametrize("seed", range(40))
def test_terms_that_take_few_values(seed):
    """Other ranges, constants in front, in between and behind, values that never occur."""
    rng = random.Random(seed)
    precision = Precision(rng.choice((1, 2)))
    domains = [
        sorted(rng.sample(list(precision.numbers()), rng.choice((1, 1, 2, 3)))) for _ in range(rng.randint(1, 7))
    ]
    words = np.array(list(product(*domains)))
    for method in (sums.cascade_sum, sums.saturating_sum):
        assert wrong_sums(words, domains, precision, method)[0] == 0


def test_nothing_and_constants_sum_to_a_constant():
    builder, precision = CircuitBuilder(()), Precision(1)
    for method in (sums.cascade_sum, sums.chain_sum, sums.saturating_sum):
        assert method(builder, [], precision) == {0: 1}
        assert method(builder, [{3: 1}, {2: 1}, {-1: 1}], precision) == {2: 1}
    assert not builder.gates


def depths(method, counts):
    precision = Precision(1)
    return [sum_circuit([list(precision.numbers())] * n, precision, method)[0].depth for n in counts]


def test_the_cascade_stops_growing_and_the_chain_does_not():
    counts = (4, 8, 16, 24)
    cascade, chain = depths(sums.saturating_sum, counts), depths(sums.chain_sum, counts)
    assert cascade[2] == cascade[3] <= sums.sum_depth(Precision(1))
    assert chain == [2 * (n - 1) for n in counts]


def never_reset(builder, sets, resets, initially):
    return real_flip_flop(builder, sets, [0] * len(resets), initially)


def always_low(builder, sets, resets, initially):  # noqa: ARG001
    return real_flip_flop(builder, sets, resets, False)


real_flip_flop = sums._flip_flop


@pytest.mark.parametrize("broken", [never_reset, always_low])
def test_a_broken_flip_flop_is_caught(monkeypatch, broken):
    monkeypatch.setattr(sums, "_flip_flop", broken)
    precision = Precision(1)
    words = np.array(list(product(precision.numbers(), repeat=4)))
    assert wrong_sums(words, [list(precision.numbers())] * 4, precision, sums.cascade_sum)[0] > 0
