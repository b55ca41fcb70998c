"""Programs × vocabulary × frame → Model, for one length (`model_of`) or for every N (`ModelFamily.model_at`).

A family holds the models of one kind of a problem for every N from `least` on, as programs and a frame in N. `compile`
instantiates it, so what is proved of the family holds for each of its models.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unmask.errors import ProblemError
from unmask.expressions import Expression
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble_all
from unmask.programs.declarations import SignedBits, TableBits
from unmask.programs.instance import programs_at
from unmask.programs.program import Program, Vocabulary, bits_for
from unmask.recurrences.system import System
from unmask.weights.kinds import Kind
from unmask.weights.model import Extent, Model
from unmask.weights.size_limits import check_length, check_steps


def model_of(
    kind: Kind,
    programs: dict[str, Program],
    precision: Precision,
    vocabulary: Vocabulary,
    *,
    length: int,
    steps: int,
    **frame: Any,
) -> Model:
    """The model whose transformers are these programs at `length`; `frame` has the other fields of `Model`."""
    check_steps(steps)
    transformers = assemble_all(programs_at(programs, length), precision)
    return Model(kind=kind, steps=steps, length=length, transformers=transformers, **vocabulary.fields(), **frame)


def check_precision(precision: Precision, least: int) -> None:
    """Raise for a precision at which the gadgets of a program are not exact."""
    if precision.p < least:
        raise ProblemError(f"a compiled model needs a precision of at least {least}, not {precision.p}")


@dataclass(frozen=True, eq=False)
class Design:
    """Programs, vocabulary and frame; sizes are expressions in N."""

    programs: dict[str, Program]
    vocabulary: Vocabulary
    steps: Expression
    padding: Expression
    block: Expression | None = None


@dataclass(frozen=True, eq=False)
class ModelFamily:
    """A design in N, and the fields that do not depend on N."""

    kind: Kind
    least: int
    design: Design
    characters: tuple[tuple[int, int, str], ...] | None
    problem: dict[str, Any]

    def model_at(self, length: int, precision: Precision) -> Model:
        """The model of one length."""
        if length < self.least:
            raise ValueError(f"this family starts at N = {self.least}; N = {length} is too short")
        check_length(length)
        return model_of_design(self.kind, self.design, length, precision, self.characters, self.problem_at(length))

    def problem_at(self, length: int) -> dict[str, Any]:  # noqa: ARG002
        """Return the description of the problem in the model folder of one length."""
        return self.problem


@dataclass(frozen=True, eq=False)
class ForEveryLength:
    """The family of models for all N, and the specification with which a proof compares it."""

    family: ModelFamily | None
    why_none: str
    """The reason for `family` being None."""
    system: System | None = None
    """The recurrence that the family computes; None for a regular language, which has an automaton instead."""
    circuits: str | None = None
    """The name of the family of circuits whose outputs it computes."""


def model_of_design(
    kind: Kind,
    design: Design,
    length: int,
    precision: Precision,
    characters: tuple[tuple[int, int, str], ...] | None,
    problem: dict[str, Any],
) -> Model:
    """The model of a design for one length."""
    frame: dict[str, Any] = {} if design.block is None else {"block": design.block.at(length)}
    return model_of(
        kind,
        design.programs,
        precision,
        design.vocabulary,
        steps=design.steps.at(length),
        length=length,
        padding=design.padding.at(length),
        characters=characters,
        problem=problem,
        **frame,
    )


def extent_of(programs: Iterable[Program], symbols: int, places: int) -> Extent:
    """Count registers: addresses of one of `places` rows grow with N; all other registers are `fixed`."""
    bits = bits_for(places)
    counted = [(_addresses(program, bits), program) for program in programs]
    return Extent(
        layers=max(len(program.layers) for _, program in counted),
        symbols=symbols,
        fixed=max(program.width - bits * addresses for addresses, program in counted),
        per_bit=max(addresses for addresses, _ in counted),
        places=places,
    )


def _addresses(program: Program, bits: int) -> int:
    declared = ((program.positions.get(name), labels) for name, labels in program.registers.items())
    return sum(isinstance(d, SignedBits | TableBits) and len(labels) == bits for d, labels in declared)
