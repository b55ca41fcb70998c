"""Problem → Compiler: what is known of a problem before a kind and a length are chosen. The one place that chooses."""

from typing import Any, Protocol

from unmask.errors import ProblemError, shortened
from unmask.numerics.precision import Precision
from unmask.problems.circuit import CircuitProblem
from unmask.problems.expression import ExpressionProblem
from unmask.problems.family import FamilyProblem
from unmask.problems.grammar import GrammarProblem
from unmask.problems.problem import Problem
from unmask.problems.program import AbsentProgram, ProgramProblem
from unmask.problems.random import RandomProblem
from unmask.programs.compilers.circuits import CircuitCompiler, FamilyCompiler
from unmask.programs.compilers.expressions import ExpressionCompiler
from unmask.programs.compilers.family import ForEveryLength
from unmask.programs.compilers.random_weights import RandomCompiler
from unmask.programs.compilers.reachability import ReachabilityCompiler
from unmask.programs.compilers.recurrences import SystemCompiler
from unmask.programs.compilers.regular import RegularCompiler
from unmask.weights.model import Kind, Model
from unmask.weights.price import Extent


class Compiler(Protocol):
    """Compiles one problem for any kind and length that it offers."""

    @property
    def problem(self) -> dict[str, Any]: ...

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What it compiles to without a conversion."""
        ...

    @property
    def length(self) -> int | None:
        """The length of the words where the problem has but one."""
        ...

    def layout_of(self, kind: Kind, length: int) -> str | None:
        """How a kind is laid out, and why; None where there is nothing to choose."""
        ...

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) at most."""
        ...

    def extent(self, kind: Kind, length: int) -> Extent:
        """Layers, alphabet and width at most; only the number of places may depend on the length."""
        ...

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model: ...

    def for_every_length(self, kind: Kind, precision: Precision) -> ForEveryLength | None:
        """What it has for every N at once; None where every length is compiled by itself."""
        ...


def compiler_for(problem: Problem) -> Compiler:
    """The compiler of a parsed problem: one of its own kind, else the one for all that have an automaton."""
    if isinstance(problem, RandomProblem):
        return RandomCompiler(problem.seed)
    if isinstance(problem, FamilyProblem):
        return (ReachabilityCompiler if problem.family == "reachability" else FamilyCompiler)(problem)
    if isinstance(problem, CircuitProblem):
        return CircuitCompiler(problem.circuit, problem.to_json())
    if isinstance(problem, ExpressionProblem):
        return ExpressionCompiler(problem)
    if isinstance(problem, ProgramProblem | GrammarProblem):
        return SystemCompiler(problem.system, problem.to_json())
    if isinstance(problem, AbsentProgram):
        raise ProblemError(problem.why_no_answers)
    if problem.automaton is None:
        raise ProblemError(f"{shortened(problem.name)} has neither an automaton nor a compiler; define one of them")
    return RegularCompiler.of(problem.automaton, problem.group, problem.to_json())
