"""Item × effort → Finding: what a run of its check led to."""

from dataclasses import dataclass

from unmask.paper.checks.evidence import Effort, Evidence, NotBuilt, Proof, Refuted
from unmask.paper.items.item import AGAINST, Against, Item, Status

WORDS = (*AGAINST, "defined", "cited", "gap")
"""What a table says of an item."""


@dataclass(frozen=True)
class Finding:
    """What a run of an item's check led to."""

    item: Item
    status: Status
    evidence: Evidence | None
    reason: str | None = None
    failed: bool = False
    """Its check did not pass; a gap that is known is no failure."""

    @property
    def against_print(self) -> Against | None:
        """How the text of the paper stands: what has not been checked is open, whatever the item claims."""
        return "open" if self.status == "gap" and self.item.against_print is not None else self.item.against_print

    @property
    def word(self) -> str:
        """The one word for a table: how what holds stands against the print, and else the status."""
        return self.against_print or self.status if self.status == "holds" else self.status

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """Those of the check, then those that need a prover of their own."""
        return (*(self.evidence.proofs if self.evidence else ()), *self.item.proofs)

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
            "against_print": self.against_print,
            "difference": item.difference,
            "evidence": evidence,
            "proofs": [proof.to_json() for proof in self.proofs],
            "erratum": item.erratum,
            "run": item.run,
            "reason": self.reason,
        }


def examine(item: Item, effort: Effort) -> Finding:
    """Run an item's check. Whatever goes wrong in it makes the item a gap, with the reason."""
    if item.check is None:
        return Finding(item, item.claim, None, item.reason)
    try:
        evidence = effort.run(item.check)
    except NotBuilt as error:
        return Finding(item, "gap", None, f"not built yet: {error}", failed=True)
    except Exception as error:  # a broken construction may fail in any way; none of them may count as evidence
        sentence = f"{type(error).__name__}: {error}" if not isinstance(error, Refuted) else str(error)
        return Finding(item, "gap", None, f"its check failed: {' '.join(sentence.split())}", failed=True)
    if evidence.cases < 1:
        return Finding(item, "gap", None, "its check looked at no case", failed=True)
    return Finding(item, item.claim, evidence, item.reason)
