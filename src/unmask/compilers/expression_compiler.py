"""Expression × kind → Model: the program, its steps and its space.

| kind             | steps | space, figure layout            | space, compact layout         |
|------------------|-------|---------------------------------|-------------------------------|
| mdm, smdm, topk  | depth | symbols written in all steps    | operators                     |
| plt              | depth | as many pads                    | as many pads                  |
| pcot             | depth | depth · the most in a step      | depth · the most of a height  |
| cot              | space | symbols written                 | operators                     |
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unmask.compilers.model_families import check_precision, model_of
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision
from unmask.problems.expression_problems import ExpressionProblem
from unmask.programs.arithmetic_expressions import (
    LEAST_PRECISION,
    ExpressionPlan,
    ExpressionSymbols,
    compact_plan,
    expression_loop,
    expression_node,
    expression_planner,
    expression_symbols,
    figure_plan,
)
from unmask.programs.program import Program
from unmask.weights.kinds import Kind
from unmask.weights.model import Extent, Model

EXPRESSION_KINDS: tuple[Kind, ...] = ("mdm", "smdm", "topk", "plt", "pcot", "cot")


@dataclass(frozen=True, eq=False)
class ExpressionCompiler:
    """The compiler of an expression over a range of numbers, for any kind."""

    expression: ExpressionProblem

    @property
    def problem(self) -> dict[str, Any]:
        return self.expression.to_json()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return EXPRESSION_KINDS

    @property
    def length(self) -> int:
        return self.expression.length

    @cached_property
    def plan(self) -> ExpressionPlan:
        return (compact_plan if self.expression.compact else figure_plan)(self.expression.shape)

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        (low, high), last = self.expression.operands, self.expression.values[-1]
        numbers = f"operands {low}..{high}, results {last[0]}..{last[-1]}"
        if self.expression.compact:
            return f"compact: one slot per operator, depth {self.plan.steps}; {numbers}"
        return f"as in the figure: steps write {', '.join(map(str, self.plan.writes))} symbols; {numbers}"

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the constructions promise."""
        assert length == self.length
        plan, shape = self.plan, self.expression.shape
        if kind == "cot":
            return plan.slots, plan.slots
        return shape.depth, shape.depth * max(plan.writes) if kind == "pcot" else plan.slots

    def extent(self, kind: Kind, length: int) -> Extent:
        """Count four addresses, one-hot codes of operands, operator and results, and a few flags; one length only."""
        plan = self._plan_of(kind)
        symbols = self._symbols_of(kind, plan)
        operations, fetched, written = symbols.operations, symbols.fetched.size, symbols.written.size
        fixed = 26 + np.unique(operations.operator).size + np.unique(operations.right).size + 2 * (fetched + written)
        return Extent(2, len(symbols.vocabulary.symbols), fixed, per_bit=4, places=length + plan.slots)

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if length != self.length:
            raise ProblemError(f"the expression has {self.length} symbols, not {length}; leave out --length")
        check_precision(precision, LEAST_PRECISION)
        plan = self._plan_of(kind)
        symbols = self._symbols_of(kind, plan)
        return model_of(
            kind,
            self._programs(kind, plan, symbols),
            precision,
            symbols.vocabulary,
            length=length,
            padding=plan.slots,
            steps=plan.slots if kind == "cot" else plan.steps,
            block=max(self.plan.writes) if kind == "pcot" else None,
            problem=self.problem,
        )

    def for_every_length(self, kind: Kind, precision: Precision) -> None:  # noqa: ARG002
        return None

    def _plan_of(self, kind: Kind) -> ExpressionPlan:
        return self.plan.in_blocks() if kind == "pcot" else self.plan

    def _symbols_of(self, kind: Kind, plan: ExpressionPlan) -> ExpressionSymbols:
        roles = {"plt": ("pad",), "pcot": ("mask", "pad"), "cot": ()}.get(kind, ("mask",))
        return expression_symbols(self.expression, roles, copies=bool(plan.copies.any()))

    def _programs(self, kind: Kind, plan: ExpressionPlan, symbols: ExpressionSymbols) -> dict[str, Program]:
        shape = self.expression.shape.symbols
        if kind == "cot":
            return {"model": expression_node(plan, symbols, shape, ahead=1, attention="causal")}
        if kind == "pcot":
            return {"model": expression_node(plan, symbols, shape, attention="causal")}
        if kind == "plt":
            return {"model": expression_loop(plan, symbols, shape)}
        if kind == "topk":
            return {"model": expression_node(plan, symbols, shape, own_slot=True)}
        return {"planner": expression_planner(plan, symbols), "predictor": expression_node(plan, symbols, shape)}
