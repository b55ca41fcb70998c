"""Item × effort → Finding: run the item's check and report the result."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from unmask.paper.checks.evidence import Effort, Evidence, ItemProof, NotBuilt, Refuted
from unmask.paper.item import VERDICTS, Against, Item, Status, Verdict


@dataclass(frozen=True)
class Finding:
    """The result of an item's check. `verdict` is the status that users see.

    `status` and `against_print` are older fields of the JSON document. They keep the values that they had in version
    0.2, for programs that read them.
    """

    item: Item
    status: Status
    evidence: Evidence | None
    reason: str | None = None
    failed: bool = False
    """Whether the check did not pass. A known gap is not a failure."""

    @property
    def against_print(self) -> Against | None:
        """Return the comparison with the paper's text; an item whose check did not pass is open."""
        return "open" if self.status == "gap" and self.item.against_print is not None else self.item.against_print

    @property
    def verdict(self) -> Verdict:
        """Return the status of the paper's statement, or of our statement for a result that is not in the paper."""
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
    def proofs(self) -> tuple[ItemProof, ...]:
        """Return the proofs made by the check, then those that need a separate prover."""
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


def check_item(item: Item, effort: Effort) -> Finding:
    """Run an item's check. Any exception in the check makes the item a gap, with the reason."""
    if item.check is None:
        return Finding(item, item.claim, None, item.reason)
    try:
        evidence = effort.run(item.check)
    except NotBuilt as error:
        return Finding(item, "gap", None, f"not built yet: {error}", failed=True)
    except Exception as error:  # a broken construction may fail in any way
        message = f"{type(error).__name__}: {error}" if not isinstance(error, Refuted) else str(error)
        return Finding(item, "gap", None, f"its check failed: {' '.join(message.split())}", failed=True)
    if evidence.cases < 1:
        return Finding(item, "gap", None, "its check looked at no case", failed=True)
    return Finding(item, item.claim, evidence, item.reason)


# Findings → docs/paper/items.md.


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


def items_page(findings: Iterable[Finding]) -> str:
    """Return the content of docs/paper/items.md."""
    listed = list(findings)
    lines = [HEAD, *status_table(listed)]
    for kind, heading in KINDS:
        lines += ["", f"## {heading}"]
        for finding in listed:
            if finding.item.kind == kind:
                lines += ["", *_entry(finding)]
    return "\n".join(lines) + "\n"


def status_table(findings: list[Finding]) -> list[str]:
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
    lines += [f"- {proof.description}" for proof in finding.proofs]
    if item.erratum:
        lines.append(f"- erratum {item.erratum}")
    lines.append(f"- run: `{item.run}`")
    return lines


def _linked(construction: str) -> str:
    if not construction.endswith(".py"):
        return construction
    return ", ".join(f"[{name}](../../src/unmask/{name})" for name in construction.split(", "))


# Items → findings: from running the checks now, or from the record of the last run of `make theorems`.
#
# One run writes both the record, evidence.json, and docs/paper/items.md. Neither has a date, so the same code gives the
# same files.


RECORD = "evidence.json"


def examine_all(items: Iterable[Item], effort: Effort) -> Iterator[Finding]:
    """Run the check of every item; a check that several items share runs once."""
    return (check_item(item, effort) for item in items)


def recorded_findings(items: Iterable[Item]) -> Iterator[Finding]:
    """Yield the findings of the record; an item that is not in it is a gap."""
    record = json.loads(files("unmask.paper").joinpath(RECORD).read_text(encoding="utf-8"))
    for item in items:
        entry = record.get(item.label)
        if entry is None:
            yield Finding(item, "gap", None, "no check of this item is recorded; run it with --check", failed=True)
            continue
        evidence = entry["evidence"] and Evidence(
            entry["evidence"]["method"], entry["evidence"]["cases"], tuple(map(ItemProof.from_json, entry["proofs"]))
        )
        yield Finding(item, entry["status"], evidence, entry["reason"], failed=entry["failed"])


def record_of(findings: Iterable[Finding]) -> str:
    """Return the content of evidence.json."""
    entries = {}
    for finding in findings:
        document = finding.to_json()
        proofs = finding.evidence.proofs if finding.evidence else ()
        entries[finding.item.label] = {
            **{name: document[name] for name in ("status", "evidence", "reason")},
            "proofs": [proof.to_json() for proof in proofs],
            "failed": finding.failed,
        }
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def write_findings(root: Path, findings: list[Finding]) -> None:
    """Write the record and the page below the root of the repository."""
    (root / "src" / "unmask" / "paper" / RECORD).write_text(record_of(findings), encoding="utf-8")
    (root / "docs" / "paper").mkdir(parents=True, exist_ok=True)
    (root / "docs" / "paper" / "items.md").write_text(items_page(findings), encoding="utf-8")
