"""`unmask export`: model folder → a folder that other people's tools read."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.options import DEFAULT_LIMIT, Folder, Json, LimitOption, TimeoutOption

Form = Literal["bert", "gpt2", "albert", "torch", "onnx"]
Part = Literal["planner", "predictor"]


def export(
    folder: Folder,
    to: Annotated[Form, typer.Option("--to", help="The form to write.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR2", help="Folder to write; must not exist.", show_default=False)
    ],
    part: Annotated[
        Part | None,
        typer.Option(
            "--part", help="Which transformer of an mdm or smdm; by default the predictor.", show_default=False
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Bit-identical to F_p; for torch and onnx.")] = False,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Write a model as a stock BERT, GPT-2 or ALBERT, as one file of torch, or as ONNX, and compare the two.

    What would not decide as the model does in F_p is refused. The folder says how clear the decisions are.

    Example: [bold]unmask export models/abb --to bert --out models/abb-bert[/bold]
    """
    from unmask.export.export import export_files
    from unmask.export.files.folder import check_free, write_folder
    from unmask.pipeline import load_model
    from unmask.terminal import console, literal, print_document

    check_free(out)
    with budgeted("exporting", limit=limit, timeout=timeout):
        files, report = export_files(load_model(folder), to, part=part, exact=exact)
        write_folder(files, out)
    if as_json:
        print_document({"folder": str(out), **report})
        return
    console().print(literal(f"{out}: {', '.join(sorted(files))}"))
    console().print(literal(told(report)))


def told(report: dict) -> str:
    """How export.json reads in a sentence."""
    if report["exact"]:
        return f"the integers of F_{report['precision']}, bit by bit"
    agreed = report["agreement"]
    return (
        f"decides as F_{report['precision']} does in {agreed['decisions']} of {agreed['decisions']} decisions "
        f"({agreed['words']} words, {agreed['passes']} passes, {agreed['ties']} ties left out), "
        f"least margin {agreed['least_margin']}"
    )
