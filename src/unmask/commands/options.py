"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.completion import complete_planner, complete_problem


class EngineName(StrEnum):
    fast = "fast"
    reference = "reference"


DEFAULT_ENGINE = EngineName.fast

Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="`regex:(a|b)*abb` or a bare regex, `group:A5`, `dfa:FILE`, `aiger:FILE`, `family:NAME`, `expr:a*(b+c)`, "
        "`random:SEED`.",
        show_default=False,
        autocompletion=complete_problem,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.", show_default=False)]
PrecisionOption = Annotated[int, typer.Option("--precision", metavar="P", min=1, max=8, help="p of F_p.")]
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
