"""Items → findings: by running their checks now, or as the last run of `make theorems` recorded them.

The record, evidence.json, and docs/paper/items.md are written together from one run; neither has a date, so that the
same code gives the same files.
"""

import json
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from unmask.paper.checks.evidence import Effort, Evidence, Proof
from unmask.paper.finding import Finding, examine
from unmask.paper.items.item import Item
from unmask.paper.page import page

RECORD = "evidence.json"


def examine_all(items: Iterable[Item], effort: Effort) -> Iterator[Finding]:
    """Run every check, one that several items share only once."""
    return (examine(item, effort) for item in items)


def recorded(items: Iterable[Item]) -> Iterator[Finding]:
    """What the record says; an item that it does not know is a gap."""
    record = json.loads(files("unmask.paper").joinpath(RECORD).read_text(encoding="utf-8"))
    for item in items:
        entry = record.get(item.label)
        if entry is None:
            yield Finding(item, "gap", None, "no check of this item is recorded; run it with --check", failed=True)
            continue
        evidence = entry["evidence"] and Evidence(
            entry["evidence"]["method"], entry["evidence"]["cases"], tuple(map(Proof.from_json, entry["proofs"]))
        )
        yield Finding(item, entry["status"], evidence, entry["reason"], failed=entry["failed"])


def record_of(findings: Iterable[Finding]) -> str:
    """evidence.json."""
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


def write(root: Path, findings: list[Finding]) -> None:
    """The record and the page, beneath the root of the repository."""
    (root / "src" / "unmask" / "paper" / RECORD).write_text(record_of(findings), encoding="utf-8")
    (root / "docs" / "paper").mkdir(parents=True, exist_ok=True)
    (root / "docs" / "paper" / "items.md").write_text(page(findings), encoding="utf-8")
