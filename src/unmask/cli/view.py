"""`unmask view` and `unmask serve`: show a run as a page, a picture or text, or in the playground."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.options import (
    DEFAULT_ENGINE,
    DEFAULT_LIMIT,
    EngineOption,
    Folder,
    LimitOption,
    PageOption,
    PlannerOption,
    SampleOption,
    SeedOption,
    TextOption,
    TimeoutOption,
    budgeted,
    engine_named,
)
from unmask.cli.output_files import PAGE, PICTURE, check_writable, write_text
from unmask.cli.terminal import console, literal, say
from unmask.errors import UnmaskError, shortened
from unmask.weights.kinds import KINDS, Kind

# `unmask view`: model folder × WORD → a page, a picture or a text that shows the run.


WordArgument = Annotated[str, typer.Argument(metavar="WORD", help="The input word.", show_default=False)]
SvgOption = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE.svg", help="Write a picture.", show_default=False)
]
CompareOption = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="KINDS",
        help="Show these frameworks next to it: `plt,cot`, or `none`; by default `cot`.",
        show_default=False,
    ),
]
ProgramOption = Annotated[
    str | None,
    typer.Option(
        "--program",
        metavar="FILE.py",
        help="The program that the model was compiled from; other frameworks are then compiled from it "
        "instead of converted.",
        show_default=False,
    ),
]


def view(
    folder: Folder,
    word: WordArgument,
    out: PageOption = None,
    svg: SvgOption = None,
    text: TextOption = False,
    compare: CompareOption = None,
    program: ProgramOption = None,
    planner: PlannerOption = None,
    sample: SampleOption = False,
    seed: SeedOption = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
) -> None:
    """Show a run of a model on WORD, step by step, in one HTML file that needs no network.

    Example: [bold]unmask view models/abb abbaabbababababb --out trace.html --compare plt,cot[/bold]
    """
    if out is None and svg is None and not text:
        raise UnmaskError("there is nothing to write; give --out FILE.html, --svg FILE.svg or --text")
    for path, example, earlier in ((out, "trace.html", PAGE), (svg, "trace.svg", PICTURE)):
        if path is not None:
            check_writable(path, example, earlier=earlier)
    from unmask.api import load_model
    from unmask.viewer.html_page import render, render_text
    from unmask.viewer.model_view import check_program, default_comparison, view_of
    from unmask.viewer.svg_picture import picture

    with budgeted("running", limit=limit, timeout=timeout):
        model = load_model(folder)
        kinds = default_comparison(model) if compare is None else _kinds(compare)
        source = None if program is None else check_program(model, program)
        options = {"engine": engine_named(engine), "planner": planner, "sample": sample, "seed": seed}
        run_view = view_of(model, word, kinds, program=source, **options)
        for path, make, earlier in ((out, render, PAGE), (svg, picture, PICTURE)):
            if path is not None:
                write_text(path, make(run_view), earlier=earlier)
    if text:
        for line in "\n\n".join(render_text(panel) for panel in run_view.panels).split("\n"):
            say(line)
    steps = ", ".join(
        f"{panel.trace.kind} {panel.steps}{' (converted)' if panel.converted_by else ''}" for panel in run_view.panels
    )
    _print_written([f"[bold]{literal(path)}[/bold]: {steps}" for path in (out, svg) if path], run_view.remarks)


def _print_written(written: list[str], remarks: Sequence[str]) -> None:
    """Print what was written, and remarks about it on standard error."""
    for line in written:
        console().print(line)
    for remark in remarks:
        console(stderr=True).print(literal(remark))


def _kinds(text: str) -> list[Kind]:
    """`plt,cot` → the kinds, in this order, each once."""
    if text == "none":
        return []
    kinds: dict[Kind, None] = {}
    for name in text.split(","):
        kind = next((kind for kind in KINDS if kind == name.strip()), None)
        if kind is None:
            raise UnmaskError(
                f"--compare: {shortened(name)!r} is not a framework; give some of {', '.join(KINDS)}, or none"
            )
        kinds[kind] = None
    return list(kinds)


# `unmask serve`: the playground in the browser, for this machine only.


PORT = 8642


def serve(
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", min=0, max=65535, help="Port of the local server; 0 chooses a free one."
        ),
    ] = PORT,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Start the playground: type a problem and a word in the browser, and watch every framework.

    Only this machine can reach it, at 127.0.0.1. Stop it with Ctrl-C.

    Example: [bold]unmask serve --open[/bold]
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UnmaskError(f"unmask serve needs {' and '.join(missing)}; run `pip install 'unmask[serve]'`")
    from unmask.playground import server

    server.serve(
        port,
        announce=lambda address: console().print(f"playground: {address}  (stop it with Ctrl-C)"),
        open_browser=open_,
    )
