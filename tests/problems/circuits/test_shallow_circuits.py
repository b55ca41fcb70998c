"""Shallow circuits of the families: compared with the oracles, and their depth."""

import random
from itertools import pairwise

import numpy as np
import pytest

from unmask.errors import ProblemError, WordError
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.circuit_problems import FamilyProblem
from unmask.problems.circuits.circuit import collapsed
from unmask.problems.circuits.circuit_families import FAMILIES
from unmask.problems.circuits.shallow_circuits import shallow_circuit


def lengths_of(name, most):
    return [n for n in range(1, most) if FAMILIES[name].fits(n)]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_circuit_agrees_with_the_oracle(name):
    problem, rng = FamilyProblem(name), random.Random(name)
    for length in lengths_of(name, 26):
        circuit = collapsed(shallow_circuit(name, length))
        words = [[rng.randint(0, 1) for _ in range(length)] for _ in range(40)]
        words += [[0] * length, [1] * length, [i % 2 for i in range(length)]]
        actual = circuit.evaluate(np.array(words, dtype=bool))
        for word, outputs in zip(words, actual.tolist(), strict=True):
            assert list(problem.outcome([problem.letters[bit] for bit in word]).bits) == outputs


@pytest.mark.parametrize(("name", "depth"), [("contains-aba", 2), ("equal-halves", 2), ("addition", 5)])
def test_constant_depth(name, depth):
    depths = {collapsed(shallow_circuit(name, length)).depth for length in (8, 16, 64)}
    assert depths == {depth}


@pytest.mark.parametrize(
    ("name", "per_doubling"), [("parity", 2), ("majority", 5), ("formula", 1), ("multiplication", 5)]
)
def test_logarithmic_depth(name, per_doubling):
    depths = [collapsed(shallow_circuit(name, length)).depth for length in (8, 16, 32)]
    assert all(0 < b - a <= per_doubling for a, b in pairwise(depths)), depths


def test_sorting_takes_the_square_of_the_logarithm():
    for t in range(1, 7):
        circuit = shallow_circuit("sorting", 1 << t)
        assert circuit.depth == t * (t + 1) // 2
        assert circuit.depth - 1 <= collapsed(circuit).depth <= circuit.depth  # wide gates save at most one level


def test_reachability_squares_the_matrix():
    for n in (2, 3, 4, 8):
        assert collapsed(shallow_circuit("reachability", n * n)).depth <= 2 * (n - 1).bit_length()


def test_bad_names_lengths_and_letters_are_refused():
    with pytest.raises(ProblemError, match="unknown family 'parrity'; use one of contains-aba"):
        parse_problem("family:parrity")
    with pytest.raises(ProblemError, match="words of length 2, 4, 6"):
        FamilyProblem("addition").check_length(7)
    with pytest.raises(WordError, match="made of a and b"):
        FamilyProblem("contains-aba").outcome("abc")


def test_json_round_trip():
    problem = parse_problem("family:parity")
    assert problem_from_json(problem.to_json()) == problem
