"""`unmask paper`: the statements of the paper, their status and the checks behind it."""

from typing import Annotated

import typer

from unmask.cli.options import (
    DEFAULT_LIMIT,
    Json,
    LimitOption,
    TimeoutOption,
    budgeted,
    complete_label,
    exit_if_out_of_time,
)
from unmask.cli.terminal import console, is_quiet, literal, print_document, say, show_table
from unmask.errors import OutOfTime
from unmask.limits import stage
from unmask.paper.findings import Finding
from unmask.paper.item import Verdict

# `unmask paper`: the statements of the paper, their status and the checks behind it.


def paper(
    item: Annotated[
        str | None,
        typer.Argument(
            metavar="ITEM",
            help="A label (thm:lts-mdms), a number ('Theorem 3.1') or words ('regular languages').",
            show_default=False,
            autocompletion=complete_label,
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Run every check now instead of reading the record.")] = False,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """List the statements of the paper with their status, or explain one of them. Exit code 1: a check failed.

    Example: [bold]unmask paper 'Theorem 3.1' --check[/bold]
    """
    from unmask.paper.all_items import ITEMS, search_items
    from unmask.paper.checks.evidence import Effort
    from unmask.paper.findings import examine_all, recorded_findings

    items = ITEMS if item is None else search_items(item)
    findings, end = [], None
    with budgeted("checking", limit=limit, timeout=timeout):
        examined = stage("checking", examine_all(items, Effort()), len(items)) if check else recorded_findings(items)
        try:
            for finding in examined:
                findings.append(finding)
        except OutOfTime as over:
            end = over
    if as_json:
        print_document([finding.to_json() for finding in findings])
    elif len(items) > 1 and findings:
        show_items(findings, checked=check)
    elif findings:
        explain(findings[0], checked=check)
    exit_if_out_of_time(end)
    raise typer.Exit(1 if any(finding.failed for finding in findings) else 0)


# Findings → text on a terminal, or lines in a pipe.


STYLE: dict[Verdict, str] = {
    "holds as stated": "bold green",
    "holds after a repair": "cyan",
    "refuted as stated": "red",
    "open": "magenta",
    "definition": "green",
    "cited": "yellow",
}


def show_items(findings: list[Finding], *, checked: bool) -> None:
    """Print one line per item; in a pipe `label, number, verdict, kind, title, evidence`, separated by tabs."""
    if is_quiet():
        return
    out = console()
    if not out.is_terminal:
        for finding in findings:
            item = finding.item
            say(item.label, item.number or "-", finding.verdict, item.kind, item.title, _evidence_text(finding))
    else:
        columns = ("label", "number", "status", "statement", "evidence" if checked else "module")
        rows = [
            (
                literal(finding.item.label),
                finding.item.number or "",
                f"[{STYLE[finding.verdict]}]{finding.verdict}[/]",
                literal(finding.item.title),
                literal(_evidence_text(finding) if checked else finding.item.construction),
            )
            for finding in findings
        ]
        title = "statements of the paper" + ("" if checked else " (last recorded checks)")
        show_table(title, columns, rows, left=columns)
    counts = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in STYLE}
    out.print(f"{len(findings)} items: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}")


def explain(finding: Finding, *, checked: bool) -> None:
    """Print everything about one item."""
    item, out = finding.item, console()
    ours = " (our label; the paper has no label for it)" if item.label.endswith("*") else ""
    name = f"{item.number}, " if item.number else f"{item.kind}, "
    out.print(f"{name}[bold]{literal(item.label)}[/bold]: {literal(item.title)}{ours}")
    out.print(
        f"[{STYLE[finding.verdict]}]{finding.verdict}[/]" + (f": {literal(finding.reason)}" if finding.reason else "")
    )
    for line in ("", literal(item.statement), ""):
        out.print(line)
    rows = [
        ("difference from the paper", item.difference),
        ("bound", item.bound),
        ("construction", item.construction),
        ("checked now" if checked else "checked", _evidence_text(finding)),
        *(("proved beyond these cases", proof.description) for proof in finding.proofs),
        ("run it", item.run),
        ("in the errata", None if item.erratum is None else f"{item.erratum} See docs/paper/errata.md."),
    ]
    for name, value in rows:
        if value:
            # a wrapped command could not be copied
            out.print(f"[dim]{name}:[/dim] {literal(value)}", soft_wrap=name == "run it" or None)


def _evidence_text(finding: Finding) -> str:
    if finding.evidence is None:
        return finding.reason or "no check"
    return f"{finding.evidence.method} ({finding.evidence.cases} cases)"
