"""The tables, layout and links of the README are true. `test_docs.py` runs its commands."""

import re
from collections import Counter
from pathlib import Path

from unmask.paper.all_items import ITEMS
from unmask.paper.findings import recorded_findings
from unmask.paper.item import VERDICTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GROUPS = {
    "theorems": {"theorem"},
    "corollaries and propositions": {"corollary", "proposition"},
    "lemmas": {"lemma"},
    "definitions and assumptions": {"definition", "assumption"},
    "figures, takeaways, remarks": {"figure", "takeaway", "remark"},
}


def table(first_header):
    """Return the rows, without the header, of the table whose header begins like this, as lists of cells."""
    lines = README.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first_header} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    raise AssertionError("the table has no end")


def test_the_items_of_the_paper_are_counted():
    findings = list(recorded_findings(ITEMS))
    counted = Counter((finding.item.kind, finding.verdict) for finding in findings if finding.item.kind != "own result")
    own_results = [finding for finding in findings if finding.item.kind == "own result"]
    assert f"{len(own_results)} more are results of our own" in README
    assert all(finding.status == "holds" for finding in own_results)
    assert {kind for kind, _ in counted} == set().union(*GROUPS.values())
    assert {word for _, word in counted} <= set(VERDICTS)
    assert f"| items of the paper | {' | '.join(VERDICTS)} |" in README
    for name, *numbers in table("items of the paper"):
        expected = [sum(counted[kind, word] for kind in GROUPS[name]) for word in VERDICTS]
        assert [int(n) for n in numbers] == expected, name


def test_the_layout_is_the_real_one():
    block = re.search(r"^## Layout\n+```\n(.*?)^```", README, re.M | re.S)
    assert block is not None
    named = {line.split()[0] for line in block[1].splitlines()}
    folders = {f"{path.name}/" for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    assert all((ROOT / path).is_dir() for path in named)
    assert {name for name in folders if name not in ("src/", "site/", "dist/", "build/")} <= named


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


def test_files_that_the_readme_links_to_are_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert "docs/pictures/denoising.svg" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_citations():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r'title: "(On the [^"]+)"', citation)
    assert title is not None
    assert title[1] in README
    assert all(f"family-names: {name}" in citation and name in README for name in ("Svete", "Sabharwal"))
