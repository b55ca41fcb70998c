"""Effort → Evidence: what a check is, what it hands back, and how it says that a statement fails."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How much a check may look at, in percent of what it would look at by default.

    One effort is one round of checks: what several items rest on runs once in it, if it passes.
    """

    percent: int = 100
    passed: dict["Check", "Evidence"] = field(default_factory=dict, compare=False, repr=False)

    def of(self, cases: int) -> int:
        """That share of a number of cases, at least 1."""
        return max(1, cases * self.percent // 100)

    def run(self, check: "Check") -> "Evidence":
        """What a check finds, now or earlier in this round."""
        if check not in self.passed:
            self.passed[check] = check(self)
        return self.passed[check]


@dataclass(frozen=True, kw_only=True)
class ItemProof:
    """What is proved beyond the cases that were run, for all of what (`covers`: every width, every length, …).

    `by` names the prover, `names` its lemmas or theorems, `run` the command that proves them again.
    """

    covers: str
    by: str
    names: tuple[str, ...]
    run: str
    note: str | None = None

    @property
    def sentence(self) -> str:
        note = "" if self.note is None else f"; {self.note}"
        return f"proved for {self.covers}, by {self.by} (`{self.run}`): {', '.join(self.names)}{note}"

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "names": list(self.names)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "ItemProof":
        rest = {name: value for name, value in document.items() if name != "names"}
        return cls(names=tuple(document["names"]), **rest)


@dataclass(frozen=True)
class Evidence:
    """What a check ran, on how many cases, and what it proved on the way."""

    method: str
    cases: int
    proofs: tuple[ItemProof, ...] = ()


Check = Callable[[Effort], Evidence]
"""Runs now; raises where a statement fails."""


class Refuted(AssertionError):
    """A check found a case in which a statement is false."""


class NotBuilt(Exception):
    """What a check needs does not exist yet."""


def require(holds: object, case: str) -> None:
    if not holds:
        raise Refuted(case)


def several(*checks: Check) -> Check:
    """All of them."""

    def check(effort: Effort) -> Evidence:
        parts = [effort.run(one) for one in checks]
        return Evidence(
            "; ".join(evidence.method for evidence in parts),
            sum(evidence.cases for evidence in parts),
            tuple(dict.fromkeys(proof for evidence in parts for proof in evidence.proofs)),
        )

    return check
