"""Findings → docs/paper/items.md."""

from collections.abc import Iterable

from unmask.paper.finding import Finding
from unmask.paper.items.item import VERDICTS

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

This page lists every statement of the paper with its status, the module that implements it, the check that was run,
and a command that runs it. `make theorems` runs every check and writes this page; do not edit it. `unmask paper
--check` runs the checks now. `unmask paper ITEM` explains one item. ITEM is a label, a number such as `'Theorem
3.1'`, or words such as `'regular languages'`.

Each item has one status:

- *holds as stated*: the paper's statement is shown here, at its cost or a lower one. The proof may differ.
- *holds after a repair*: the paper's statement is wrong or incomplete in a detail, such as an index, a constant, a
  type or a missing case. The item says what changes.
- *refuted as stated*: the paper's statement is false, and what it claims must change. The item says what holds instead.
- *open*: the paper's statement is neither shown nor refuted here. The item says what is shown instead.
- *definition*: the code implements it and a check compares the two. If a detail had to change, the item says so.
- *cited*: proved elsewhere. The check illustrates it.

A check is a test unless it says that it is exhaustive or a proof. *Proved for every width* is a proof about the
gadgets that an item uses, for one precision at a time ([gadgets](../reference/gadgets.md)). *By Rocq* is a proof that
the Rocq kernel checks ([Rocq](rocq.md)). Numbers such as *Theorem 3.1* are derived from the LaTeX source; published
versions may differ. Labels that end in * are ours, because the paper gives none. The last section lists [our own
results](our-results.md). Errata are numbered as on [the errata page](errata.md). Files are relative to `src/unmask/`.

`unmask paper --json` has the status in the field `verdict` and the number in `number`, both new in version 0.3. The
fields `status` (`holds`, `defined`, `cited`, `gap`) and `against_print` (`as printed`, `repaired`, `open`, or null)
keep their meaning. An item that is *refuted as stated* has `against_print: repaired`. An item whose check fails is
*open*, with `status: gap` and the reason.
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
    """Return a table: the number of items of each kind that have each status."""
    verdicts = [verdict for verdict in VERDICTS if any(finding.verdict == verdict for finding in findings)]
    lines = [f"| {len(findings)} items | {' | '.join(verdicts)} |", "|---|" + "--:|" * len(verdicts)]
    for kind, heading in KINDS:
        row = [sum(f.item.kind == kind and f.verdict == verdict for f in findings) for verdict in verdicts]
        if any(row):
            lines.append(f"| {heading.lower()} | {' | '.join(str(count or '') for count in row)} |")
    return lines


def _entry(finding: Finding) -> list[str]:
    item = finding.item
    number = f"{item.number}, " if item.number else ""
    lines = [f"### {number}`{item.label}`: {item.title}", "", f"**{finding.verdict}**. {item.statement}", ""]
    if finding.reason:
        lines.append(f"- reason: {finding.reason}")
    if item.difference:
        lines.append(f"- difference from the paper: {item.difference}")
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
