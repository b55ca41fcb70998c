"""Checks of circuits as masked diffusion and looped transformers: the direction that is built."""

from unmask.numerics.precision import Precision
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.pipeline import verify_model
from unmask.problems.family import FamilyProblem
from unmask.programs.compilers.circuits import CircuitCompiler
from unmask.weights.model import Kind, Model

BOTH: tuple[Kind, ...] = ("mdm", "plt")


def circuit_model(family: str, kind: Kind, length: int, precision: int = 2) -> Model:
    """The model of a family's circuit, also where `compile` takes a recurrence in its place."""
    problem = FamilyProblem(family)
    compiler = CircuitCompiler(problem.circuit(length), problem.to_json(), problem.letters)
    return compiler.compile(kind, length, Precision(precision))


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
