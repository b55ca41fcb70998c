"""`unmask compare`: PROBLEM → steps, space and size in every framework, measured."""

from typing import Annotated

import typer

from unmask.budget import stage
from unmask.commands.budgeted import budgeted, leave_if_over
from unmask.commands.engines import engine_named
from unmask.commands.options import (
    DEFAULT_ENGINE,
    DEFAULT_LIMIT,
    EngineOption,
    Json,
    LimitOption,
    PrecisionOption,
    Problem,
    TimeoutOption,
)
from unmask.errors import OutOfTime, UnmaskError, shortened

MOST_DIGITS = 7  # of a length


def compare(
    problem: Problem,
    lengths: Annotated[str, typer.Option("--lengths", metavar="N,N,…", help="Lengths of the input words.")] = "8,16,32",
    precision: PrecisionOption = 2,
    engine: EngineOption = DEFAULT_ENGINE,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM for every framework and length, and compare steps, space and size with their bounds.

    Exit code: 0 correct and within the bounds, 1 otherwise, 2 error.

    Example: [bold]unmask compare group:A5 --lengths 8,64[/bold]
    """
    from unmask.console import show_comparison
    from unmask.pipeline import compare_frameworks, compiler_of
    from unmask.terminal import print_document
    from unmask.verification.compare import grows_as_promised

    wanted = _lengths(lengths)
    rows, end = [], None
    try:
        with budgeted("measuring", limit=limit, timeout=timeout, as_json=as_json):
            measured = compare_frameworks(problem, wanted, precision=precision, engine=engine_named(engine))
            for row in stage("measuring", measured, len(wanted) * len(compiler_of(problem).kinds)):
                rows.append(row)
    except OutOfTime as over:
        end = over
    if as_json:
        print_document([row.to_json() for row in rows])
    elif rows:
        show_comparison(problem, rows)
    leave_if_over(end)
    wrong = [row for row in rows if row.correct is False or not row.within_bound]
    kinds = {row.framework for row in rows}
    grown = [kind for kind in kinds if not grows_as_promised([row for row in rows if row.framework == kind])]
    raise typer.Exit(1 if wrong or grown else 0)


def _lengths(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) <= MOST_DIGITS for part in parts):
        raise UnmaskError(
            f"--lengths takes numbers separated by commas, each of at most {MOST_DIGITS} digits; "
            f"{shortened(text)!r} is not such a list; write, for example, --lengths 8,16,32"
        )
    return [int(part) for part in parts]
