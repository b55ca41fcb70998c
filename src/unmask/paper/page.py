"""Findings → docs/paper/items.md."""

from collections.abc import Iterable

from unmask.paper.finding import Finding
from unmask.paper.items.item import AGAINST, STATUSES

KINDS = (
    ("theorem", "Theorems"),
    ("corollary", "Corollaries"),
    ("proposition", "Proposition"),
    ("remark", "Remark"),
    ("lemma", "Lemmas"),
    ("definition", "Definitions"),
    ("assumption", "Assumptions"),
    ("figure", "Figures"),
    ("takeaway", "Takeaways"),
    ("own result", "Our own results"),
)
HEAD = """# The paper, item by item

Written by `make theorems`, which runs every check; do not edit. `unmask paper --check` runs them now,
`unmask paper LABEL` explains one item. Errata are numbered as in [errata.md](errata.md).

Two things are said of each item. The first is about the statement as it stands *here*: *holds*, its check ran and
passed; *defined*, a definition, run against the code that implements it; *cited*, proved elsewhere, the check
illustrates it; *gap*, not shown here, with the reason. The second is about the statement as it is *printed*:

- *as printed*: what is printed is shown, at the printed price or a lower one; the proof may be another;
- *repaired*: what is printed fails, or says too little to be run; the item says what is put in its place;
- *open*: what is printed is neither shown nor refuted here; the item says what is shown instead.

What is only cited has no second word. A check is exhaustive, or a proof, only where it says so; the others are tests.
*Proved for every width* is a proof about the gadgets that an item rests on, one precision at a time
([gadgets](../reference/gadgets.md)); *by Rocq* is a proof that the kernel of Rocq checks ([rocq](rocq.md)),
and no check repeats.
Labels that end in * are ours: the paper gives none. The last section is not about the paper: results of our own, which
go beyond it or repair it, checked like the others, and without a second word. Files are relative to `src/unmask/`.
"""


def page(findings: Iterable[Finding]) -> str:
    """docs/paper/items.md."""
    listed = list(findings)
    lines = [HEAD, *counts(listed)]
    for kind, heading in KINDS:
        lines += ["", f"## {heading}"]
        for finding in listed:
            if finding.item.kind == kind:
                lines += ["", *_entry(finding)]
    return "\n".join(lines) + "\n"


def counts(findings: list[Finding]) -> list[str]:
    """How many items of each status stand how against the print."""
    lines = [f"| {len(findings)} items | {' | '.join(AGAINST)} | no word |", "|---|--:|--:|--:|--:|"]
    for status in STATUSES:
        row = [sum(f.status == status and f.against_print == against for f in findings) for against in (*AGAINST, None)]
        lines.append(f"| {status} | {' | '.join(map(str, row))} |")
    return lines


def _entry(finding: Finding) -> list[str]:
    item = finding.item
    against = f", {finding.against_print}" if finding.against_print and finding.status != "gap" else ""
    lines = [f"### `{item.label}`: {item.title}", "", f"**{finding.status}{against}**. {item.statement}", ""]
    if finding.reason:
        lines.append(f"- gap: {finding.reason}")
    if item.difference:
        lines.append(f"- against the print: {item.difference}")
    if item.bound:
        lines.append(f"- bound: {item.bound}")
    lines.append(f"- construction: {_linked(item.construction)}")
    if finding.evidence:
        lines.append(f"- evidence: {finding.evidence.method} ({finding.evidence.cases:,} cases)")
    lines += [f"- {proof.sentence}" for proof in finding.proofs]
    if item.erratum:
        lines.append(f"- erratum {item.erratum}")
    lines.append(f"- run: `{item.run}`")
    return lines


def _linked(construction: str) -> str:
    if not construction.endswith(".py"):
        return construction
    return ", ".join(f"[{name}](../../src/unmask/{name})" for name in construction.split(", "))
