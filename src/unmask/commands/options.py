"""Arguments and options that several commands share."""

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from unmask.budget import DEFAULT_MEMORY
from unmask.commands.completion import complete_planner, complete_problem
from unmask.errors import ProblemError, shortened
from unmask.weights.kinds import KINDS


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
    what = "a folder" if os.path.isdir(text) else "a file" if exists else "the name of a file"
    name = shortened(text)
    prefixes = () if what == "a folder" else FILE_PREFIXES.get(ending, ("program", "dfa", "cfg"))
    meant = " or ".join(f"{prefix}:{name}" for prefix in prefixes)
    advice = f"did you mean {meant}?" if meant else "give a problem such as group:A5."
    raise ProblemError(f"{name} is {what}; {advice} For the regular expression, write regex:{name}")


Problem = Annotated[
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
PageOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page for the browser.", show_default=False)
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
