"""Family: the models of one kind of a problem for every N from `least` on, as programs and a frame in N.

    Family × N × Precision → Model          (`model_at`)

`compile` writes no other weights: it instantiates the family. What is proved of the family holds for each of its
folders.
"""

from dataclasses import dataclass
from typing import Any

from unmask.numerics.precision import Precision
from unmask.programs.compilers.model import model_of
from unmask.programs.language.instance import program_at
from unmask.programs.language.program import Program, Size
from unmask.programs.language.vocabulary import Vocabulary
from unmask.recurrences.system import System
from unmask.weights.limits import check_length
from unmask.weights.model import Kind, Model


@dataclass(frozen=True, eq=False)
class Design:
    """Programs, vocabulary and frame, for one length or for N itself."""

    programs: dict[str, Program]
    vocabulary: Vocabulary
    steps: Size
    padding: Size
    block: Size | None = None


@dataclass(frozen=True, eq=False)
class Family:
    """A design in N, and what does not depend on it."""

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
        design = self.design
        programs = {name: program_at(program, length) for name, program in design.programs.items()}
        steps, padding = number_at(design.steps, length), number_at(design.padding, length)
        block = None if design.block is None else number_at(design.block, length)
        made = Design(programs, design.vocabulary, steps, padding, block)
        return model_of_design(self.kind, made, length, precision, self.characters, self.problem_at(length))

    def problem_at(self, length: int) -> dict[str, Any]:  # noqa: ARG002
        """What the folder of one length keeps of the problem."""
        return self.problem


@dataclass(frozen=True, eq=False)
class ForEveryLength:
    """What a compiler has for every N at once, and what a proof of it holds against the problem."""

    family: Family | None
    why_none: str
    """The reason, where there is no family."""
    system: System | None = None
    """The recurrence that the family computes; a regular language has an automaton instead."""
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
    frame: dict[str, Any] = {} if design.block is None else {"block": design.block}
    return model_of(
        kind,
        design.programs,
        precision,
        design.vocabulary,
        steps=number_at(design.steps, length),
        length=length,
        padding=design.padding,
        characters=characters,
        problem=problem,
        **frame,
    )


def number_at(size: Size, length: int) -> int:
    """A number, or the value of an expression in N."""
    return size if isinstance(size, int) else size.at(length)
