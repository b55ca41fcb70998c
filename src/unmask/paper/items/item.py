"""Item: one statement of the paper, the module that implements it, and the check that produces its evidence."""

from dataclasses import dataclass
from typing import Literal

from unmask.paper.checks.evidence import Check, Proof
from unmask.paper.items.numbering import NUMBERS

Status = Literal["holds", "defined", "cited", "gap"]
STATUSES: tuple[Status, ...] = ("holds", "defined", "cited", "gap")
Against = Literal["as printed", "repaired", "open"]
AGAINST: tuple[Against, ...] = ("as printed", "repaired", "open")
Verdict = Literal["holds as stated", "holds after a repair", "refuted as stated", "open", "definition", "cited"]
VERDICTS: tuple[Verdict, ...] = (
    "holds as stated",
    "holds after a repair",
    "refuted as stated",
    "open",
    "definition",
    "cited",
)
"""The statuses that users see, one for each item."""
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
    """One item. A label that ends in * is ours, because the paper gives none.

    `claim` is the status of the item once its check has passed. It is a claim about `statement`, which is what this
    project shows. `against_print` compares `statement` with the paper's text:

        as printed  the paper's statement is shown, at its cost or a lower one; the proof may differ
        repaired    the paper's statement fails or is incomplete; `difference` gives the corrected form
        open        the paper's statement is neither shown nor refuted; `difference` says what is shown instead
        None        the item is only cited, or is not in the paper

    `refuted` marks a repaired item whose repair changes what is claimed, and not only a detail such as an index, a
    type, a constant or a missing case. Such an item needs a counterexample.
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
    refuted: bool = False
    check: Check | None = None
    bound: str | None = None
    erratum: str | None = None
    reason: str | None = None
    proofs: tuple[Proof, ...] = ()
    """Proofs that no check runs, because they need a separate prover."""

    @property
    def number(self) -> str | None:
        """The number in the PDF, such as "Theorem 3.1", derived from the LaTeX source; None for unnumbered items."""
        return NUMBERS.get(self.label)

    def __post_init__(self) -> None:
        if self.claim == "holds" and self.check is None:
            raise ValueError(f"{self.label} cannot hold without a check")
        if (self.claim == "gap") != (self.reason is not None):
            raise ValueError(f"{self.label} gives a reason if and only if it is a gap")
        if (self.against_print is None) != (self.claim == "cited" or self.kind == "own result"):
            raise ValueError(f"{self.label}: only items of the paper that are not cited are compared with its text")
        if (self.against_print in ("repaired", "open")) != (self.difference is not None):
            raise ValueError(f"{self.label}: an item has a difference if and only if it is repaired or open")
        if self.refuted and self.against_print != "repaired":
            raise ValueError(f"{self.label}: a refuted item must say what holds instead (against_print: repaired)")
