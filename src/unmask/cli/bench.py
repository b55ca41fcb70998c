"""`unmask bench`: reference models, bench folders, and the checks of a sampler."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli.options import CONTEXT, DEFAULT_LIMIT, Command, Commands, Json, LimitOption, TimeoutOption, budgeted
from unmask.errors import UnmaskError

app = typer.Typer(
    name="bench",
    cls=Commands,
    context_settings=CONTEXT,
    invoke_without_command=True,
)

OVERVIEW = """\
[bold]unmask bench[/bold] tests samplers and engines on models whose right values, right order and
least number of passes are known. It needs the extra `bench`: pip install 'unmask\\[bench]'

Check a sampler, yours or a published one:
  [bold]unmask bench run --sampler my_sampler.py:generate[/bold]
  [bold]unmask bench run --sampler diffusers:LLaDA2Pipeline[/bold]

Write a model with a script that grades samplers without unmask:
  [bold]unmask bench export tree-16 --out tree-16[/bold]

[dim]unmask bench list[/dim]   all models and checks"""


@app.callback()
def overview(context: typer.Context) -> None:
    """Test samplers and engines on models whose truth is known (needs the extra `bench`)."""
    if context.invoked_subcommand is None:
        from unmask.cli.terminal import console

        console().print(OVERVIEW)


@app.command("list", cls=Command, context_settings=CONTEXT)
def list_(as_json: Json = False) -> None:
    """List the reference models and the checks.

    Example: [bold]unmask bench list[/bold]
    """
    from dataclasses import asdict

    from unmask.bench.reference_models import REFERENCE_MODELS, VERSION
    from unmask.bench.run_checks import CHECKS
    from unmask.cli.terminal import literal, print_document, show_table

    if as_json:
        checks = {check.name: check.bugs for check in CHECKS}
        models = [asdict(row) for row in REFERENCE_MODELS]
        print_document({"version": VERSION, "models": models, "checks": checks})
        return
    columns = ("model", "set", "problem", "N", "slots depend on each other", "order", "form")
    rows = [
        (
            row.name,
            "quick" if row.quick else "full",
            literal(row.problem),
            str(row.length),
            row.shape,
            row.order or "heap",
            row.form,
        )
        for row in REFERENCE_MODELS
    ]
    show_table(f"reference models, version {VERSION}", columns, rows, left=columns)
    show_table("checks", ("check", "bugs"), [(c.name, literal(c.bugs)) for c in CHECKS], left=("check", "bugs"))


@app.command("export", cls=Command, context_settings=CONTEXT)
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of `unmask bench list`.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write.", show_default=False)],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORMAT", help="bert, eurobert, llama, qwen2, llada or dream.", show_default=False
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Write a reference model with `bench.json` (the truth about its words) and `check.py` (needs no unmask).

    Example: [bold]unmask bench export tree-16 --out tree-16[/bold]
    """
    from unmask.bench.bench_folder import write_bench_folder
    from unmask.bench.loaded_model import load_reference
    from unmask.bench.reference_models import reference_row
    from unmask.cli.terminal import console, literal, print_document

    with budgeted("exporting", limit=limit, timeout=timeout):
        folder = write_bench_folder(reference_row(name), out, to)
    model, names = load_reference(folder), sorted(path.name for path in folder.iterdir())
    if as_json:
        print_document({"folder": str(folder), "files": names, "least_passes": model.least_passes})
        return
    console().print(literal(f"{folder}: {', '.join(names)}"))
    console().print(
        f"{model.slots} slots, {len(model.words)} words, at least {model.least_passes} passes; "
        f"grade a sampler with: python {literal(folder)}/check.py FILE.py:NAME"
    )


@app.command("run", cls=Command, context_settings=CONTEXT)
def run(
    sampler: Annotated[
        str,
        typer.Option(
            "--sampler",
            metavar="NAME",
            help="FILE.py:NAME, package.module:NAME, `diffusers:LLaDA2Pipeline`, or a name of `unmask samplers`.",
            show_default=False,
        ),
    ],
    models: Annotated[
        str, typer.Option("--models", metavar="SET", help="quick, full, names separated by commas, or a bench folder.")
    ] = "quick",
    check: Annotated[
        list[str] | None,
        typer.Option("--check", metavar="CHECK", help="Run only this check. May be repeated.", show_default=False),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="Pass an option to every call of the sampler. May be repeated.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        int, typer.Option("--seconds", metavar="S", min=1, help="Time limit of one run of the sampler.")
    ] = 20,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with plots.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the checks on a sampler. The exit code is 1 if a check fails.

    Example: [bold]unmask bench run --sampler fast-dllm:threshold=0.9[/bold]
    """
    from unmask.bench.check_sampler import check_sampler
    from unmask.cli.output_files import PAGE, check_writable, write_text
    from unmask.cli.terminal import console, literal, print_document, show_table

    if out is not None:
        check_writable(out, "report.html", earlier=PAGE)
    options = dict(_option(text) for text in option or ())
    with redirect_stdout(sys.stderr):  # what a sampler prints is not part of the report
        report = check_sampler(sampler, models, checks=check, options=options, seconds=seconds)
    if out is not None:
        from unmask.bench.report import page

        write_text(out, page(report), earlier=PAGE)
    if as_json:
        print_document(report.to_json())
    else:
        columns = ("check", "result", "first model: what was found")
        rows = [tuple(literal(cell) for cell in row) for row in report.rows()]
        show_table(literal(f"checks of {report.sampler}"), columns, rows, left=columns)
        console().print(literal(report.summary()))
        if out is not None:
            console().print(f"wrote [bold]{literal(out)}[/bold]")
    if not report.ok:
        raise typer.Exit(1)


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UnmaskError(f"--option takes NAME=VALUE, such as threshold=0.9, not {text!r}")
    constants = {"None": None, "True": True, "False": False}
    if value in constants:
        return name, constants[value]
    from unmask.samplers.sampler_names import parameter_value

    return name, parameter_value(value)
