"""Arguments and options that several commands share."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from unmask.budget import DEFAULT_MEMORY
from unmask.commands.completion import complete_planner, complete_problem


class EngineName(StrEnum):
    fast = "fast"
    reference = "reference"
    torch = "torch"


DEFAULT_ENGINE = EngineName.fast
DEFAULT_LIMIT = DEFAULT_MEMORY


def read_bytes(text: str | int) -> int:
    """`4294967296`, `4G`, `800M` → bytes."""
    match = re.fullmatch(r"([0-9]{1,18})([KMGT]?)B?", str(text).strip().upper(), re.ASCII)
    if match is None or not int(match[1]):
        raise typer.BadParameter("a number of bytes is expected, such as 800M or 8G")
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ")


Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="`regex:(a|b)*abb` or a bare regex, `group:A5`, `dfa:FILE`, `cfg:FILE`, `aiger:FILE`, `blif:FILE`, "
        "`family:NAME`, `expr:a*(b+c)`, `program:FILE.py`, `random:SEED`.",
        show_default=False,
        autocompletion=complete_problem,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.", show_default=False)]
PrecisionOption = Annotated[int, typer.Option("--precision", metavar="P", min=1, max=8, help="p of F_p.")]
PageOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.html", help="The page to write.", show_default=False)
]
TextOption = Annotated[bool, typer.Option("--text", help="Print the run as plain text.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="What computes a forward pass.")]
PlannerOption = Annotated[
    str | None,
    typer.Option(
        "--planner",
        metavar="NAME",
        help="Replace the planner: uniform:K, confidence:K, threshold:X, …",
        autocompletion=complete_planner,
    ),
]
SampleOption = Annotated[bool, typer.Option("--sample", help="Draw symbols instead of taking the likeliest.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="S", help="Seed of the noise tape.")]
LimitOption = Annotated[
    int,
    typer.Option(
        "--limit",
        metavar="BYTES",
        parser=read_bytes,
        help="Memory that the work may take, such as 800M or 8G.",
        show_default=f"{DEFAULT_LIMIT >> 30}G",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0,
        help="Time that the work may take; then it ends with what is known.",
        show_default=False,
    ),
]
