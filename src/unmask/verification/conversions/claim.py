"""Claim: a conversion of every source of a shape, run on a source whose weights and sizes are names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from unmask.expressions import Expression
from unmask.numerics.arithmetic import Precision
from unmask.programs.program import Program
from unmask.theorems.theorem import ConversionSource, Theorem
from unmask.verification.conversions.machine import Machine
from unmask.verification.conversions.unknown import BEGIN, SLOTS, STEPS, Shape, unknown_source
from unmask.verification.lengths.obligations import Arithmetic, Euclid, Ledger, NotShown, Term


@dataclass
class SourceArithmetic(Arithmetic):
    """N >= 0 and the sizes of a source: begin is 0 or 1, T >= 1, P >= 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin, self.steps, self.slots = (self.z3.Int(name) for name in (BEGIN, STEPS, SLOTS))
        self.facts = [self.least <= self.N, self.begin >= 0, self.begin <= 1, self.steps >= 1, self.slots >= 1]

    def term_of(self, expression: Expression, variables: Mapping[str, Term], euclid: Sequence[Euclid] = ()) -> Term:
        sizes = {BEGIN: self.begin, STEPS: self.steps, SLOTS: self.slots}
        return super().term_of(expression, {**sizes, **variables}, euclid)


@dataclass(frozen=True, eq=False)
class ConversionClaim:
    """The programs that a theorem's construction makes of every source of a shape."""

    theorem: Theorem
    shape: Shape
    precision: Precision
    ledger: Ledger

    @cached_property
    def arithmetic(self) -> SourceArithmetic:
        return SourceArithmetic(self.ledger, 0)

    @cached_property
    def source(self) -> ConversionSource:
        return unknown_source(self.shape)

    @cached_property
    def programs(self) -> dict[str, Program]:
        assert self.theorem.programs is not None
        try:
            return self.theorem.programs(self.source)
        except (TypeError, ValueError, KeyError) as found:
            raise NotShown(f"the construction looks at what a source does not show: {found}") from found

    def program(self, name: str) -> Program:
        if name not in self.programs or self.programs[name].every is None:
            raise NotShown(f"the conversion has no program of every N called {name}")
        return self.programs[name]

    def machine(self, name: str, streams: dict[str, str]) -> Machine:
        made: list[Machine] = []

        def show() -> str:
            program = self.program(name)
            if program.loop is not None or program.noise is not None:
                raise NotShown("the program has a loop or noise")
            made.append(Machine(program, self.precision, self.source, self.shape, streams))
            layers = sum(len(step.given) for step in made[0].steps)
            return f"{layers} layers of the source"

        self.ledger.settle(
            f"{name}: layers of the source stand there whole and in order, and nobody else writes to their streams",
            "comparison of every entry",
            show,
        )
        return made[0]

    def require_rows(self, name: str, rows: Term) -> None:
        every = self.program(name).every
        assert every is not None
        arithmetic = self.arithmetic
        arithmetic.require(f"{name}: so many rows", arithmetic.at(every, arithmetic.row()) == rows)
