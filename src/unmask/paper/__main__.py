"""`python -m unmask.paper ROOT`: run every check, then write the record and docs/paper/items.md (`make theorems`)."""

import sys
from pathlib import Path

from unmask.paper.all_items import ITEMS
from unmask.paper.checks.evidence import Effort
from unmask.paper.findings import examine_all, write_findings

if __name__ == "__main__":
    findings = []
    for finding in examine_all(ITEMS, Effort()):
        findings.append(finding)
        print(f"{len(findings)} of {len(ITEMS)}: {finding.item.label}", file=sys.stderr)
    write_findings(Path(sys.argv[1] if len(sys.argv) > 1 else "."), findings)
    for finding in findings:
        if finding.failed:
            print(f"{finding.item.label}: {finding.reason}", file=sys.stderr)
    sys.exit(any(finding.failed for finding in findings))
