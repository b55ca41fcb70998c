"""How the paper's items look on a terminal, and in a pipe."""

from rich.markup import escape

from unmask.paper.finding import Finding
from unmask.terminal import console, is_quiet, say, show_table

STYLE = {
    "as printed": "bold green",
    "repaired": "cyan",
    "open": "magenta",
    "defined": "green",
    "cited": "yellow",
    "gap": "bold red",
    "holds": "green",
}
"""The last one is for what is not in the paper."""


def show_items(findings: list[Finding], *, checked: bool) -> None:
    """One line per item; in a pipe `label, status, against print, kind, title` and what was run, tab by tab."""
    if is_quiet():
        return
    out = console()
    if not out.is_terminal:
        for finding in findings:
            item = finding.item
            against = finding.against_print or "-"
            say(item.label, finding.status, against, item.kind, item.title, _ran(finding))
    else:
        columns = ("label", "status", "statement", "evidence" if checked else "lives in")
        rows = [
            (
                escape(finding.item.label),
                f"[{STYLE[finding.word]}]{finding.word}[/]",
                escape(finding.item.title),
                escape(_ran(finding) if checked else finding.item.construction),
            )
            for finding in findings
        ]
        title = "what the paper says, and what was run" + ("" if checked else " (last record)")
        show_table(title, columns, rows, left=columns)
    words = {word: sum(f.word == word for f in findings) for word in STYLE}
    out.print(f"{len(findings)} items: {', '.join(f'{count} {word}' for word, count in words.items() if count)}")


def explain(finding: Finding, *, checked: bool) -> None:
    """All there is to say about one item."""
    item, out = finding.item, console()
    ours = " (the label is ours, the paper gives none)" if item.label.endswith("*") else ""
    out.print(f"[bold]{escape(item.label)}[/bold], {item.kind}: {escape(item.title)}{ours}")
    against = f", {finding.against_print}" if finding.against_print and finding.status != "gap" else ""
    out.print(
        f"[{STYLE[finding.word]}]{finding.status}{against}[/]"
        + (f": {escape(finding.reason)}" if finding.reason else "")
    )
    for line in ("", escape(item.statement), ""):
        out.print(line)
    rows = [
        ("against the print", item.difference),
        ("bound", item.bound),
        ("construction", item.construction),
        ("checked now" if checked else "checked", _ran(finding)),
        *(("beyond these cases", proof.sentence) for proof in finding.proofs),
        ("run it", item.run),
        ("in the errata", None if item.erratum is None else f"{item.erratum} See docs/paper/errata.md."),
    ]
    for name, value in rows:
        if value:
            # a command that is folded could not be copied
            out.print(f"[dim]{name}:[/dim] {escape(value)}", soft_wrap=name == "run it" or None)


def _ran(finding: Finding) -> str:
    if finding.evidence is None:
        return finding.reason or "nothing to run"
    return f"{finding.evidence.method} ({finding.evidence.cases} cases)"
