"""Problem → Compiler: what is known of a problem before a kind and a length are chosen."""

import random
from collections.abc import Iterator
from typing import Any, Protocol

from unmask.numerics.precision import Precision
from unmask.problems.boolean import CircuitProblem
from unmask.problems.expression import ExpressionProblem
from unmask.problems.families import FamilyProblem
from unmask.problems.problem import Problem, automaton_of
from unmask.problems.regular import GroupProblem
from unmask.programs.circuits import CircuitCompiler, FamilyCompiler
from unmask.programs.expression_compiler import ExpressionCompiler
from unmask.programs.reachability import ReachabilityCompiler
from unmask.programs.regular import RegularCompiler
from unmask.weights.model import Kind, Model


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

    def layout_of(self, kind: Kind, length: int) -> str:
        """How a kind is laid out, and why."""
        ...

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) at most."""
        ...

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model: ...

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Words to try, with both answers among them where both occur; without end."""
        ...


def compiler_for(problem: Problem) -> Compiler:
    """The compiler of a parsed problem."""
    if isinstance(problem, FamilyProblem):
        return (ReachabilityCompiler if problem.family == "reachability" else FamilyCompiler)(problem)
    if isinstance(problem, CircuitProblem):
        return CircuitCompiler(problem.circuit, problem.to_json())
    if isinstance(problem, ExpressionProblem):
        return ExpressionCompiler(problem)
    group = problem.group if isinstance(problem, GroupProblem) else None
    return RegularCompiler.of(automaton_of(problem), group, problem.to_json())
