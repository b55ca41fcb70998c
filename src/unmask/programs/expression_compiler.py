"""Expression × kind → Model: which program, and the frame it runs in.

| kind             | steps | space, figure layout            | space, compact layout         |
|------------------|-------|---------------------------------|-------------------------------|
| mdm, smdm, topk  | depth | symbols written in all steps    | operators                     |
| plt              | depth | as many pads                    | as many pads                  |
| pcot             | depth | depth · the most in a step      | depth · the most of a height  |
| cot              | space | symbols written                 | operators                     |
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.problems.expression import ExpressionProblem
from unmask.programs.assemble import assemble
from unmask.programs.expression_looped import expression_loop
from unmask.programs.expression_node import expression_node, expression_planner
from unmask.programs.expression_parts import LEAST_PRECISION
from unmask.programs.expression_plan import ExpressionPlan, compact_plan, figure_plan
from unmask.programs.expression_symbols import expression_symbols
from unmask.programs.limits import check_table
from unmask.programs.program import Program
from unmask.weights.model import Kind, Model
from unmask.weights.transformer import Transformer

KINDS: tuple[Kind, ...] = ("mdm", "smdm", "topk", "plt", "pcot", "cot")


@dataclass(frozen=True, eq=False)
class ExpressionCompiler:
    """An expression over a range of numbers, ready for any kind."""

    expression: ExpressionProblem

    @property
    def problem(self) -> dict[str, Any]:
        return self.expression.to_json()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return KINDS

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

    def words(self, length: int, rng: random.Random) -> Iterator[str]:
        """Two words of the shape, one of another, and so on."""
        assert length == self.length
        while True:
            yield self.expression.random_word(rng)
            yield self.expression.random_word(rng)
            yield self.expression.misshapen_word(rng)

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:
        """(steps, padding) that the constructions promise."""
        assert length == self.length
        plan, shape = self.plan, self.expression.shape
        if kind == "cot":
            return plan.slots, plan.slots
        return shape.depth, shape.depth * max(plan.writes) if kind == "pcot" else plan.slots

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        if length != self.length:
            raise ProblemError(f"the expression has {self.length} symbols, not {length}; leave --length out")
        if precision.p < LEAST_PRECISION:
            raise ProblemError(f"a compiled model needs a precision of at least {LEAST_PRECISION}, not {precision.p}")
        plan = self.plan.in_blocks() if kind == "pcot" else self.plan
        roles = {"plt": ("pad",), "pcot": ("mask", "pad"), "cot": ()}.get(kind, ("mask",))
        symbols = expression_symbols(self.expression, roles, copies=bool(plan.copies.any()))
        shape = self.expression.shape.symbols
        programs: dict[str, Program]
        frame: dict[str, Any] = {}
        if kind == "cot":
            programs, frame = {"model": expression_node(plan, symbols, shape, ahead=1)}, {"attention": "causal"}
        elif kind == "pcot":
            programs, frame = {"model": expression_node(plan, symbols, shape)}, {"attention": "causal"}
        elif kind == "plt":
            programs, frame = {"model": expression_loop(plan, symbols, shape)}, {"loop": (0, 1)}
        elif kind == "topk":
            programs = {"model": expression_node(plan, symbols, shape, own_slot=True)}
        else:
            programs = {
                "planner": expression_planner(plan, symbols),
                "predictor": expression_node(plan, symbols, shape),
            }
        return Model(
            kind=kind,
            length=length,
            padding=plan.slots,
            steps=plan.slots if kind == "cot" else plan.steps,
            block=max(self.plan.writes) if kind == "pcot" else None,
            **symbols.vocabulary.fields(),
            transformers={name: _weights(program, precision, **frame) for name, program in programs.items()},
            problem=self.problem,
        )


def _weights(program: Program, precision: Precision, **frame: Any) -> Transformer:
    check_table(program)
    return assemble(program, precision, **frame)
