"""Item × effort → Finding: run the item's check and report the result."""

from dataclasses import dataclass

from unmask.paper.checks.evidence import Effort, Evidence, NotBuilt, Proof, Refuted
from unmask.paper.items.item import Against, Item, Status, Verdict


@dataclass(frozen=True)
class Finding:
    """The result of an item's check. `verdict` is the status that users see.

    `status` and `against_print` are two older fields of the JSON document. They stay, with the values that they had in
    version 0.2, for programs that read them.
    """

    item: Item
    status: Status
    evidence: Evidence | None
    reason: str | None = None
    failed: bool = False
    """The check did not pass. A known gap is not a failure."""

    @property
    def against_print(self) -> Against | None:
        """Comparison with the paper's text; an item whose check did not pass is open, whatever it claims."""
        return "open" if self.status == "gap" and self.item.against_print is not None else self.item.against_print

    @property
    def verdict(self) -> Verdict:
        """The status of the paper's statement, or of our own for a result that is not in the paper."""
        if self.status == "gap":
            return "open"
        if self.status == "cited":
            return "cited"
        if self.status == "defined":
            return "definition"
        if self.against_print == "open":
            return "open"
        if self.against_print == "repaired":
            return "refuted as stated" if self.item.refuted else "holds after a repair"
        return "holds as stated"

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """Proofs made by the check, then proofs that need a separate prover."""
        return (*(self.evidence.proofs if self.evidence else ()), *self.item.proofs)

    def to_json(self) -> dict[str, object]:
        item = self.item
        evidence = None if self.evidence is None else {"method": self.evidence.method, "cases": self.evidence.cases}
        return {
            "label": item.label,
            "number": item.number,
            "kind": item.kind,
            "title": item.title,
            "statement": item.statement,
            "bound": item.bound,
            "construction": item.construction,
            "verdict": self.verdict,
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
    """Run an item's check. Any exception in the check makes the item a gap, with the reason."""
    if item.check is None:
        return Finding(item, item.claim, None, item.reason)
    try:
        evidence = effort.run(item.check)
    except NotBuilt as error:
        return Finding(item, "gap", None, f"not built yet: {error}", failed=True)
    except Exception as error:  # a broken construction may fail in any way
        sentence = f"{type(error).__name__}: {error}" if not isinstance(error, Refuted) else str(error)
        return Finding(item, "gap", None, f"its check failed: {' '.join(sentence.split())}", failed=True)
    if evidence.cases < 1:
        return Finding(item, "gap", None, "its check looked at no case", failed=True)
    return Finding(item, item.claim, evidence, item.reason)
