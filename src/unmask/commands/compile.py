"""`unmask compile`: PROBLEM → model folder."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.options import (
    DEFAULT_LIMIT,
    KIND_NAMES,
    Json,
    LimitOption,
    PrecisionOption,
    Problem,
    TimeoutOption,
)
from unmask.weights.kinds import Kind


def compile_(
    problem: Problem,
    to: Annotated[Kind, typer.Option("--to", metavar="KIND", help=f"Framework: {KIND_NAMES}.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Model folder to write.", show_default=False)],
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            metavar="N",
            help="Length of the input words; circuits and expressions have their own.",
            show_default=False,
        ),
    ] = None,
    precision: PrecisionOption = 2,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM into a model folder.

    Example: [bold]unmask compile '(a|b)*abb' --length 16 --to mdm --out models/abb[/bold]
    """
    from unmask.console import show_compiled
    from unmask.pipeline import check_replaceable, compile_problem, save_model

    check_replaceable(out)
    with budgeted("compiling", limit=limit, timeout=timeout, as_json=as_json):
        model = compile_problem(problem, to, length=length, precision=precision)
        save_model(model, out)
    show_compiled(model, out, as_json=as_json)
