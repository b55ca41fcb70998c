"""Arguments and options that several commands share, and what they select: engines, and limits of memory and time."""

import inspect
import os
import re
import signal
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext, redirect_stdout
from enum import StrEnum
from pathlib import Path
from time import monotonic_ns
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from unmask.cli.terminal import bars, console, escaped_streams, say
from unmask.errors import OutOfTime, ProblemError, shortened
from unmask.limits import DEFAULT_MEMORY, SECOND, Budget, must_postpone
from unmask.weights.kinds import KINDS

if TYPE_CHECKING:
    from unmask.engines.engine import Engine


# Shell completion of problems, conversions, paper items and planners.


PLANNERS = ("uniform:1", "confidence:1", "threshold:1", "left-to-right:1", "blockwise:4:confidence:1")


def complete_problem(incomplete: str) -> Iterable[str]:
    """Offer the prefixes of problems, with names that can follow them."""
    from unmask.problems.catalogue import CATALOGUE

    offered = (f"{row.prefix}:{example}" for row in CATALOGUE for example in row.examples)
    return (text for text in offered if text.startswith(incomplete))


def complete_theorem(incomplete: str) -> Iterable[str]:
    """Yield the stems of theorems that start with what was typed."""
    from unmask.theorems.all_theorems import THEOREMS

    return (theorem.stem for theorem in THEOREMS if theorem.stem.startswith(incomplete))


def complete_label(incomplete: str) -> Iterable[str]:
    """Yield the labels of the paper's items that start with what was typed."""
    from unmask.paper.all_items import ITEMS

    return (item.label for item in ITEMS if item.label.startswith(incomplete))


def complete_planner(incomplete: str) -> Iterable[str]:
    """Yield the names of planners that start with what was typed."""
    return (name for name in PLANNERS if name.startswith(incomplete))


# Arguments and options that several commands share.


class EngineName(StrEnum):
    """The engines that a command can use for forward passes."""

    fast = "fast"
    reference = "reference"
    torch = "torch"


DEFAULT_ENGINE = EngineName.fast
DEFAULT_LIMIT = DEFAULT_MEMORY


def read_bytes(text: str | int) -> int:
    """`4294967296`, `4G`, `800M` → bytes."""
    match = re.fullmatch(r"([0-9]{1,18})([KMGT]?)B?", str(text).strip().upper(), re.ASCII)
    if match is None or not int(match[1]):
        raise typer.BadParameter("give a number of bytes, such as 800M or 8G")
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ")


FILE_PREFIXES = {
    ".py": ("program",),
    ".cfg": ("cfg",),
    ".json": ("dfa", "law"),
    ".aag": ("aiger",),
    ".aig": ("aiger",),
    ".blif": ("blif",),
}
"""Endings of files, and the kinds of problems that such files describe."""


def not_a_bare_path(text: str) -> str:
    """Return a PROBLEM unchanged, or stop if it is the name of a file or folder without `program:`, `dfa:` and so on.

    Without this, `unmask compile nim.py` would compile the regular expression `nim.py`.
    """
    from unmask.problems.catalogue import has_prefix

    if has_prefix(text) or text.startswith("theorem:"):
        return text
    ending = os.path.splitext(text)[1].lower()
    exists = os.path.exists(text)
    if not exists and not (ending in FILE_PREFIXES and re.fullmatch(r"[\w./ ~-]+", text)):
        return text
    description = "a folder" if os.path.isdir(text) else "a file" if exists else "the name of a file"
    name = shortened(text)
    prefixes = () if description == "a folder" else FILE_PREFIXES.get(ending, ("program", "dfa", "cfg"))
    suggestion = " or ".join(f"{prefix}:{name}" for prefix in prefixes)
    advice = f"did you mean {suggestion}?" if suggestion else "give a problem such as group:A5."
    raise ProblemError(f"{name} is {description}; {advice} For the regular expression, write regex:{name}")


ProblemArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A regular expression such as `(a|b)*abb` (also `regex:…`), or `group:A5`, `dfa:FILE`, `cfg:FILE`, "
        "`aiger:FILE`, `blif:FILE`, `family:NAME`, `expr:a*(b+c)`, `program:FILE.py`, `random:SEED`.",
        show_default=False,
        autocompletion=complete_problem,
        callback=not_a_bare_path,
    ),
]
KIND_NAMES = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.", show_default=False)]
PrecisionOption = Annotated[
    int, typer.Option("--precision", metavar="P", min=1, max=8, help="Precision p of the numbers F_p.")
]
HopsOption = Annotated[
    int,
    typer.Option(
        "--hops", metavar="H", min=1, max=64, help="Levels of the product tree per pass, for regular languages."
    ),
]
PageOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page for the browser.", show_default=False)
]
PlotPageOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with plots.", show_default=False)
]
TextOption = Annotated[bool, typer.Option("--text", help="Print the run as plain text.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", metavar="NAME", help="Engine for the forward passes: fast, reference or torch."),
]
PlannerOption = Annotated[
    str | None,
    typer.Option(
        "--planner",
        metavar="NAME",
        help="Use another planner: uniform:K, confidence:K, threshold:X, …",
        autocompletion=complete_planner,
    ),
]
SampleOption = Annotated[bool, typer.Option("--sample", help="Sample symbols instead of taking the most likely one.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="S", help="Seed of the random numbers.")]
LimitOption = Annotated[
    int,
    typer.Option(
        "--limit",
        metavar="BYTES",
        parser=read_bytes,
        help="Most memory to use, such as 800M or 8G.",
        show_default=f"{DEFAULT_LIMIT >> 30}G",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0,
        help="Most time to use; then print the results so far.",
        show_default=False,
    ),
]


# Conventions of all commands: `-q` anywhere on the line, `-h` for help, help texts that wrap at any width.


CONTEXT = {"help_option_names": ["-h", "--help"]}
QUIET = ("-q", "--quiet")


def _hide_flag_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""  # else `--json <bool>`, as if it took a value
    return parameters


def _join_paragraph_lines(text: str | None) -> str | None:
    """Join the lines of each paragraph, so that the terminal wraps it; every `Example:` keeps its own line."""
    if text is None:
        return None
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(re.sub(r"\n(?!Example: )", " ", paragraph) for paragraph in paragraphs)


class Command(TyperCommand):
    """A command whose help is wrapped to the terminal and does not repeat the types of options."""

    def __init__(self, *arguments: Any, help: str | None = None, **options: Any) -> None:
        super().__init__(*arguments, help=_join_paragraph_lines(help), **options)

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


class Commands(TyperGroup):
    """A group of commands, with `--quiet` accepted before and after the name of a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`unmask run DIR WORD -q` means `unmask -q run DIR WORD`; after `--`, everything is a word."""
        end = args.index("--") if "--" in args else len(args)
        options, words = args[:end], args[end:]
        quiet = [option for option in options if option in QUIET][:1]
        return super().parse_args(ctx, [*quiet, *(option for option in options if option not in QUIET), *words])


def command_group(name: str, help: str, overview: str) -> typer.Typer:
    """Return a command with subcommands; without a subcommand it prints an overview."""
    group = typer.Typer(name=name, cls=Commands, context_settings=CONTEXT, invoke_without_command=True)

    @group.callback(help=help)
    def show_overview(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            console().print(overview)

    return group


# Name of an engine → the engine; torch is imported only for the torch engine.


def engine_named(name: StrEnum) -> "Engine":
    """Return the engine of this name."""
    if name.value == "torch":
        from unmask.export.torch_engine import TorchEngine

        return TorchEngine()
    from unmask.api import ENGINES

    return ENGINES[name.value]()


# Run a long command within its --limit and --timeout, with progress bars on a terminal.


ALARM_INTERVAL = SECOND // 100  # nanoseconds between two alarms after the deadline
PATIENCE = 25  # number of alarms that are ignored while code of another package runs
GRACE = 1  # seconds without an alarm after the deadline was reported, so that cleaning up is not interrupted


@contextmanager
def budgeted(
    label: str | None, *, limit: int | None, timeout: float | None, patience: int = 0, as_json: bool = False
) -> Generator[Budget]:
    """Limit the memory and time of the work inside; show the label while no stage of the work is shown.

    Without a label there are no progress bars, for work that prints its own lines. With patience they appear after that
    many seconds. Output of the user's program is escaped; with `as_json` it goes to standard error.
    """
    with (
        bars(label, patience) as show,
        Budget(memory=limit, seconds=timeout, show=show) as budget,
        _alarm(budget),
        escaped_streams(),
        redirect_stdout(sys.stderr) if as_json else nullcontext(),
    ):
        yield budget


def exit_if_out_of_time(end: OutOfTime | None) -> None:
    """If time ran out, report it after the partial results have been printed, and exit with code 2."""
    if end is not None:
        say(f"unmask: {end}", stderr=True)
        raise typer.Exit(2)


@contextmanager
def _alarm(budget: Budget) -> Generator[None]:
    """Check the budget at the deadline by a signal, for loops that do not check it themselves."""
    deadline = budget.deadline
    if (
        deadline is None
        or not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    alarms, is_leaving = 0, False

    def on_alarm(_: int, frame: FrameType | None) -> None:
        nonlocal alarms
        alarms += 1
        if is_leaving or must_postpone(frame) or not (_is_unmask_frame(frame) or alarms > PATIENCE):
            return
        try:
            budget.measure(monotonic_ns())
        except BaseException:
            signal.setitimer(signal.ITIMER_REAL, GRACE, GRACE)
            alarms = 0
            raise

    before = signal.signal(signal.SIGALRM, on_alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(1, deadline - monotonic_ns()) / SECOND, ALARM_INTERVAL / SECOND)
        yield
    finally:
        try:
            is_leaving = True  # no alarm may be raised while the handler is being restored
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _is_unmask_frame(frame: FrameType | None) -> bool:
    """Return whether the innermost function belongs to this package, whose code cleans up when interrupted."""
    return frame is not None and frame.f_globals.get("__name__", "").startswith("unmask.")
