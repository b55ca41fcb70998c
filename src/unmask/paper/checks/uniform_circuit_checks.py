"""Checks that both directions between circuits and models are uniform, with metered machines.

Circuits → models: a machine prints the circuit, and the positional encoding of one program for every N calls it.
Models → circuits: a machine prints the circuit of a model, given its weights.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from unmask.api import verify_model
from unmask.compilers.circuit_compiler import printed_family
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.evidence import Check, Effort, Evidence, require
from unmask.paper.lemmas.uniform_models import assembled, entries_compared
from unmask.problems.circuit_problems import FamilyProblem
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.circuits.circuit_families import FAMILIES
from unmask.problems.circuits.printed_circuits import PRINTED, PrintedFamily, printed_circuit
from unmask.problems.problem import ACCEPTED
from unmask.programs.uniform_positions import growth, uniformity
from unmask.testing.random_transformer import random_diffusion
from unmask.verification.circuits.printed_extraction import printed_depth, printed_extraction
from unmask.verification.model_outcomes import outcomes
from unmask.weights.model import Model

SPARE_STEPS = 2
LONGEST_WORD = 9


def printed(*names: str) -> Check:
    """Return the check of printed circuits of some families, and of models whose positions call the machine."""

    def check(effort: Effort) -> Evidence:
        cases = entries = 0
        for name in names:
            words, compared = _check_models(name, effort)
            cases, entries = cases + _check_printed_circuits(name) + words, entries + compared
        return Evidence(
            f"{', '.join(names)}: circuits printed by a metered machine, on all words of up to {LONGEST_WORD} letters; "
            f"one program for every N whose positions call the machine, also with {SPARE_STEPS} more steps; {entries} "
            "entries compared with the program; registers of O(log N) bits enforced",
            cases,
        )

    return check


def family_lengths(name: str, most: int) -> Iterator[int]:
    """Return the lengths up to `most` for which a family is defined."""
    return (length for length in range(PRINTED[name].least, most + 1) if FAMILIES[name].fits(length))


def _check_printed_circuits(name: str) -> int:
    return sum(check_printed_circuit(name, PRINTED[name], length) for length in family_lengths(name, LONGEST_WORD))


def check_printed_circuit(name: str, family: PrintedFamily, length: int) -> int:
    """Check a printed circuit on all words of a length, and its depth; return the number of words."""
    problem, circuit = FamilyProblem(name), printed_circuit(length, family.items(length))
    require(circuit.depth <= family.depth.at(length), f"the printed circuit of {name} is too deep at N = {length}")
    words = [tuple(word) for word in product((0, 1), repeat=length)]
    outputs = circuit.evaluate(np.array(words))[:, 0].tolist()
    for word, accepted in zip(words, outputs, strict=True):
        text = "".join(problem.letters[bit] for bit in word)
        require(accepted == problem.outcome(text).accepted, f"the printed circuit of {name} is wrong on {text}")
    return len(words)


def _check_models(name: str, effort: Effort) -> tuple[int, int]:
    """Check the models of a family and that they come from one program; return (words tried, entries compared)."""
    family = printed_family(name, "mdm")
    models: list[Model] = []
    by_length = {}
    most = 2 if name == "reachability" else max(2, effort.of(3))  # its circuits have N^1.5 gates
    for length in (4, 9, 16)[:most]:
        programs = assembled(lambda n=length: models.append(family.model_at(n, Precision(2))))
        by_length[length] = [uniformity(program) for program in programs]
    formulas = growth(by_length)
    require(formulas.status == "uniform", f"the positions of {name} are {formulas.status}: {'; '.join(formulas.flaws)}")
    cases = 0
    for model in models[:2]:
        for steps in (model.steps, model.steps + SPARE_STEPS):
            verdict = verify_model(replace(model, steps=steps), method="sample", cases=effort.of(60))
            require(verdict.status == "held", f"the model of {name} is wrong on {verdict.counterexample!r}")
            cases += verdict.cases
    return cases, entries_compared(name, family, models)


SEEDS = (138, 309)
"""Families of random weights, the same at every N, that accept some words and not others."""


def printed_by_counters(effort: Effort) -> Evidence:
    """Check circuits of models without pruning: on all words, their depth, and that it stops growing."""
    cases = 0
    for seed in SEEDS[: effort.of(len(SEEDS))]:
        for length, steps in ((2, 2), (3, 1)):
            model = random_diffusion(seed, length, padding=1, steps=steps)
            cases += check_extraction(model, printed_extraction(model))
    longer = [random_diffusion(SEEDS[0], length, padding=1, steps=1) for length in (5, 6)]
    depths = {model.length: printed_extraction(model).depth for model in longer}
    require(len(set(depths.values())) == 1, f"the depth still grows: {depths}")
    return Evidence(
        "circuits of masked diffusion models printed gate by gate by nested counters, nothing pruned, p = 1: random "
        "families against the reference engine on all words, one and two steps; below the formula of the depth, and no "
        "deeper at N = 6 than at 5; registers of O(log N) bits enforced",
        cases,
    )


def check_extraction(model: Model, circuit: Circuit) -> int:
    """Check a circuit on all words on which its model does not divide by zero; return their number."""
    require(circuit.depth <= printed_depth(model), f"the printed circuit is {circuit.depth} deep")
    bits = list(product((0, 1), repeat=model.length))
    words = ["".join(model.input_symbols[bit] for bit in word) for word in bits]
    outputs = circuit.evaluate(np.array(bits))[:, 0].tolist()
    cases = 0
    for word, accepted, outcome in zip(words, outputs, outcomes(model, words, ReferenceEngine()), strict=True):
        if outcome.error is None:
            agree = accepted == (outcome == ACCEPTED)
            require(agree, f"the printed circuit differs from the run on {word}, which is {outcome}")
            cases += 1
    return cases
