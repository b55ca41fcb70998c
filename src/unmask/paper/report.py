"""Items → findings: by running their checks now, or as the last run of `make theorems` recorded them.

The record, evidence.json, and docs/theorems.md are written together from one run; neither has a date, so that the
same code gives the same files.
"""

import json
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from unmask.paper.item import Effort, Evidence, Finding, Item, Status, examine

RECORD = "evidence.json"
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
)


def examine_all(items: Iterable[Item], effort: Effort) -> Iterator[Finding]:
    """Run every check, one that several items share only once."""
    ran: dict[int, Finding] = {}
    for item in items:
        earlier = ran.get(id(item.check))
        if item.check is None or earlier is None:
            finding = examine(item, effort)
            ran[id(item.check)] = finding
        else:
            status: Status = "gap" if earlier.failed else item.claim
            reason = earlier.reason if earlier.failed else item.reason
            finding = Finding(item, status, earlier.evidence, reason, failed=earlier.failed)
        yield finding


def recorded(items: Iterable[Item]) -> Iterator[Finding]:
    """What the record says; an item that it does not know is a gap."""
    record = json.loads(files("unmask.paper").joinpath(RECORD).read_text(encoding="utf-8"))
    for item in items:
        entry = record.get(item.label)
        if entry is None:
            yield Finding(item, "gap", None, "it has never been checked; run it with --check", failed=True)
            continue
        evidence = entry["evidence"] and Evidence(entry["evidence"]["method"], entry["evidence"]["cases"])
        yield Finding(item, entry["status"], evidence, entry["reason"], failed=entry["failed"])


def record_of(findings: Iterable[Finding]) -> str:
    """evidence.json."""
    entries = {}
    for finding in findings:
        document = finding.to_json()
        entries[finding.item.label] = {name: document[name] for name in ("status", "evidence", "reason")}
        entries[finding.item.label]["failed"] = finding.failed
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def page(findings: Iterable[Finding]) -> str:
    """docs/theorems.md."""
    found = list(findings)
    counts = {s: sum(f.status == s for f in found) for s in ("holds", "defined", "cited", "gap")}
    lines = [
        "# The paper, item by item",
        "",
        "Written by `make theorems`, which runs every check; do not edit. `unmask paper --check` runs them now,",
        "`unmask paper LABEL` explains one item. Errata are numbered as in [errata.md](errata.md).",
        "",
        f"{len(found)} items: {counts['holds']} hold, {counts['defined']} are definitions, {counts['cited']} are "
        f"cited, "
        f"{counts['gap']} are gaps. *holds*: the check ran and passed. *defined*: a definition, run against the code "
        f"that",
        "implements it. *cited*: proved elsewhere; the check illustrates it. *gap*: not shown here, with the reason. A",
        "check is exhaustive only where it says so; the others are tests, not proofs. Labels that end in * are ours: "
        "the",
        "paper gives none. Files are relative to `src/unmask/`.",
    ]
    for kind, heading in KINDS:
        lines += ["", f"## {heading}"]
        for finding in found:
            if finding.item.kind == kind:
                lines += ["", *_entry(finding)]
    return "\n".join(lines) + "\n"


def _entry(finding: Finding) -> list[str]:
    item = finding.item
    lines = [f"### `{item.label}`: {item.title}", "", f"**{finding.status}**. {item.statement}", ""]
    if finding.reason:
        lines.append(f"- gap: {finding.reason}")
    if item.bound:
        lines.append(f"- bound: {item.bound}")
    lines.append(f"- construction: {_linked(item.construction)}")
    if finding.evidence:
        lines.append(f"- evidence: {finding.evidence.method} ({finding.evidence.cases:,} cases)")
    if item.erratum:
        lines.append(f"- erratum {item.erratum}")
    lines.append(f"- run: `{item.run}`")
    return lines


def _linked(construction: str) -> str:
    if not construction.endswith(".py"):
        return construction
    return ", ".join(f"[{name}](../src/unmask/{name})" for name in construction.split(", "))


def write(root: Path, findings: list[Finding]) -> None:
    """The record and the page, beneath the root of the repository."""
    (root / "src" / "unmask" / "paper" / RECORD).write_text(record_of(findings), encoding="utf-8")
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "theorems.md").write_text(page(findings), encoding="utf-8")
