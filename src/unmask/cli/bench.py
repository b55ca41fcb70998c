"""`unmask bench`: reference models, bench folders, and the checks of a sampler."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli.options import (
    CONTEXT,
    DEFAULT_LIMIT,
    Command,
    Json,
    LimitOption,
    PlotPageOption,
    TimeoutOption,
    budgeted,
    command_group,
)
from unmask.cli.output_files import PAGE, check_writable, write_text
from unmask.cli.terminal import console, literal, print_document, show_table
from unmask.errors import UnmaskError

OVERVIEW = """\
[bold]unmask bench[/bold] tests samplers and engines on models whose right values, right order and
least number of passes are known. It needs the extra `bench`: pip install 'unmask\\[bench]'

Check a sampler, yours or a published one:
  [bold]unmask bench run --sampler my_sampler.py:generate[/bold]
  [bold]unmask bench run --sampler diffusers:LLaDA2Pipeline[/bold]

Write a model with a script that grades samplers without unmask:
  [bold]unmask bench export tree-16 --out tree-16[/bold]

Write what a model computes in every pass, node by node, and score a proposed circuit:
  [bold]unmask bench circuit tree-16 --out tree-16-circuit[/bold]
  [bold]unmask bench score proposed.json tree-16-circuit[/bold]

[dim]unmask bench list[/dim]   all models and checks"""

app = command_group(
    "bench", "Test samplers and engines on models whose truth is known (needs the extra `bench`).", OVERVIEW
)


@app.command("list", cls=Command, context_settings=CONTEXT)
def list_(as_json: Json = False) -> None:
    """List the reference models and the checks.

    Example: [bold]unmask bench list[/bold]
    """
    from dataclasses import asdict

    from unmask.bench.reference_models import REFERENCE_MODELS, VERSION
    from unmask.bench.run_checks import CHECKS

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


def _repeated(flag: str, metavar: str, meaning: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=f"{meaning} May be repeated.", show_default=False)


SamplerOption = Annotated[
    str,
    typer.Option(
        "--sampler",
        metavar="NAME",
        help="FILE.py:NAME, package.module:NAME, `diffusers:LLaDA2Pipeline`, or a name of `unmask samplers`.",
        show_default=False,
    ),
]
ModelsOption = Annotated[
    str, typer.Option("--models", metavar="SET", help="quick, full, names separated by commas, or a bench folder.")
]
CheckOption = Annotated[list[str] | None, _repeated("--check", "CHECK", "Run only this check.")]
CallOption = Annotated[
    list[str] | None, _repeated("--option", "NAME=VALUE", "Pass an option to every call of the sampler.")
]
EffectOption = Annotated[
    list[str] | None, _repeated("--effect", "NAME=A,B", "Two values of an option that must give different runs.")
]
EqualOption = Annotated[
    list[str] | None, _repeated("--equal", "NAME=A,B", "Values of an option that must give the same run.")
]
SecondsOption = Annotated[
    int, typer.Option("--seconds", metavar="S", min=1, help="Time limit of one run of the sampler.")
]


@app.command("run", cls=Command, context_settings=CONTEXT)
def run(
    sampler: SamplerOption,
    models: ModelsOption = "quick",
    check: CheckOption = None,
    option: CallOption = None,
    effect: EffectOption = None,
    equal: EqualOption = None,
    seconds: SecondsOption = 20,
    out: PlotPageOption = None,
    as_json: Json = False,
) -> None:
    """Run the checks on a sampler. The exit code is 1 if a check fails.

    Example: [bold]unmask bench run --sampler fast-dllm:threshold=0.9[/bold]
    """
    from unmask.bench.adapters import check_sampler

    if out is not None:
        check_writable(out, "report.html", earlier=PAGE)
    options = dict(_option(text) for text in option or ())
    with redirect_stdout(sys.stderr):  # what a sampler prints is not part of the report
        report = check_sampler(
            sampler,
            models,
            checks=check,
            options=options,
            effects=_values("--effect", effect),
            equal=_values("--equal", equal),
            seconds=seconds,
        )
    if out is not None:
        from unmask.bench.checks_page import bench_page

        repeated = (("--option", option), ("--effect", effect), ("--equal", equal))
        flags = [word for name, values in repeated for value in values or () for word in (name, value)]
        write_text(out, bench_page(report, flags), earlier=PAGE)
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


@app.command("circuit", cls=Command, context_settings=CONTEXT)
def circuit(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of `unmask bench list`.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write.", show_default=False)],
    words: Annotated[
        int,
        typer.Option("--words", metavar="K", min=2, max=16, help="Words on which parts are switched off."),
    ] = 6,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Write the circuits of a model: which heads and MLPs decide what, pass by pass, planner and predictor apart.

    The folder has `circuit.json`, with the names of TransformerLens hooks and pairs of words that differ in one letter,
    and both parts as BERT checkpoints. Every node and edge is found by switching it off.

    Example: [bold]unmask bench circuit tree-16 --out tree-16-circuit[/bold]
    """
    import json

    from unmask.bench.circuits import circuit_files
    from unmask.bench.reference_models import reference_row
    from unmask.export.folder_files import check_free, write_new_folder

    row = reference_row(name)
    check_free(out)
    with budgeted("switching off", limit=limit, timeout=timeout):
        files = circuit_files(row, words)
    folder = write_new_folder(files, out)
    circuits = json.loads(files["circuit.json"])["circuits"]
    if as_json:
        print_document({"folder": str(folder), "circuits": circuits})
        return
    for written in circuits:
        decided = f"{len(written['decides'])} slots" if len(written["decides"]) > 1 else "1 slot"
        counts = f"{len(written['nodes'])} nodes, {len(written['edges'])} edges"
        console().print(f"{written['part']}, pass {written['pass']}: {counts}, decides {decided}")
    console().print(f"wrote [bold]{literal(folder)}[/bold]")


@app.command("score", cls=Command, context_settings=CONTEXT)
def score(
    proposed: Annotated[Path, typer.Argument(metavar="FILE.json", help="The proposed circuits.", show_default=False)],
    truth: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of `unmask bench circuit`.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Compare proposed circuits with the circuits of a model. The exit code is 1 if they differ.

    Example: [bold]unmask bench score proposed.json tree-16-circuit[/bold]
    """
    from unmask.bench.circuits import read_circuit, score_circuit

    scores = score_circuit(read_circuit(proposed), read_circuit(truth))
    if as_json:
        print_document({kind: kind_score.to_json() for kind, kind_score in scores.items()})
    else:
        columns = ("", "precision", "recall", "F1")
        rows = [(kind, *(f"{x:.2f}" for x in (s.precision, s.recall, s.f1))) for kind, s in scores.items()]
        show_table("score", columns, rows, left=columns[:1])
        for kind, kind_score in scores.items():
            for error, items in (("missing", kind_score.missing), ("extra", kind_score.extra)):
                if items:
                    more = f" and {len(items) - 1} more" * (len(items) > 1)
                    console().print(literal(f"{error} {kind}: {items[0]}{more}"))
    if any(kind_score.f1 < 1 for kind_score in scores.values()):
        raise typer.Exit(1)


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UnmaskError(f"--option takes NAME=VALUE, such as threshold=0.9, not {text!r}")
    from unmask.samplers.sampler_names import parameter_value

    return name, parameter_value(value)


def _values(flag: str, texts: list[str] | None) -> dict[str, tuple[Any, ...]]:
    """Return the values of every use of a flag NAME=A,B,… by name."""
    from unmask.samplers.sampler_names import parameter_value

    by_name = {}
    for text in texts or ():
        name, _, values = text.partition("=")
        if not name.isidentifier() or "," not in values:
            raise UnmaskError(f"{flag} takes NAME=A,B, such as threshold=0.9,0.5, not {text!r}")
        by_name[name] = tuple(parameter_value(value) for value in values.split(","))
    return by_name
