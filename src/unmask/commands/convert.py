"""`unmask convert`: model folder → model folder of another framework."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.completion import complete_theorem
from unmask.commands.options import DEFAULT_LIMIT, KIND_NAMES, Folder, Json, LimitOption, TimeoutOption
from unmask.errors import UnmaskError
from unmask.weights.kinds import Kind


def convert(
    folder: Folder,
    to: Annotated[Kind, typer.Option("--to", metavar="KIND", help=f"Framework: {KIND_NAMES}.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR2", help="Model folder to write.", show_default=False)],
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="STEM", help="Use this conversion, such as mdm_to_plt.", autocompletion=complete_theorem
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Convert a model into another framework, as the paper's theorems do, and print what each conversion costs.

    Example: [bold]unmask convert models/abb --to plt --out models/abb-plt[/bold]
    """
    from unmask.console import show_hop
    from unmask.pipeline import check_replaceable, convert_model, load_model, save_model
    from unmask.terminal import print_document

    model = load_model(folder)
    check_replaceable(out)
    if out.exists() and out.resolve() == folder.resolve():
        raise UnmaskError(
            f"--out is the source folder itself, {out}; choose another folder, so that the source is kept"
        )
    hops = []
    with budgeted("converting", limit=limit, timeout=timeout):
        for theorem, conversion in convert_model(model, to, by=by):
            hops.append(show_hop(theorem, model, conversion.model, quiet=as_json))
            model = conversion.model
        save_model(model, out)
    if as_json:
        print_document({"folder": str(out), "hops": hops})
