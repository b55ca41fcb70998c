"""`unmask paper`: what the paper says, and what was run to check it."""

import json
from typing import Annotated

import typer

from unmask.commands.completion import complete_label
from unmask.commands.options import Json


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
    as_json: Json = False,
) -> None:
    """List what the paper says and what was run to check it, or explain one item. Exit code 1: a check failed.

    Example: [bold]unmask paper thm:lts-mdms --check[/bold]
    """
    from unmask.paper.item import Effort
    from unmask.paper.items import ITEMS, find
    from unmask.paper.report import examine_all, recorded
    from unmask.paper.show import explain, show_items
    from unmask.terminal import progress

    items = ITEMS if label is None else (find(label),)
    found = progress(examine_all(items, Effort()), total=len(items), label="checking") if check else recorded(items)
    findings = list(found)
    if as_json:
        print(json.dumps([finding.to_json() for finding in findings]))
    elif label is None:
        show_items(findings, checked=check)
    else:
        explain(findings[0], checked=check)
    raise typer.Exit(1 if any(finding.failed for finding in findings) else 0)
