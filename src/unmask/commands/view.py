"""`unmask view`: model folder × WORD → a page that shows the run, a picture of it, or its text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.options import (
    DEFAULT_ENGINE,
    EngineOption,
    Folder,
    PlannerOption,
    SampleOption,
    SeedOption,
)
from unmask.commands.output_file import write_text
from unmask.errors import UnmaskError, shortened
from unmask.weights.kinds import KINDS, Kind


def view(
    folder: Folder,
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word that the model reads.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="The page to write.", show_default=False)
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE.svg", help="A still picture to write.", show_default=False)
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the run as plain text.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="KINDS",
            help="Frameworks beside it, such as `plt,cot`, or `none`; by default `cot`.",
            show_default=False,
        ),
    ] = None,
    planner: PlannerOption = None,
    sample: SampleOption = False,
    seed: SeedOption = 0,
    engine: EngineOption = DEFAULT_ENGINE,
) -> None:
    """Show a run of a model on WORD, step by step, in one HTML file that works from disk.

    Example: [bold]unmask view models/abb abbaabbababababb --out trace.html --compare plt,cot[/bold]
    """
    if out is None and svg is None and not text:
        raise UnmaskError("there is nothing to write: give --out FILE.html, --svg FILE.svg or --text")
    for path in (out, svg):
        _check_writable(path)
    from rich.markup import escape

    from unmask.pipeline import load_model
    from unmask.terminal import working
    from unmask.viewer.gather import default_comparison, view_of
    from unmask.viewer.picture import picture
    from unmask.viewer.render import render
    from unmask.viewer.text import text_of

    model = load_model(folder)
    kinds = default_comparison(model) if compare is None else _kinds(compare)
    with working("running"):
        seen = view_of(model, word, kinds, engine=engine.value, planner=planner, sample=sample, seed=seed)
        for path, make in ((out, render), (svg, picture)):
            if path is not None:
                write_text(path, make(seen))
    if text:
        print("\n\n".join(text_of(panel) for panel in seen.panels))
    steps = ", ".join(f"{panel.trace.kind} {panel.steps}" for panel in seen.panels)
    _tell([f"[bold]{escape(str(path))}[/bold]: {steps}" for path in (out, svg) if path], seen.remarks)


def _tell(written: list[str], remarks: Sequence[str]) -> None:
    """What was written, and on standard error what is missing in it."""
    from rich.markup import escape

    from unmask.terminal import console

    for line in written:
        console().print(line)
    for remark in remarks:
        console(stderr=True).print(escape(remark))


def _check_writable(path: Path | None) -> None:
    """Before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise UnmaskError(f"{path} is a folder; name a file in it, such as {path / 'trace.html'}")
    if not path.parent.is_dir():
        raise UnmaskError(f"the folder {path.parent} does not exist; make it, or choose another place for {path.name}")


def _kinds(text: str) -> list[Kind]:
    """`plt,cot` → the kinds, in this order, each once."""
    if text == "none":
        return []
    wanted: dict[Kind, None] = {}
    for name in text.split(","):
        kind = next((kind for kind in KINDS if kind == name.strip()), None)
        if kind is None:
            raise UnmaskError(f"--compare takes kinds among {', '.join(KINDS)}, or none, not {shortened(name)!r}")
        wanted[kind] = None
    return list(wanted)
