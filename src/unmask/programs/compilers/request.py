"""Compiler × kind × length × precision, as asked for → Model, which says what it was compiled from."""

from dataclasses import replace

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.problems.problem import Problem
from unmask.programs.compilers.compiler import Compiler
from unmask.weights.model import KINDS, Kind, Model


def compiled(problem: Problem, compiler: Compiler, text: str, kind: Kind, length: int | None, precision: int) -> Model:
    """What was asked for is checked; `text` is the problem as it was written."""
    if kind not in KINDS:
        raise ProblemError(f"there is no kind {kind!r}; use one of {', '.join(KINDS)}")
    if length is not None and length < 0:
        raise ProblemError(f"the length must be 0 or more, not {length}")
    if not 1 <= precision <= 8:
        raise ProblemError(f"the precision must lie in 1 … 8, not {precision}")
    length = compiler.length if length is None else length
    if length is None:
        raise ProblemError(f"{text} has words of any length; give one with --length N")
    model, layout = compiler.compile(kind, length, Precision(precision)), compiler.layout_of(kind, length)
    made = {"compiled": problem.name, "to": kind}  # the name is without the path of a file
    return replace(model, provenance=[made if layout is None else {**made, "layout": layout}])
