"""`python -m unmask.paper ROOT`: run every check, then write the record and docs/paper/items.md (`make theorems`)."""

import sys
from pathlib import Path

from unmask.paper.checks.evidence import Effort
from unmask.paper.items.all_items import ITEMS
from unmask.paper.report import examine_all, write
from unmask.terminal import progress

if __name__ == "__main__":
    findings = list(progress(examine_all(ITEMS, Effort()), total=len(ITEMS), label="checking"))
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."), findings)
    for finding in findings:
        if finding.failed:
            print(f"{finding.item.label}: {finding.reason}", file=sys.stderr)
    sys.exit(any(finding.failed for finding in findings))
