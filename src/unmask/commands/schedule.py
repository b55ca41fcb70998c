"""`unmask schedule`: law:FILE × N × K → what schedules of K passes cost, and the best one."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.options import DEFAULT_LIMIT, Json, LimitOption, TimeoutOption
from unmask.errors import ProblemError


def schedule(
    law: Annotated[str, typer.Argument(metavar="law:FILE", help="A distribution over strings.", show_default=False)],
    length: Annotated[int, typer.Option("--length", metavar="N", help="Length of the strings.", show_default=False)],
    passes: Annotated[int, typer.Option("--passes", metavar="K", help="Number of passes, 1 to N.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with plots.", show_default=False)
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Find the best schedule of a sampler that unmasks in random order, and the price of the usual ones.

    The price is the expected Kullback-Leibler divergence from the law to the sampler, for an exact predictor. It is
    computed from the information curve of the law: how uncertain a masked position is when i others are revealed. For
    short strings the least number of passes of any exact sampler is also computed.

    Example: [bold]unmask schedule law:examples/laws/chain.json --length 64 --passes 8[/bold]
    """
    from rich.markup import escape

    from unmask.commands.output_file import PAGE, check_writable, write_text
    from unmask.problems.law import law_path
    from unmask.samplers.laws.law_file import read_law
    from unmask.samplers.laws.report import ScheduleReport
    from unmask.terminal import console, print_document, show_table

    path = law_path(law)
    if path is None:
        raise ProblemError(f"a schedule is found for a distribution, not for {law!r}; write law:FILE")
    if out is not None:
        check_writable(out, "schedule.html", earlier=PAGE)
    with budgeted("measuring information", limit=limit, timeout=timeout):
        report = ScheduleReport.of(read_law(path), length, passes)
        page = None if out is None else report.page()
    if out is not None and page is not None:
        write_text(out, page, earlier=PAGE)
    if as_json:
        print_document(report.to_json())
        return
    table = report.summary()
    cells = [tuple(escape(cell) for cell in row) for row in table.rows]
    show_table(escape(report.title), table.columns, cells, left=table.left)
    for fact in report.facts:
        console().print(escape(fact))
    if out is not None:
        console().print(f"wrote [bold]{escape(str(out))}[/bold]")
