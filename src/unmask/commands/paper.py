"""`unmask paper`: the statements of the paper, their status and the checks behind it."""

from typing import Annotated

import typer

from unmask.budget import stage
from unmask.commands.budgeted import budgeted, leave_if_over
from unmask.commands.completion import complete_label
from unmask.commands.options import DEFAULT_LIMIT, Json, LimitOption, TimeoutOption
from unmask.errors import OutOfTime


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
    from unmask.paper.checks.evidence import Effort
    from unmask.paper.items.all_items import ITEMS, search
    from unmask.paper.report import examine_all, recorded
    from unmask.paper.show import explain, show_items
    from unmask.terminal import print_document

    items = ITEMS if item is None else search(item)
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
    elif len(items) > 1 and findings:
        show_items(findings, checked=check)
    elif findings:
        explain(findings[0], checked=check)
    leave_if_over(end)
    raise typer.Exit(1 if any(finding.failed for finding in findings) else 0)
