"""Seed × kind × N → Model: weights that are drawn, not compiled."""

from dataclasses import dataclass
from typing import Any

from unmask.errors import ProblemError
from unmask.numerics.precision import Precision
from unmask.testing import random_model
from unmask.weights.model import KINDS, Kind, Model
from unmask.weights.price import Extent


@dataclass(frozen=True)
class RandomCompiler:
    """The random models of a seed, one for each kind, length and precision; they promise nothing."""

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
        return random_model(self.seed, kind, length, precision=precision.p)

    def for_every_length(self, kind: Kind, precision: Precision) -> None:  # noqa: ARG002
        return None
