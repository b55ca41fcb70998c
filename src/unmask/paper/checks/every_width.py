"""The gadget lemmas behind an item, for every width: decided by closure over the compiler's own weights, now."""

from unmask.paper.checks.evidence import Check, Effort, Evidence, Proof
from unmask.verification.folds.lemma import LemmaEvidence
from unmask.verification.folds.lemmas import CITED, cited

LARGEST = 4


def with_lemmas(label: str, check: Check) -> Check:
    """The item's own check, and the lemmas that it rests on; any of them that fails fails the item."""

    def both(effort: Effort) -> Evidence:
        own = effort.run(check)
        decided = cited(label, LARGEST)
        return Evidence(own.method, own.cases, (*own.proofs, *([_proof(label, decided)] if decided else [])))

    return both if label in CITED else check


def _proof(label: str, decided: tuple[LemmaEvidence, ...]) -> Proof:
    later = [f"{lemma.name} from p = {lemma.least}" for lemma in decided if lemma.least > 1]
    refuted = sum(len(lemma.refutations) for lemma in decided)
    wrong = [f"{refuted} wrong variants refuted"] if refuted else []
    return Proof(
        covers="every width",
        by="closure",
        names=tuple(lemma.name for lemma in decided),
        note="; ".join((f"p = 1 … {LARGEST}", *later, *wrong)),
        run=f"unmask paper {label} --check",
    )
