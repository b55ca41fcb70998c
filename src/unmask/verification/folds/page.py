"""Lemmas → the table of a page (`python -m unmask.verification.folds.page docs/reference/gadgets.md`)."""

import sys
from pathlib import Path

from unmask.verification.folds.lemma import LemmaEvidence
from unmask.verification.folds.lemmas import BY_NAME, lemmas

BEGIN, END = "<!-- lemmas -->\n", "<!-- end of lemmas -->"
LARGEST = 8
"""Every p up to here is decided where the lemma says that it is cheap."""


def table(decided: tuple[LemmaEvidence, ...]) -> str:
    """Statements, then wrong variants, as two Markdown tables."""
    lines = ["| gadget | for every width | least p | decided for p = | states |", "|---|---|---|---|---|"]
    for one in decided:
        lines.append(f"| {one.name} | {one.statement} | {one.least} | {_span(one.holds)} | {one.states:,} |")
    lines += [
        "",
        "| gadget | wrong variant | fails at p = | shortest counterexample | replayed |",
        "|---|---|---|---|---|",
    ]
    for one in decided:
        for wrong in one.refutations:
            text = f"p = {wrong.p}: {wrong.counterexample}"
            lines.append(f"| {one.name} | {wrong.variant} | {_span(wrong.fails)} | {text} | {wrong.replayed} |")
    return "\n".join(lines) + "\n"


def _span(precisions: tuple[int, ...]) -> str:
    """1, or 1 … 4: they follow each other."""
    assert precisions == tuple(range(precisions[0], precisions[-1] + 1))
    return str(precisions[0]) if len(precisions) == 1 else f"{precisions[0]} … {precisions[-1]}"


def written(page: str, decided: tuple[LemmaEvidence, ...]) -> str:
    """The page with the tables between its markers."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + table(decided) + END + rest.split(END)[1]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8"), lemmas(*BY_NAME, most=LARGEST)), encoding="utf-8")
