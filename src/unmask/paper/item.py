"""Item: one statement of the paper, the module that implements it, and the check that produces its evidence."""

from dataclasses import dataclass
from typing import Any, Literal

from unmask.paper.checks.evidence import Check, ItemProof

# Label → number in the PDF, such as "Theorem 3.1".
#
# The numbers are derived from the LaTeX source: each environment has its own counter, which restarts in every section,
# and restatements in the appendix repeat the number of the original. The file that declares the counters is not part of
# the source. The derived numbers agree with citations of the paper in other work (Theorems 2.1 and 3.1 to 3.4,
# Corollaries 3.3, 3.4 and 3.7, Definition B.3). Figures and takeaways are numbered in order. Published versions may
# differ.


NUMBERS = {
    "fig:figure-1a": "Figure 1",
    "fig:figure-1b": "Figure 2",
    "fig:expression-tree": "Figure 3",
    "takeaway:takeaway-1": "Takeaway 1",
    "takeaway:takeaway-2": "Takeaway 2",
    "takeaway:takeaway-3": "Takeaway 3",
    "takeaway:takeaway-4": "Takeaway 4",
    "takeaway:takeaway-5": "Takeaway 5",
    "assumption:uniform-unmasking": "Assumption 2.1",
    "assumption:perfect-approximation": "Assumption 2.2",
    "thm:perfect-approximation-limitation": "Theorem 2.1",
    "thm:lts-mdms": "Theorem 3.1",
    "cor:mdm-lt-equivalence": "Corollary 3.1",
    "cor:mdms-can-simulate-regular-languages": "Corollary 3.2",
    "thm:regular-languages-in-mdm-efficient": "Theorem 3.2",
    "cor:mdms-with-constant-steps": "Corollary 3.3",
    "cor:mdms-with-polylog-steps": "Corollary 3.4",
    "thm:mdms-can-simulate-cot": "Theorem 3.3",
    "thm:cot-can-simulate-mdms": "Theorem 3.4",
    "thm:mdms-cot-sandwich": "Corollary 3.5",
    "cor:mdms-with-polynomially-many-steps*": "Corollary 3.6",
    "thm:cot-mdm-separation": "Corollary 3.7",
    "def:fixed-point*": "Definition B.1",
    "def:rounding*": "Definition B.2",
    "def:iterative-sum*": "Definition B.3",
    "def:mlp": "Definition B.4",
    "def:uniform-transformers": "Definition B.5",
    "def:decoding-step": "Definition B.6",
    "def:gumbel-max-sampling": "Definition B.7",
    "def:cot-generation*": "Definition B.8",
    "def:cot-acceptance*": "Definition B.9",
    "def:pcot*": "Definition B.10",
    "def:pcot-acceptance*": "Definition B.11",
    "prop:cot-as-pcot": "Proposition B.1",
    "def:looped-transformer": "Definition B.12",
    "def:padded-transformer": "Definition B.13",
    "thm:looped-transformers-characterization": "Remark B.1",
    "def:stochastic-looped-transformer": "Definition B.14",
    "def:planner*": "Definition B.15",
    "def:predictor*": "Definition B.16",
    "def:mdm*": "Definition B.17",
    "def:unmasking-process*": "Definition B.18",
    "def:mdm-acceptance*": "Definition B.19",
    "def:transformer-planner-predictor*": "Definition B.20",
    "def:topk*": "Definition C.1",
    "thm:single-model-equivalence": "Theorem C.1",
    "thm:mdms-can-simulate-emdms": "Theorem C.2",
    "lem:our-finite-precision-properties": "Lemma D.1",
    "lem:finite-precision-properties": "Lemma D.2",
    "lem:pos-enc-properties": "Lemma D.3",
    "lem:our-pos-enc-properties": "Lemma D.4",
    "lem:mlp-arithmetic-operations": "Lemma D.5",
    "lem:ignore-positions": "Lemma D.6",
    "lem:focus-on-marked-positions": "Lemma D.7",
    "lem:detection": "Lemma D.8",
    "lem:select-block": "Lemma D.9",
    "lem:binary-encoding": "Lemma D.10",
    "lem:mlp-for-argmax": "Lemma D.11",
    "lem:projection-mlp": "Lemma D.12",
    "lem:mask-conversion": "Lemma D.13",
    "lem:unmask-conversion-fp": "Lemma D.14",
    "thm:lts-can-simulate-mdms": "Theorem E.1",
    "lem:idenitity-dump": "Lemma E.1",
    "thm:emdms-can-simulate-fplts": "Theorem E.2",
}


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
    """One item of the paper, or one of our own results. A label that ends in * is ours, because the paper gives none.

    `claim` is the status of the item once its check has passed. It is a claim about `statement`, the statement that
    this project shows. `against_print` compares `statement` with the paper's text:

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
    proofs: tuple[ItemProof, ...] = ()
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


def paper_item(
    *, claim: Status = "holds", repaired: str | None = None, still_open: str | None = None, **fields: Any
) -> Item:
    """Return an item of the paper that is compared with the paper's text.

    `repaired` gives the corrected form of the paper's statement, `still_open` what is shown instead of it. With neither
    of them, the paper's statement is shown as printed.
    """
    against: Against = "repaired" if repaired else "open" if still_open else "as printed"
    return Item(claim=claim, against_print=against, difference=repaired or still_open, **fields)
