"""`unmask lab`: train networks on the same tasks, alone or in tables, and show them. torch is imported when needed."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.options import (
    CONTEXT,
    DEFAULT_LIMIT,
    Command,
    Json,
    LimitOption,
    PageOption,
    TextOption,
    TimeoutOption,
    budgeted,
    command_group,
    exit_if_out_of_time,
)
from unmask.cli.output_files import PAGE, check_writable, write_text
from unmask.cli.terminal import console, is_quiet, literal, print_document, say_lines
from unmask.errors import OutOfTime, UnmaskError
from unmask.limits import stage

if TYPE_CHECKING:
    from unmask.lab.checkpoints import TrainingMoment
    from unmask.lab.presets import SweepCell
    from unmask.lab.settings import Config
    from unmask.lab.sweep import FinishedCell
    from unmask.problems.program_problems import ProgramProblem

OVERVIEW = """\
[bold]unmask lab[/bold] trains networks on the tasks that unmask compiles models for,
in the same frameworks. It needs the extra `lab`: pip install 'unmask\\[lab]'

Train one network, and show how it processes a word:
  [bold]unmask lab train S3-tree --out runs/s3[/bold]
  [bold]unmask lab view runs/s3 "(12) (13) (12) e …" --out run.html[/bold]

Train a table of networks:
  [bold]unmask lab table --preset quick --out lab-quick[/bold]

[dim]unmask lab --help[/dim]           all commands
[dim]unmask lab COMMAND --help[/dim]   one command with its options"""

HELP = "Train networks on the same tasks in the same frameworks (needs the extra `lab`)."
app = command_group("lab", HELP, OVERVIEW)


MOST_SEED = 1 << 32
MOST_THREADS = 1024  # torch crashes if it cannot start all of them
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the run; an interrupted run is continued.")]
ProgramOption = Annotated[
    Path | None,
    typer.Option("--program", metavar="FILE.py", help="The run's program. Its code is executed.", show_default=False),
]
TrainedFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder written by `unmask lab train`.", show_default=False)
]


ConfigArgument = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG|PRESET|PROBLEM",
        help="A JSON file, a preset (S3-tree, A5-scan-32), or a problem (group:S3, regex:…, program:FILE.py).",
        show_default=False,
    ),
]
LengthOption = Annotated[
    int | None,
    typer.Option("--length", metavar="N", help="Length of the words of a PROBLEM; by default 16.", show_default=False),
]
FrameworkOption = Annotated[
    str | None,
    typer.Option(
        "--framework",
        metavar="NAME",
        help="For a PROBLEM: direct, cot, tree, scan or looped. For a program: program or direct.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="S", min=0, max=MOST_SEED, help="Seed; by default that of the config.", show_default=False
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", metavar="cpu|cuda", help="Device; by default chosen by accelerate.", show_default=False),
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", metavar="K", min=1, max=MOST_THREADS, help="Number of torch threads.")
]


@app.command("train", cls=Command, context_settings=CONTEXT)
def train(
    config: ConfigArgument,
    out: Out,
    length: LengthOption = None,
    framework: FrameworkOption = None,
    program: ProgramOption = None,
    seed: SeedOption = None,
    device: DeviceOption = None,
    threads: ThreadsOption = 1,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Train one network until it converges or its steps are used up. An interrupted run is continued.

    By default the network is given the addresses of its operands (encoding `bits`); with `aux` it is also taught their
    symbols. The first line of the output says which of these apply to this run.

    The same config and seed give the same numbers on the same machine. `accelerate launch -m unmask lab train …` uses
    several processes. A config is a JSON object with the settings listed in docs/lab/tables.md; it may be empty.

    A program is your own code and is executed. The folder stores its name and the SHA-256 of its file.

    Example: [bold]unmask lab train S3-tree --out runs/s3[/bold]
    """
    _prepare_torch(threads)
    import msgspec

    from unmask.lab.presets import named_run

    with budgeted(None, limit=limit, timeout=timeout, as_json=as_json):
        settings, source = named_run(config, length=length, framework=framework, program=program)
        if seed is not None:
            settings = msgspec.structs.replace(settings, seed=seed)
        if not as_json:
            console(stderr=True).print(literal(_supervision_note(settings)))
        result = _train_with_progress(settings, out, source, device, as_json=as_json)
    if int(os.environ.get("RANK", "0")):
        return  # only the first of several processes prints
    if as_json:
        print_document({"folder": str(out), **result})
    else:
        console().print(f"{literal(out)}: {literal(settings.name)}, {_training_result(result)}")


def _prepare_torch(threads: int) -> None:
    """Import torch before the time limit starts: an interrupted import cannot be repeated."""
    _require_torch()
    import accelerate  # noqa: F401
    import torch
    import torch._inductor  # deterministic algorithms import it

    torch.set_num_threads(threads)


def _train_with_progress(
    settings: "Config", out: Path, program: "ProgramProblem | None", device: str | None, *, as_json: bool
) -> dict[str, Any]:
    """Train with a progress bar, and return the result."""
    from unmask.lab.training import train as train_network

    bar = None if as_json or is_quiet() else _Bar(settings.steps, settings.cpu_seconds)

    def show_moment(moment: "TrainingMoment") -> None:
        if bar is not None:
            bar.show(moment.step, moment.loss, moment.right, moment.cpu_seconds)

    try:
        return train_network(settings, out, program=program, device=device, told=show_moment).to_json()
    finally:
        if bar is not None:
            bar.close()


def _training_result(result: dict[str, Any]) -> str:
    """Return accuracy, cost and reason of the end of a training, for one line of output."""
    ended = {"converged": "converged", "steps": "step limit reached", "seconds": "CPU time limit reached"}
    return (
        f"{100 * result['right']:.1f} % of {result['words']} new words correct "
        f"(chance {100 * result['chance']:.1f} %), "
        f"{result['steps']} steps, {result['cpu_seconds']:.1f} CPU s, {ended[result['ended']]}"
    )


def _supervision_note(settings: Any) -> str:
    """Return which information about its operands the network is given: the most important caveat of a result."""
    shape = settings.shape
    addresses = {
        "bits": "operand addresses are given as input (encoding `bits`)",
        "positions": "operand addresses are not given, only each row's own position (encoding `positions`)",
        "learned": "operand addresses are not given (encoding `learned`)",
        "none": "no addresses or positions are given (encoding `none`)",
    }[shape.encoding]
    symbols = "operand symbols are supervised (`aux`)" if shape.aux else "operand symbols are not supervised (no `aux`)"
    bias = "" if shape.beta is None else "; attention starts with a bias towards the operands (`beta`)"
    return f"{settings.name}: {addresses}; {symbols}{bias}"


class _Bar:
    """A progress bar on a terminal, one line per evaluation in a pipe."""

    def __init__(self, steps: int, seconds: float) -> None:

        self._steps, self._seconds = steps, seconds
        self._out = console(stderr=True)
        self._progress: Any = None
        if self._out.is_terminal:
            from rich.progress import Progress

            self._progress = Progress(console=self._out, transient=True)
            self._progress.start()
            self._task = self._progress.add_task("training", total=1)

    def show(self, step: int, loss: float, accuracy: float, seconds: float) -> None:
        line = f"step {step}: loss {loss:.3f}, {100 * accuracy:.1f} % correct"
        if self._progress is not None:
            self._progress.update(
                self._task, completed=max(step / self._steps, seconds / self._seconds), description=line
            )
        else:
            self._out.print(line)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


PresetOption = Annotated[
    str, typer.Option("--preset", metavar="NAME", help="Table to run: quick, paper, rows, planners or questions.")
]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder of the results; an interrupted table is continued.")
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a running Dask scheduler, tcp://HOST:PORT.",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="K",
        min=1,
        max=MOST_THREADS,
        help="Number of local processes; by default one per core.",
    ),
]
MostOption = Annotated[
    int | None, typer.Option("--most", metavar="K", min=1, help="Run at most K cells now.", show_default=False)
]
TableSeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="S",
        min=0,
        max=MOST_SEED // 2,
        help="Add S to every seed, for an independent repetition.",
        show_default=False,
    ),
]
OnlyOption = Annotated[
    str | None,
    typer.Option("--only", metavar="TEXT", help="Only cells whose name contains TEXT.", show_default=False),
]


@app.command("table", cls=Command, context_settings=CONTEXT)
def table(
    preset: PresetOption = "quick",
    out: OutOption = Path("lab-results"),
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    most: MostOption = None,
    seed: TableSeedOption = None,
    only: OnlyOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Run a table of trainings with Dask, and write results.json, a Markdown table and plots.

    An interrupted table is continued.

    Example: [bold]unmask lab table --preset quick --out lab-quick[/bold]
    """
    _require_torch()
    from unmask.lab.result_plots import write_report
    from unmask.lab.sweep import Results, sweep

    cells = _chosen_cells(preset, seed or 0, only)
    results = Results(out)
    open_cells = [cell for cell in cells if not results.is_done(cell)]
    waiting = open_cells[:most]
    number = workers or os.cpu_count() or 1
    console(stderr=True).print(
        f"{len(cells) - len(open_cells)} of {len(cells)} cells are done; running {len(waiting)} now"
    )
    failed, end = 0, None
    try:
        with budgeted(None, limit=limit, timeout=timeout):
            swept = sweep(waiting, results, scheduler=scheduler, workers=number, memory=limit)
            for has_failed in _report_cells(swept, len(waiting)):
                failed += has_failed
    except OutOfTime as over:
        end = over
        results.assemble()
    written = write_report(out)
    if as_json:
        print_document(json.loads((out / "results.json").read_text(encoding="utf-8")))
    else:
        retry = f"; {failed} cells failed; run the command again to retry them" if failed else ""
        console().print(f"{literal(out)}: {', '.join(written)}{retry}")
    exit_if_out_of_time(end)
    if failed:
        raise typer.Exit(1)


def _chosen_cells(preset: str, seed: int, only: str | None) -> "list[SweepCell]":
    """Return the cells of a preset whose names contain `only`, with `seed` added to every seed."""
    import msgspec

    from unmask.lab.presets import preset as cells_of

    cells = [
        msgspec.structs.replace(c, config=msgspec.structs.replace(c.config, seed=c.config.seed + seed))
        for c in cells_of(preset)
    ]
    chosen = [cell for cell in cells if only is None or only in cell.key]
    if not chosen:
        raise UnmaskError(f"--only {only!r} matches no cell of the preset {preset}; names are such as {cells[0].key}")
    return chosen


def _report_cells(swept: "Iterable[FinishedCell]", total: int) -> Iterator[bool]:
    """Print a line for every finished cell. Yield whether it failed."""
    for count, finished in enumerate(stage("running cells", swept, total), start=1):
        console(stderr=True).print(literal(f"{count}/{total} {finished.cell.key}: {_outcome_line(finished.outcome)}"))
        yield "error" in finished.outcome


def _outcome_line(outcome: dict[str, Any]) -> str:
    if "error" in outcome:
        return f"failed ({outcome['error'][:200]})"
    result = outcome["result"]
    if "right" not in result:
        return "measured"
    return f"{100 * result['right']:.1f} % correct after {result['steps']} steps, {result['cpu_seconds']:.0f} CPU s"


@app.command("report", cls=Command, context_settings=CONTEXT)
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with results.json.", show_default=False)],
) -> None:
    """Write the Markdown table and the plots again from results.json.

    Example: [bold]unmask lab report lab-quick[/bold]
    """
    from unmask.lab.result_plots import write_report

    console().print(f"{literal(folder)}: {', '.join(write_report(folder))}")


@app.command("view", cls=Command, context_settings=CONTEXT)
def view(
    folder: TrainedFolder,
    word: Annotated[str, typer.Argument(metavar="WORD", help="Letters, separated by spaces.", show_default=False)],
    out: PageOption = None,
    text: TextOption = False,
    planner: Annotated[
        str | None,
        typer.Option("--sampler", metavar="NAME", help="A published sampler, such as `fast-dllm:threshold=0.9`."),
    ] = None,
    program: ProgramOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
) -> None:
    """Show a run of a trained model on WORD, as `unmask view` does for compiled models.

    Example: [bold]unmask lab view runs/s3 "(12) (13) (12) e …" --out run.html[/bold]
    """
    if out is None and not text:
        raise UnmaskError("there is nothing to write; give --out FILE.html or --text")
    _require_torch()
    from unmask.lab.presets import program_of_folder
    from unmask.lab.trained_view import view_of
    from unmask.lab.training import load_trained
    from unmask.viewer.html_page import render, render_text

    if out is not None:
        check_writable(out, "run.html", earlier=PAGE)
    with budgeted("running", limit=limit, timeout=timeout):
        run_view = view_of(load_trained(folder, program_of_folder(folder, program)), word, sampler=planner)
    if out is not None:
        write_text(out, render(run_view), earlier=PAGE)
        console().print(literal(out))
    if text:
        say_lines("\n\n".join(render_text(panel) for panel in run_view.panels).split("\n"))


def _require_torch() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("torch", "accelerate") if find_spec(name) is None]
    if missing:
        raise UnmaskError(f"the lab needs {' and '.join(missing)}; run `pip install 'unmask[lab]'`")
