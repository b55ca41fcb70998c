"""Checks of circuits as masked diffusion and looped transformers: the direction that is built."""

from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.pipeline import compile_problem, verify_model
from unmask.weights.model import Kind

BOTH: tuple[Kind, ...] = ("mdm", "plt")


def constant_depth(effort: Effort) -> Evidence:
    """Circuits of constant depth: as many steps at every N."""
    cases = 0
    for family in ("contains-aba", "equal-halves"):
        cases += _decided(family, (4, 8), effort)
        steps = {compile_problem(f"family:{family}", "mdm", length=n).steps for n in (6, 8, 12)}
        require(len(steps) == 1, f"family:{family} takes {sorted(steps)} steps")
    return Evidence(
        "two families of constant depth as mdm and plt, against plain Python; the same steps at every N", cases
    )


def logarithmic_depth(effort: Effort) -> Evidence:
    """Circuits of logarithmic depth: a constant number of steps more with every doubling of N."""
    cases = 0
    for family in ("parity", "formula"):
        cases += _decided(family, (4, 8), effort)
        steps = [compile_problem(f"family:{family}", "mdm", length=n).steps for n in (4, 8, 16)]
        require(steps[1] - steps[0] == steps[2] - steps[1], f"family:{family} takes {steps} steps")
    return Evidence("two families of logarithmic depth as mdm and plt, against plain Python; steps per doubling", cases)


def _decided(family: str, lengths: tuple[int, ...], effort: Effort) -> int:
    cases = 0
    for kind in BOTH:
        for length in lengths:
            model = compile_problem(f"family:{family}", kind, length=length)
            verdict = verify_model(model, method="sample", cases=effort.of(40))
            require(verdict.status == "held", f"family:{family} as {kind} is wrong on {verdict.counterexample!r}")
            cases += verdict.cases
    return cases
