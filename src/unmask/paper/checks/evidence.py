"""Effort → Evidence: the type of a check, its result, and the exceptions that it raises."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Effort:
    """The number of cases that a check may run, in percent of the default, for one round of checks.

    A check that several items use runs only once per round, if it passes.
    """

    percent: int = 100
    passed: dict["Check", "Evidence"] = field(default_factory=dict, compare=False, repr=False)

    def of(self, cases: int) -> int:
        """Return this percentage of a number of cases, at least 1."""
        return max(1, cases * self.percent // 100)

    def run(self, check: "Check") -> "Evidence":
        """Return the evidence of a check; run it unless it passed earlier in this round."""
        if check not in self.passed:
            self.passed[check] = check(self)
        return self.passed[check]


@dataclass(frozen=True, kw_only=True)
class ItemProof:
    """A proof that covers more than the cases that were run: `covers` is its scope (every width, every length, …).

    `by` is the prover, `names` are its lemmas or theorems, `run` is the command that repeats the proof.
    """

    covers: str
    by: str
    names: tuple[str, ...]
    run: str
    note: str | None = None

    @property
    def description(self) -> str:
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
    """The result of a check: a description of its cases, their number, and proofs that it made."""

    method: str
    cases: int
    proofs: tuple[ItemProof, ...] = ()


Check = Callable[[Effort], Evidence]
"""Runs a check; raises `Refuted` if a statement fails."""


class Refuted(AssertionError):
    """Raised if a check finds a case in which a statement is false."""


class NotBuilt(Exception):
    """Raised if something that a check needs does not exist yet."""


def require(holds: object, case: str) -> None:
    if not holds:
        raise Refuted(case)


def several(*checks: Check) -> Check:
    """Return one check that runs all of these."""

    def check(effort: Effort) -> Evidence:
        results = [effort.run(each) for each in checks]
        return Evidence(
            "; ".join(evidence.method for evidence in results),
            sum(evidence.cases for evidence in results),
            tuple(dict.fromkeys(proof for evidence in results for proof in evidence.proofs)),
        )

    return check
