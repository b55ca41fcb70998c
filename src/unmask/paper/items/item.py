"""Item: one statement of the paper, where it lives here, and the check that produces its evidence."""

from dataclasses import dataclass
from typing import Literal

from unmask.paper.checks.evidence import Check, Proof

Status = Literal["holds", "defined", "cited", "gap"]
STATUSES: tuple[Status, ...] = ("holds", "defined", "cited", "gap")
Against = Literal["as printed", "repaired", "open"]
AGAINST: tuple[Against, ...] = ("as printed", "repaired", "open")
Kind = Literal[
    "theorem",
    "lemma",
    "corollary",
    "proposition",
    "remark",
    "definition",
    "assumption",
    "figure",
    "takeaway",
    "own result",
]


@dataclass(frozen=True, kw_only=True)
class Item:
    """One item. A label that ends in * is ours: the paper gives none.

    `claim` is what the item is once its check has passed; nothing holds because it says so here. It is a claim about
    `statement`, which is what is shown here. `against_print` says how that relates to the text of the paper:

        as printed  what is printed is shown, at the printed price or a lower one; a proof may be another
        repaired    what is printed fails, or is no statement yet; `difference` says what is put in its place
        open        what is printed is neither shown nor refuted here; `difference` says what is shown instead
        None        the item is only cited, or is not in the paper
    """

    label: str
    kind: Kind
    title: str
    statement: str
    construction: str
    claim: Status
    run: str
    against_print: Against | None
    difference: str | None = None
    check: Check | None = None
    bound: str | None = None
    erratum: str | None = None
    reason: str | None = None
    proofs: tuple[Proof, ...] = ()
    """Proofs that no check runs, because they need a prover of their own."""

    def __post_init__(self) -> None:
        if self.claim == "holds" and self.check is None:
            raise ValueError(f"{self.label} cannot hold without a check")
        if (self.claim == "gap") != (self.reason is not None):
            raise ValueError(f"{self.label} gives a reason if and only if it is a gap")
        if (self.against_print is None) != (self.claim == "cited" or self.kind == "own result"):
            raise ValueError(f"{self.label} is compared with the print if and only if it is there and not only cited")
        if (self.against_print in ("repaired", "open")) != (self.difference is not None):
            raise ValueError(f"{self.label} says how it differs from the print if and only if it does")
