"""Checks of circuits as masked diffusion and looped transformers: the direction that is built."""

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
    """Return the model of a family's circuit, even where `compile` uses a recurrence instead."""
    return family_circuit_compiler(FamilyProblem(family), length).compile(kind, length, Precision(precision))


def constant_depth(effort: Effort) -> Evidence:
    """Circuits of constant depth: as many steps at every N."""
    cases = 0
    for family in ("contains-aba", "equal-halves"):
        cases += _decided(family, (4, 8), effort)
        steps = {circuit_model(family, "mdm", n).steps for n in (6, 8, 12)}
        require(len(steps) == 1, f"family:{family} takes {sorted(steps)} steps")
    return Evidence(
        "two families of constant depth as mdm and plt, against plain Python; the same steps at every N", cases
    )


def logarithmic_depth(effort: Effort) -> Evidence:
    """Circuits of logarithmic depth: a constant number of steps more with every doubling of N."""
    cases = 0
    for family in ("parity", "formula"):
        cases += _decided(family, (4, 8), effort)
        steps = [circuit_model(family, "mdm", n).steps for n in (4, 8, 16)]
        require(steps[1] - steps[0] == steps[2] - steps[1], f"family:{family} takes {steps} steps")
    return Evidence("two families of logarithmic depth as mdm and plt, against plain Python; steps per doubling", cases)


def _decided(family: str, lengths: tuple[int, ...], effort: Effort) -> int:
    cases = 0
    for kind in BOTH:
        for length in lengths:
            model = circuit_model(family, kind, length)
            verdict = verify_model(model, method="sample", cases=effort.of(40))
            require(verdict.status == "held", f"family:{family} as {kind} is wrong on {verdict.counterexample!r}")
            cases += verdict.cases
    return cases


# Checks of models as circuits: the depth is a constant per step, whatever N.
#
# What runs is the construction of verification/circuits/constant_depth.py: it is the proof, and its bound is a formula
# in which N does not occur. The checks try the circuits on words, compare their depth with the formula, and measure
# where it stops growing.


MOST_WORDS = 64
# the last two lengths of each are equally deep
LENGTHS = {"contains-aba": (4, 9, 10), "equal-halves": (4, 8, 10)}
RANDOM_LENGTHS = (4, 8, 12)


def constantly_many_steps(effort: Effort) -> Evidence:
    """Two families of circuits, compiled and extracted again, and random weights with two steps."""
    cases = 0
    for family, lengths in islice(LENGTHS.items(), effort.of(len(LENGTHS))):
        depths = {}
        for length in lengths:
            found, depths[length], _ = _extracted(family, "mdm", length, effort)
            cases += found
        cases += _extracted(family, "plt", 4, effort)[0]
        _stops(depths, f"family:{family}")
    depths = {}
    for length in RANDOM_LENGTHS:
        model = random_diffusion(27, length)
        circuit = _bounded(model)
        cases += _agrees_with_runs(model, circuit, effort)
        depths[length] = circuit.depth
    _stops(depths, "a random mdm")
    return Evidence(
        "models of two steps extracted as circuits of AND, OR and NOT, p = 1: two families against plain Python, "
        "random weights against the reference engine; below a bound without N, and no deeper at N = 10 than at 8 or "
        "9 (random: 12 than at 8)",
        cases,
    )


def depth_per_step(effort: Effort) -> Evidence:
    """Families of logarithmic depth: every further step of the model makes the circuit deeper by the same."""
    cases = 0
    growth = set()
    for family, lengths in (("formula", (4, 8)), ("parity", (2, 4))):
        measured = []
        for length in lengths:
            found, depth, steps = _extracted(family, "mdm", length, effort)
            measured.append((steps, depth))
            cases += found
        for (steps, depth), (more, deeper) in pairwise(measured):
            growth.add((deeper - depth) * 100 // (more - steps))
        cases += _extracted(family, "plt", lengths[0], effort)[0]
    require(len(growth) == 1, f"a step adds {sorted(growth)} hundredths of a level, not the same everywhere")
    return Evidence(
        "models of logarithmically many steps extracted as circuits, p = 1, against plain Python; below T times a "
        f"bound without N, and {growth.pop() // 100} levels more per step at every N",
        cases,
    )


def _extracted(family: str, kind: Kind, length: int, effort: Effort) -> tuple[int, int, int]:
    """Return (words tried, depth, steps) of a compiled family that is extracted again and must decide the same."""
    problem = FamilyProblem(family)
    model = circuit_model(family, kind, length, precision=1)
    circuit = _bounded(model)
    words = _words(problem.letters, length, effort)
    found = circuit.evaluate(_bits(model, words))
    for word, (undefined, rejected, accepted) in zip(words, found.tolist(), strict=True):
        right = problem.outcome(word).accepted
        said = (undefined, rejected, accepted)
        require(said == (False, not right, right), f"the circuit of {problem.name} as {kind} says {said} on {word!r}")
    return len(words), circuit.depth, model.steps


def _agrees_with_runs(model: Model, circuit: Circuit, effort: Effort) -> int:
    words = _words(("a", "b"), model.length, effort)
    said = circuit.evaluate(_bits(model, words)).tolist()
    for word, (undefined, rejected, accepted), right in zip(
        words, said, outcomes(model, words, ReferenceEngine()), strict=True
    ):
        expected = right.error is not None, right == REJECTED, right == ACCEPTED
        agree = undefined if expected[0] else (undefined, rejected, accepted) == expected
        require(agree, f"the circuit of a random mdm differs from its run on {word!r}, which is {right}")
    return len(words)


def _bounded(model: Model) -> Circuit:
    circuit, bound = constant_depth_model(model), model_depth(model)
    require(circuit.depth <= bound, f"the circuit is {circuit.depth} deep, beyond {bound}, at N = {model.length}")
    return circuit


def _stops(depths: dict[int, int], what: str) -> None:
    *_, before, last = depths.values()
    require(0 < before == last, f"the depth of {what} still grows: {depths}")


def _words(letters: tuple[str, str], length: int, effort: Effort) -> list[str]:
    """Return all words if they are few; otherwise random words, and some whose halves are equal."""
    if 2**length <= MOST_WORDS:
        return ["".join(word) for word in product(letters, repeat=length)]
    rng = random.Random(length)
    drawn = ["".join(rng.choice(letters) for _ in range(length)) for _ in range(effort.of(MOST_WORDS))]
    twice = [word[: length // 2] * 2 + word[: length % 2] for word in drawn[::2]]
    return drawn + twice


def _bits(model: Model, words: list[str]) -> np.ndarray:
    tokens = np.array([[model.token[letter] for letter in word] for word in words])
    return token_bits(tokens, [model.token[s] for s in model.input_symbols])
