"""How the paper's items look on a terminal, and in a pipe."""

from rich.markup import escape

from unmask.paper.item import Finding
from unmask.terminal import console, is_quiet, show_table

STYLE = {"holds": "bold green", "defined": "green", "cited": "yellow", "gap": "bold red"}


def show_items(findings: list[Finding], *, checked: bool) -> None:
    """One line per item; in a pipe `label, status, kind, title` and what was run, tab by tab."""
    if is_quiet():
        return
    out = console()
    if not out.is_terminal:
        for finding in findings:
            print("\t".join((finding.item.label, finding.status, finding.item.kind, finding.item.title, _ran(finding))))
    else:
        columns = ("label", "status", "statement", "evidence" if checked else "lives in")
        rows = [
            (
                escape(finding.item.label),
                f"[{STYLE[finding.status]}]{finding.status}[/]",
                escape(finding.item.title),
                escape(_ran(finding) if checked else finding.item.construction),
            )
            for finding in findings
        ]
        title = "what the paper says, and what was run" + ("" if checked else " (last record)")
        show_table(title, columns, rows, left=columns)
    counts = ", ".join(f"{sum(f.status == s for f in findings)} {s}" for s in STYLE)
    out.print(f"{len(findings)} items: {counts}")


def explain(finding: Finding, *, checked: bool) -> None:
    """All there is to say about one item."""
    item, out = finding.item, console()
    ours = " (the label is ours, the paper gives none)" if item.label.endswith("*") else ""
    out.print(f"[bold]{escape(item.label)}[/bold], {item.kind}: {escape(item.title)}{ours}")
    out.print(
        f"[{STYLE[finding.status]}]{finding.status}[/]" + (f": {escape(finding.reason)}" if finding.reason else "")
    )
    out.print(f"\n{escape(item.statement)}\n")
    rows = [
        ("bound", item.bound),
        ("construction", item.construction),
        ("checked now" if checked else "checked", _ran(finding)),
        ("run it", item.run),
        ("what we changed", None if item.erratum is None else f"erratum {item.erratum} See docs/errata.md."),
    ]
    for name, value in rows:
        if value:
            # a command that is folded could not be copied
            out.print(f"[dim]{name}:[/dim] {escape(value)}", soft_wrap=name == "run it" or None)


def _ran(finding: Finding) -> str:
    if finding.evidence is None:
        return finding.reason or "nothing to run"
    return f"{finding.evidence.method} ({finding.evidence.cases} cases)"
