"""`unmask paper`: what the paper says, and what was run to check it."""

from typing import Annotated

import typer

from unmask.budget import stage
from unmask.commands.budgeted import budgeted, leave_if_over
from unmask.commands.completion import complete_label
from unmask.commands.options import DEFAULT_LIMIT, Json, LimitOption, TimeoutOption
from unmask.errors import OutOfTime


def paper(
    label: Annotated[
        str | None,
        typer.Argument(
            metavar="LABEL",
            help="One item, such as thm:lts-mdms.",
            show_default=False,
            autocompletion=complete_label,
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Run every check now instead of reading the record.")] = False,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """List what the paper says and what was run to check it, or explain one item. Exit code 1: a check failed.

    Example: [bold]unmask paper thm:lts-mdms --check[/bold]
    """
    from unmask.paper.checks.evidence import Effort
    from unmask.paper.items.all_items import ITEMS, find
    from unmask.paper.report import examine_all, recorded
    from unmask.paper.show import explain, show_items
    from unmask.terminal import print_document

    items = ITEMS if label is None else (find(label),)
    findings, end = [], None
    with budgeted("checking", limit=limit, timeout=timeout):
        found = stage("checking", examine_all(items, Effort()), len(items)) if check else recorded(items)
        try:
            for finding in found:
                findings.append(finding)
        except OutOfTime as over:
            end = over
    if as_json:
        print_document([finding.to_json() for finding in findings])
    elif label is None and findings:
        show_items(findings, checked=check)
    elif findings:
        explain(findings[0], checked=check)
    leave_if_over(end)
    raise typer.Exit(1 if any(finding.failed for finding in findings) else 0)
