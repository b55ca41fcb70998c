"""The check of fig:expression-tree: what every step writes, its word and others, other shapes."""

import random

from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.pipeline import compile_problem, run_word, verify_model
from unmask.problems.expression import ExpressionProblem
from unmask.weights.model import Kind

FIGURE = "expr:(a+b)*(c+d)-e"
WRITTEN = ("5*5-6=", "25-6=", "19")
OTHERS = ("expr:a-b-c-d in -1..1", "expr:a*(b+c*(d-e)) in 0..2", "expr:(a+b)*(c+d)-e in 0..4 compact")
ALL: tuple[Kind, ...] = ("mdm", "smdm", "topk", "plt", "pcot", "cot")


def figure(effort: Effort) -> Evidence:
    """The word of the figure, symbol by symbol; then words of its shape and of others, every kind."""
    diffusion, chain = (compile_problem(FIGURE, kind) for kind in ("mdm", "cot"))
    sizes = (diffusion.length, diffusion.padding, diffusion.steps, chain.steps)
    require(sizes == (14, 11, 3, 11), f"the figure has N, P, T and the chain's T of {sizes}")
    trace, line = run_word(diffusion, "(2+3)*(4+1)-6="), run_word(chain, "(2+3)*(4+1)-6=")
    for step, (canvas, chosen) in enumerate(zip(trace.canvas, trace.chosen, strict=True)):
        written = "".join(trace.symbols(canvas[chosen]))
        require(written == WRITTEN[step], f"step {step + 1} writes {written}, not {WRITTEN[step]}")
    require("".join(line.output) == "".join(WRITTEN), f"the chain of thought writes {''.join(line.output)}")
    cases = 2
    for problem in (FIGURE, *OTHERS):
        depth = ExpressionProblem(problem.removeprefix("expr:")).shape.depth
        for kind in ALL:
            model = compile_problem(problem, kind)
            require(model.steps == (model.padding if kind == "cot" else depth), f"{problem} takes {model.steps} steps")
            seed = random.Random(kind).getrandbits(16)
            verdict = verify_model(model, method="sample", cases=effort.of(40), seed=seed)
            require(verdict.status == "held", f"{problem} as {kind} is wrong on {verdict.counterexample!r}")
            cases += verdict.cases
    return Evidence(
        "the figure's word: N = 14, P = 11, steps write 5*5-6=, 25-6=, 19, the chain takes 11; "
        "four expressions as every kind on words of their shape and others",
        cases,
    )
