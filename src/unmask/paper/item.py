"""Item: one statement of the paper, and the check that produces its evidence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Status = Literal["holds", "defined", "cited", "gap"]
STATUSES: tuple[Status, ...] = ("holds", "defined", "cited", "gap")
Kind = Literal[
    "theorem", "lemma", "corollary", "proposition", "remark", "definition", "assumption", "figure", "takeaway"
]


@dataclass(frozen=True)
class Effort:
    """How much a check may look at, in percent of what it would look at by default."""

    percent: int = 100

    def of(self, cases: int) -> int:
        """That share of a number of cases, at least 1."""
        return max(1, cases * self.percent // 100)


@dataclass(frozen=True)
class Evidence:
    """What a check ran, and on how many cases."""

    method: str
    cases: int


Check = Callable[[Effort], Evidence]
"""Runs now; raises where a statement fails."""


class Refuted(AssertionError):
    """A check found a case in which a statement is false."""


class NotBuilt(Exception):
    """What a check needs does not exist yet."""


def require(holds: object, case: str) -> None:
    if not holds:
        raise Refuted(case)


@dataclass(frozen=True)
class Item:
    """One item. A label that ends in * is ours: the paper gives none.

    `claim` is what the item is once its check has passed; nothing holds because it says so here.
    """

    label: str
    kind: Kind
    title: str
    statement: str
    construction: str
    claim: Status
    run: str
    check: Check | None = None
    bound: str | None = None
    erratum: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.claim == "holds" and self.check is None:
            raise ValueError(f"{self.label} cannot hold without a check")
        if (self.claim == "gap") != (self.reason is not None):
            raise ValueError(f"{self.label} gives a reason if and only if it is a gap")


@dataclass(frozen=True)
class Finding:
    """What a run of an item's check led to."""

    item: Item
    status: Status
    evidence: Evidence | None
    reason: str | None = None
    failed: bool = False
    """Its check did not pass; a gap that is known is no failure."""

    def to_json(self) -> dict[str, object]:
        item = self.item
        evidence = None if self.evidence is None else {"method": self.evidence.method, "cases": self.evidence.cases}
        return {
            "label": item.label,
            "kind": item.kind,
            "title": item.title,
            "statement": item.statement,
            "bound": item.bound,
            "construction": item.construction,
            "status": self.status,
            "evidence": evidence,
            "erratum": item.erratum,
            "run": item.run,
            "reason": self.reason,
        }


def examine(item: Item, effort: Effort) -> Finding:
    """Run an item's check. Whatever goes wrong in it makes the item a gap, with the reason."""
    if item.check is None:
        return Finding(item, item.claim, None, item.reason)
    try:
        evidence = item.check(effort)
    except NotBuilt as error:
        return Finding(item, "gap", None, f"not built yet: {error}", failed=True)
    except Exception as error:  # a broken construction may fail in any way; none of them may count as evidence
        sentence = f"{type(error).__name__}: {error}" if not isinstance(error, Refuted) else str(error)
        return Finding(item, "gap", None, f"its check failed: {' '.join(sentence.split())}", failed=True)
    if evidence.cases < 1:
        return Finding(item, "gap", None, "its check looked at no case", failed=True)
    return Finding(item, item.claim, evidence, item.reason)
