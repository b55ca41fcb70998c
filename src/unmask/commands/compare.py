"""`unmask compare`: PROBLEM → what every framework takes, measured."""

import json
from typing import Annotated

import typer

from unmask.commands.options import DEFAULT_ENGINE, EngineOption, Json, PrecisionOption, Problem
from unmask.errors import UnmaskError


def compare(
    problem: Problem,
    lengths: Annotated[str, typer.Option("--lengths", metavar="N,N,…", help="Lengths of the words.")] = "8,16,32",
    precision: PrecisionOption = 2,
    engine: EngineOption = DEFAULT_ENGINE,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM for every framework and length, and measure what each takes, beside its bound.

    Example: [bold]unmask compare group:A5 --lengths 8,64[/bold]
    """
    from unmask.console import show_comparison
    from unmask.pipeline import ENGINES, compare_frameworks, compiler_of
    from unmask.terminal import progress

    wanted = _lengths(lengths)
    measured = compare_frameworks(problem, wanted, precision=precision, engine=ENGINES[engine.value]())
    rows = list(progress(measured, total=len(wanted) * len(compiler_of(problem).kinds), label="measuring"))
    if as_json:
        print(json.dumps([row.to_json() for row in rows]))
    else:
        show_comparison(problem, rows)
    wrong = [row for row in rows if row.correct is False or not row.within_bound]
    raise typer.Exit(1 if wrong else 0)


def _lengths(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() and len(part) < 8 for part in parts):
        raise UnmaskError(f"--lengths takes numbers separated by commas, such as 8,16,32, not {text!r}")
    return [int(part) for part in parts]
