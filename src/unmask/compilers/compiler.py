"""Problem × kind × N → Model: the one place that chooses a compiler.

`compiler_for` maps a problem to its compiler. A new kind of problem adds a case there only if it has neither an
automaton nor a system of recurrences. `compiled` is what `compile` calls.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

from unmask.compilers.circuit_compiler import CircuitCompiler, FamilyCompiler, ReachabilityCompiler
from unmask.compilers.expression_compiler import ExpressionCompiler
from unmask.compilers.model_families import ForEveryLength
from unmask.compilers.regular_compiler import RegularCompiler
from unmask.compilers.system_compiler import SystemCompiler
from unmask.errors import ProblemError, shortened
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import RandomProblem
from unmask.problems.circuit_problems import CircuitProblem, FamilyProblem
from unmask.problems.expression_problems import ExpressionProblem
from unmask.problems.problem import Problem
from unmask.problems.program_problems import AbsentProgram
from unmask.weights.kinds import KINDS, Kind
from unmask.weights.model import Extent, Model

MOST_HOPS = 64
"""The levels of a tree of 2^64 letters."""


@dataclass(frozen=True)
class RandomCompiler:
    """The compiler of random models: one model for each seed, kind, length and precision; it has no bounds."""

    seed: int

    @property
    def problem(self) -> dict[str, Any]:
        return {}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return KINDS

    @property
    def length(self) -> None:
        return None

    def layout_of(self, kind: Kind, length: int) -> None:  # noqa: ARG002
        return None

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        raise ProblemError(f"a random {kind} of length {length} has no bound; compare a problem that has answers")

    def extent(self, kind: Kind, length: int) -> Extent:
        raise ProblemError(f"a random {kind} of length {length} has no bound; compare a problem that has answers")

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        from unmask.testing import random_model  # no other compiler needs it

        return random_model(self.seed, kind, length, precision=precision.p)

    def for_every_length(self, kind: Kind, precision: Precision) -> None:  # noqa: ARG002
        return None


class Compiler(Protocol):
    """Compiles one problem for any kind and length that it offers."""

    @property
    def problem(self) -> dict[str, Any]: ...

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds to which it compiles without a conversion."""
        ...

    @property
    def length(self) -> int | None:
        """The length of the words, if the problem has only one."""
        ...

    def layout_of(self, kind: Kind, length: int) -> str | None:
        """Return the layout of a kind and the reason for it; None if only one layout exists."""
        ...

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) at most."""
        ...

    def extent(self, kind: Kind, length: int) -> Extent:
        """Layers, alphabet and width at most; only the number of places may depend on the length."""
        ...

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model: ...

    def for_every_length(self, kind: Kind, precision: Precision) -> ForEveryLength | None:
        """The family of models for all N; None if every length is compiled separately."""
        ...


def compiler_for(problem: Problem) -> Compiler:
    """Return the compiler for this kind of problem, by default the one for its system or for its automaton."""
    if isinstance(problem, RandomProblem):
        return RandomCompiler(problem.seed)
    if isinstance(problem, FamilyProblem):
        return (ReachabilityCompiler if problem.family == "reachability" else FamilyCompiler)(problem)
    if isinstance(problem, CircuitProblem):
        return CircuitCompiler(problem.circuit, problem.to_json())
    if isinstance(problem, ExpressionProblem):
        return ExpressionCompiler(problem)
    if isinstance(problem, AbsentProgram):
        raise ProblemError(problem.why_no_answers)
    if problem.system is not None:
        return SystemCompiler(problem.system, problem.to_json())
    if problem.automaton is not None:
        return RegularCompiler.of(problem.automaton, problem.group, problem.to_json())
    raise ProblemError(f"{shortened(problem.name)} has no automaton, no system and no compiler; define one of them")


def compiler_with_hops(problem: Problem, compiler: Compiler, hops: int) -> Compiler:
    """Return the compiler whose models compute `hops` levels of a product tree in one pass."""
    if not 1 <= hops <= MOST_HOPS:
        raise ProblemError(f"the number of hops must lie in 1 … {MOST_HOPS}, not {hops}")
    if not isinstance(compiler, RegularCompiler):
        raise ProblemError(
            f"--hops is for regular languages, whose slots form a tree of products; {shortened(problem.name)} is "
            "compiled in another way; leave out --hops"
        )
    return compiler.with_hops(hops)


def compiled(problem: Problem, compiler: Compiler, text: str, kind: Kind, length: int | None, precision: int) -> Model:
    """Check the arguments and compile; `text` is the problem as it was written."""
    if kind not in KINDS:
        raise ProblemError(f"unknown kind {kind!r}; use one of {', '.join(KINDS)}")
    if length is not None and length < 0:
        raise ProblemError(f"the length must be 0 or more, not {length}")
    if not 1 <= precision <= 8:
        raise ProblemError(f"the precision must lie in 1 … 8, not {precision}")
    length = compiler.length if length is None else length
    if length is None:
        raise ProblemError(f"{text} has words of any length; give one with --length N")
    model, layout = compiler.compile(kind, length, Precision(precision)), compiler.layout_of(kind, length)
    provenance = {"compiled": problem.name, "to": kind}  # the name does not contain the path of a file
    return replace(model, provenance=[provenance if layout is None else {**provenance, "layout": layout}])
