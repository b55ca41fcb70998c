"""Law: how far the sampled runs of a conversion are from those of its source, in total variation.

d      the distance between one number of noise as it is drawn and as it should be, exactly
path   1 - (1 - d)^draws: what the distance between the laws of whole runs, and of their answers, never exceeds,
       since all numbers are drawn independently and everything else is a function of them
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

DIGITS = 4


@dataclass(frozen=True)
class Law:
    """`per_draw` is None where it takes too long to compute."""

    per_draw: Fraction | None
    draws: int

    @property
    def path(self) -> Fraction | None:
        """An upper bound for whole runs; the distance of one draw is rounded up, so that numbers stay small."""
        if self.per_draw is None:
            return None
        return 1 - (1 - Fraction(-(-self.per_draw * 10**6 // 1), 10**6)) ** self.draws

    @property
    def sentence(self) -> str:
        if self.per_draw is None or self.path is None:
            return (
                f"the law: {self.draws} numbers of noise are drawn, each nearly as it should be; how nearly is "
                "computed for p <= 3 alone"
            )
        return (
            f"the law: each of {self.draws} numbers of noise is drawn within {rounded_up(self.per_draw)} of its law "
            f"(total variation), so that a sampled run is within {rounded_up(self.path)} of that of the source"
        )

    def to_json(self) -> dict[str, Any]:
        distances = {"per_draw": self.per_draw, "path_at_most": self.path}
        return {"draws": self.draws} | {
            name: None if distance is None else rounded_up(distance) for name, distance in distances.items()
        }


def rounded_up(x: Fraction) -> str:
    """A number of [0, 1] with four digits, never less than it is."""
    digits = -(-x * 10**DIGITS // 1)
    return f"{digits // 10**DIGITS}.{digits % 10**DIGITS:0{DIGITS}}"
