"""Addition × kind × N → Model: mdm and smdm in one step, by the same program for every even N."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unmask.numerics.precision import Precision
from unmask.programs.addition.one_step import ROWS, SLOTS, addition_planner, addition_predictor
from unmask.programs.compilers.extent import extent_of
from unmask.programs.compilers.family import Design, Family
from unmask.programs.language.instance import program_at
from unmask.programs.language.vocabulary import vocabulary_of
from unmask.weights.model import Kind, Model
from unmask.weights.price import Extent

LEAST = 2


@dataclass(frozen=True, eq=False)
class AdditionFamily(Family):
    """The models of every even N."""


@dataclass(frozen=True, eq=False)
class Adder:
    """Addition, ready for any even length."""

    problem: dict[str, Any]
    letters: tuple[str, str]

    @cached_property
    def _design(self) -> Design:
        vocabulary = vocabulary_of(self.letters, 2, ("mask", "reject", "accept"))
        programs = {"planner": addition_planner(vocabulary), "predictor": addition_predictor(vocabulary)}
        return Design(programs, vocabulary, 1, SLOTS)

    def family(self, kind: Kind) -> AdditionFamily:
        return AdditionFamily(kind, LEAST, self._design, None, self.problem)

    def layout_of(self, kind: Kind, length: int) -> str:  # noqa: ARG002
        return f"{length // 2 + 1} slots, each written once, and {length} rows that look for a carry"

    def bound(self, kind: Kind, length: int) -> tuple[int, int]:  # noqa: ARG002
        """(steps, padding) that the construction promises: a slot per bit of the sum, two rows per pair of bits."""
        half = length // 2
        return 1, 3 * half + 1

    def extent(self, kind: Kind, length: int) -> Extent:  # noqa: ARG002
        programs = [program_at(program, length) for program in self._design.programs.values()]
        return extent_of(programs, len(self._design.vocabulary.symbols), ROWS.at(length))

    def compile(self, kind: Kind, length: int, precision: Precision) -> Model:
        return self.family(kind).model_at(length, precision)
