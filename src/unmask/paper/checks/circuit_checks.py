"""Checks of both directions between circuits and models: circuits compiled as models, and models as circuits."""

import random
from itertools import islice, pairwise, product

import numpy as np

from unmask.api import verify_model
from unmask.compilers.circuit_compiler import family_circuit_compiler
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.problems.circuit_problems import FamilyProblem
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.problem import ACCEPTED, REJECTED
from unmask.testing.random_transformer import random_diffusion
from unmask.verification.circuits.constant_depth import constant_depth_model, model_depth, token_bits
from unmask.verification.model_outcomes import outcomes
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

BOTH: tuple[Kind, ...] = ("mdm", "plt")


def circuit_model(family: str, kind: Kind, length: int, precision: int = 2) -> Model:
    """Return the model of a family's circuit, even if `compile` would use a recurrence instead."""
    return family_circuit_compiler(FamilyProblem(family), length).compile(kind, length, Precision(precision))


def constant_depth(effort: Effort) -> Evidence:
    """Check models of circuits of constant depth: the same number of steps at every N."""
    cases = 0
    for family in ("contains-aba", "equal-halves"):
        cases += _verify_family(family, (4, 8), effort)
        steps = {circuit_model(family, "mdm", n).steps for n in (6, 8, 12)}
        require(len(steps) == 1, f"family:{family} takes {sorted(steps)} steps")
    return Evidence(
        "two families of constant depth as mdm and plt, against plain Python; the same steps at every N", cases
    )


def logarithmic_depth(effort: Effort) -> Evidence:
    """Check models of circuits of logarithmic depth: each doubling of N adds the same number of steps."""
    cases = 0
    for family in ("parity", "formula"):
        cases += _verify_family(family, (4, 8), effort)
        steps = [circuit_model(family, "mdm", n).steps for n in (4, 8, 16)]
        require(steps[1] - steps[0] == steps[2] - steps[1], f"family:{family} takes {steps} steps")
    return Evidence("two families of logarithmic depth as mdm and plt, against plain Python; steps per doubling", cases)


def _verify_family(family: str, lengths: tuple[int, ...], effort: Effort) -> int:
    """Verify the models of a family on sampled words; return the number of words."""
    cases = 0
    for kind in BOTH:
        for length in lengths:
            model = circuit_model(family, kind, length)
            verdict = verify_model(model, method="sample", cases=effort.of(40))
            require(verdict.status == "held", f"family:{family} as {kind} is wrong on {verdict.counterexample!r}")
            cases += verdict.cases
    return cases


# Checks of models as circuits: each step adds a constant depth, which does not depend on N.
#
# The construction of verification/circuits/constant_depth.py is the proof, and N does not occur in the formula of its
# bound. The checks evaluate the circuits on words, compare their depth with the formula, and measure from which N on
# the depth stays the same.


MOST_WORDS = 64
# the last two lengths of each are equally deep
LENGTHS = {"contains-aba": (4, 9, 10), "equal-halves": (4, 8, 10)}
RANDOM_LENGTHS = (4, 8, 12)


def constantly_many_steps(effort: Effort) -> Evidence:
    """Check circuits of models with two steps: of two families, compiled and extracted, and of random weights."""
    cases = 0
    for family, lengths in islice(LENGTHS.items(), effort.of(len(LENGTHS))):
        depths = {}
        for length in lengths:
            words, depths[length], _ = _check_extraction(family, "mdm", length, effort)
            cases += words
        cases += _check_extraction(family, "plt", 4, effort)[0]
        _require_constant_depth(depths, f"family:{family}")
    depths = {}
    for length in RANDOM_LENGTHS:
        model = random_diffusion(27, length)
        circuit = _circuit_within_bound(model)
        cases += _compare_with_runs(model, circuit, effort)
        depths[length] = circuit.depth
    _require_constant_depth(depths, "a random mdm")
    return Evidence(
        "models of two steps extracted as circuits of AND, OR and NOT, p = 1: two families against plain Python, "
        "random weights against the reference engine; depth below a bound that does not depend on N, and the same at "
        "N = 10 as at 8 or 9 (random weights: at 12 as at 8)",
        cases,
    )


def depth_per_step(effort: Effort) -> Evidence:
    """Check circuits of models of families of logarithmic depth: each further step adds the same depth."""
    cases = 0
    growth = set()
    for family, lengths in (("formula", (4, 8)), ("parity", (2, 4))):
        measured = []
        for length in lengths:
            words, depth, steps = _check_extraction(family, "mdm", length, effort)
            measured.append((steps, depth))
            cases += words
        for (steps, depth), (more_steps, greater_depth) in pairwise(measured):
            growth.add((greater_depth - depth) * 100 // (more_steps - steps))
        cases += _check_extraction(family, "plt", lengths[0], effort)[0]
    require(len(growth) == 1, f"a step adds {sorted(growth)} hundredths of a level, not the same everywhere")
    return Evidence(
        "models of logarithmically many steps extracted as circuits, p = 1, against plain Python; depth below T times "
        f"a bound that does not depend on N; {growth.pop() // 100} more levels per step at every N",
        cases,
    )


def _check_extraction(family: str, kind: Kind, length: int, effort: Effort) -> tuple[int, int, int]:
    """Compare the circuit extracted from a compiled family with the problem; return (words tried, depth, steps)."""
    problem = FamilyProblem(family)
    model = circuit_model(family, kind, length, precision=1)
    circuit = _circuit_within_bound(model)
    words = _words(problem.letters, length, effort)
    outputs = circuit.evaluate(_bits(model, words)).tolist()
    for word, (undefined, rejected, accepted) in zip(words, outputs, strict=True):
        expected = problem.outcome(word).accepted
        actual = (undefined, rejected, accepted)
        agree = actual == (False, not expected, expected)
        require(agree, f"the circuit of {problem.name} as {kind} says {actual} on {word!r}")
    return len(words), circuit.depth, model.steps


def _compare_with_runs(model: Model, circuit: Circuit, effort: Effort) -> int:
    """Compare a circuit with runs of its model; return the number of words."""
    words = _words(("a", "b"), model.length, effort)
    outputs = circuit.evaluate(_bits(model, words)).tolist()
    runs = outcomes(model, words, ReferenceEngine())
    for word, (undefined, rejected, accepted), outcome in zip(words, outputs, runs, strict=True):
        expected = outcome.error is not None, outcome == REJECTED, outcome == ACCEPTED
        agree = undefined if expected[0] else (undefined, rejected, accepted) == expected
        require(agree, f"the circuit of a random mdm differs from its run on {word!r}, which is {outcome}")
    return len(words)


def _circuit_within_bound(model: Model) -> Circuit:
    circuit, bound = constant_depth_model(model), model_depth(model)
    require(circuit.depth <= bound, f"the circuit is {circuit.depth} deep, beyond {bound}, at N = {model.length}")
    return circuit


def _require_constant_depth(depths: dict[int, int], subject: str) -> None:
    *_, before, last = depths.values()
    require(0 < before == last, f"the depth of {subject} still grows: {depths}")


def _words(letters: tuple[str, str], length: int, effort: Effort) -> list[str]:
    """Return all words if they are few; otherwise random words, and some whose halves are equal."""
    if 2**length <= MOST_WORDS:
        return ["".join(word) for word in product(letters, repeat=length)]
    rng = random.Random(length)
    random_words = ["".join(rng.choice(letters) for _ in range(length)) for _ in range(effort.of(MOST_WORDS))]
    equal_halves = [word[: length // 2] * 2 + word[: length % 2] for word in random_words[::2]]
    return random_words + equal_halves


def _bits(model: Model, words: list[str]) -> np.ndarray:
    tokens = np.array([[model.token[letter] for letter in word] for word in words])
    return token_bits(tokens, [model.token[s] for s in model.input_symbols])
