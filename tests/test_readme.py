"""The README's tables and its tree, against what they are about; its commands are run by `test_docs.py`."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from unmask.paper.items.all_items import ITEMS
from unmask.paper.items.item import VERDICTS
from unmask.paper.report import recorded

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LENGTHS = (8, 64, 256)
GROUPS = {
    "theorems": {"theorem"},
    "corollaries and propositions": {"corollary", "proposition"},
    "lemmas": {"lemma"},
    "definitions and assumptions": {"definition", "assumption"},
    "figures, takeaways, remarks": {"figure", "takeaway", "remark"},
}


def table(first_header):
    """The rows of the table whose header begins so, as lists of cells; the header is not among them."""
    lines = README.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first_header} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    raise AssertionError("the table has no end")


@pytest.mark.parametrize(("problem", "width"), [("(a|b)*abb", 8), ("group:A5", 9)])
def test_the_frameworks_are_measured(unmask, problem, width):
    code, out, _ = unmask("compare", problem, "--lengths", ",".join(map(str, LENGTHS)), "--json")
    assert code == 0
    assert f"unmask compare '(a|b)*abb' --lengths {','.join(map(str, LENGTHS))} --json" in README
    measured = {(row["framework"], row["length"]): row for row in json.loads(out)}
    shown = table("kind")
    assert [row[0] for row in shown] == list(dict.fromkeys(kind for kind, _ in measured))
    for kind, _, *numbers in shown:
        rows = [measured[kind, n] for n in LENGTHS]
        assert [int(n) for n in numbers[:6]] == [row["steps"] for row in rows] + [row["padding"] for row in rows]
        assert int(numbers[width - 2]) == rows[-1]["width"]


def test_the_items_of_the_paper_are_counted():
    findings = list(recorded(ITEMS))
    counted = Counter((finding.item.kind, finding.verdict) for finding in findings if finding.item.kind != "own result")
    own = [finding for finding in findings if finding.item.kind == "own result"]
    assert f"{len(own)} more are results of our own" in README
    assert all(finding.status == "holds" for finding in own)
    assert {kind for kind, _ in counted} == set().union(*GROUPS.values())
    assert {word for _, word in counted} <= set(VERDICTS)
    assert f"| items of the paper | {' | '.join(VERDICTS)} |" in README
    for name, *numbers in table("items of the paper"):
        expected = [sum(counted[kind, word] for kind in GROUPS[name]) for word in VERDICTS]
        assert [int(n) for n in numbers] == expected, name


def tree():
    """path → its line, of everything that the tree names."""
    block = re.search(r"^## Where things are\n+```\n(.*?)^```", README, re.M | re.S)
    assert block is not None
    found, inside = {}, ""
    for line in block[1].splitlines():
        name = line.split()[0]
        if not line.startswith(" "):
            inside = name if name == "src/unmask/" else ""
        found[name if name == inside else inside + name] = line
    return found


def test_the_tree_is_the_real_one():
    named = tree()
    assert all((ROOT / path).exists() for path in named)
    folders = {
        f"src/unmask/{path.name}/" for path in (ROOT / "src" / "unmask").iterdir() if (path / "__init__.py").is_file()
    }
    assert folders <= set(named)
    assert {"docs/", "examples/", "tests/", "benchmarks/"} <= set(named)


def test_files_that_the_readme_links_to_are_there():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert "docs/pictures/denoising.svg" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_who_is_cited():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r'title: "(On the [^"]+)"', citation)
    assert title is not None
    assert title[1] in README
    assert all(f"family-names: {name}" in citation and name in README for name in ("Svete", "Sabharwal"))
