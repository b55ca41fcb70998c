"""`unmask export`: model folder → a checkpoint for transformers, torch or ONNX."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unmask.cli.options import DEFAULT_LIMIT, Json, LimitOption, TimeoutOption, budgeted
from unmask.cli.terminal import console, literal, print_document

ExportForm = Literal["bert", "gpt2", "albert", "torch", "onnx", "eurobert", "llama", "qwen2", "llada", "dream", "gguf"]
Arch = Literal["llada", "dream", "llama", "qwen2", "eurobert"]
GgufType = Literal["f32", "f16", "q8_0"]
Part = Literal["planner", "predictor"]


FolderArgument = Annotated[Path | None, typer.Argument(metavar="DIR", help="A model folder.", show_default=False)]
ToOption = Annotated[
    ExportForm | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="bert, gpt2, albert, eurobert, llama, qwen2, llada, dream, gguf, torch or onnx.",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR2", help="Folder to write; it must not exist.", show_default=False),
]
PartOption = Annotated[
    Part | None,
    typer.Option(
        "--part",
        metavar="NAME",
        help="Transformer of an mdm or smdm to export: planner or predictor (default).",
        show_default=False,
    ),
]
ExactOption = Annotated[bool, typer.Option("--exact", help="Compute exactly as in F_p (torch and onnx only).")]
OrderOption = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="ORDER",
        help="Order of the slots on the canvas: heap (the compiler's own), reversed, skip (levels 1, 3 …, then "
        "2, 4 …), work (level 2 in the prompt as [WORK]), or a list such as 2,0,1.",
        show_default=False,
    ),
]
RopeThetaOption = Annotated[
    float | None,
    typer.Option("--rope-theta", help="Base of the rotary positions; by default chosen.", show_default=False),
]
HeadDimOption = Annotated[
    int | None,
    typer.Option("--head-dim", help="Width of a head; by default chosen.", show_default=False),
]
ArchOption = Annotated[
    Arch,
    typer.Option("--arch", metavar="NAME", help="Architecture of a GGUF: llada, dream, llama, qwen2, eurobert."),
]
DtypeOption = Annotated[
    GgufType, typer.Option("--dtype", metavar="TYPE", help="Number type of a GGUF file: f32, f16 or q8_0.")
]
CollectionOption = Annotated[
    Path | None,
    typer.Option(
        "--collection",
        metavar="OUT",
        help="Write the reference models in all formats, with checksums, instead of one model.",
        show_default=False,
    ),
]


def export(
    folder: FolderArgument = None,
    to: ToOption = None,
    out: OutOption = None,
    part: PartOption = None,
    exact: ExactOption = False,
    order: OrderOption = None,
    rope_theta: RopeThetaOption = None,
    head_dim: HeadDimOption = None,
    arch: ArchOption = "llada",
    dtype: DtypeOption = "f32",
    collection: CollectionOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Write a model in a form that other tools load: a checkpoint, GGUF, a torch file, or ONNX.

    BERT, GPT-2, ALBERT, EuroBERT, Llama and Qwen2 load with transformers, LLaDA and Dream with their published classes,
    GGUF with llama.cpp. The export is compared with the model. If a decision differs, nothing is written. `export.json`
    records the smallest margin of a decision.

    Example: [bold]unmask export models/abb --to bert --out models/abb-bert[/bold]
    """
    if collection is not None:
        settings: dict[str, object] = {
            "DIR": folder,
            "--to": to,
            "--out": out,
            "--part": part,
            "--exact": exact or None,
            "--order": order,
            "--rope-theta": rope_theta,
            "--head-dim": head_dim,
            "--arch": None if arch == "llada" else arch,
            "--dtype": None if dtype == "f32" else dtype,
        }
        _write_collection(collection, settings, limit=limit, timeout=timeout, as_json=as_json)
        return
    if folder is None or to is None or out is None:
        missing = [name for name, value in (("DIR", folder), ("--to", to), ("--out", out)) if value is None]
        raise typer.BadParameter(f"{', '.join(missing)} missing; give DIR --to FORMAT --out DIR2, or --collection OUT")
    from unmask.api import load_model
    from unmask.export.export_model import export_files
    from unmask.export.folder_files import check_free, write_new_folder
    from unmask.export.gguf_file import GgufChoice
    from unmask.export.rope_transformer import RopeChoice

    check_free(out)
    with budgeted("exporting", limit=limit, timeout=timeout):
        rope, gguf = RopeChoice(rope_theta, head_dim), GgufChoice(arch, dtype)
        files, report = export_files(load_model(folder), to, part=part, exact=exact, order=order, rope=rope, gguf=gguf)
        write_new_folder(files, out)
    if as_json:
        print_document({"folder": str(out), **report})
        return
    console().print(literal(f"{out}: {', '.join(sorted(files))}"))
    console().print(literal(export_line(report)))


def _write_collection(
    out: Path, settings: dict[str, object], *, limit: int | None, timeout: float | None, as_json: bool
) -> None:
    from unmask.export.export_model import write_collection

    if conflicts := [name for name, value in settings.items() if value is not None]:
        raise typer.BadParameter(f"--collection chooses models and options itself; leave out {', '.join(conflicts)}")
    with budgeted("exporting", limit=limit, timeout=timeout):
        entries = write_collection(out)
    if as_json:
        print_document({"folder": str(out), "models": entries})
        return
    size = sum(entry["bytes"] for entry in entries) / 10**6
    console().print(literal(f"{out}: {len(entries)} folders, {size:.1f} MB, README.md, SHA256SUMS"))


def export_line(report: dict) -> str:
    """Summarise export.json in one line."""
    if report["exact"]:
        return f"computes exactly as in F_{report['precision']}"
    agreed = report["agreement"]
    return (
        f"same decisions as in F_{report['precision']}: {agreed['decisions']} of {agreed['decisions']} "
        f"({agreed['words']} words, {agreed['passes']} passes, {agreed['ties']} ties not counted), "
        f"smallest margin {agreed['least_margin']}"
    )
