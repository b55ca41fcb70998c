"""`unmask prove`: PROBLEM × kind, or a theorem → is the model right for every length at once?"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.options import DEFAULT_LIMIT, Json, LimitOption, PrecisionOption, Problem, TimeoutOption
from unmask.weights.kinds import Kind

if TYPE_CHECKING:
    from unmask.verification.families.prove import EveryLength

THEOREM = "theorem:"
"""What stands before the name of a conversion, in the place of a problem."""


def prove(
    problem: Problem,
    to: Annotated[
        Kind | None,
        typer.Option("--to", help="The framework that it is compiled to; a theorem implies it.", show_default=False),
    ] = None,
    every_length: Annotated[bool, typer.Option("--every-length", help="For all N at once.")] = False,
    precision: PrecisionOption = 2,
    check_length: Annotated[
        list[int] | None,
        typer.Option(
            "--check-length",
            metavar="N",
            min=0,
            help="Compare the folder of this length with the family, entry by entry; may be given again.",
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            metavar="DIR",
            help="Of a theorem: for every source with the symbols, columns, layers, heads and units of this one.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write a report, .html or .md.", show_default=False),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="STEM",
            help="Keep the obligations, STEM.json, the solver's questions, STEM.smt2, and STEM.family.json, to replay.",
            show_default=False,
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Prove that the model of PROBLEM is right for every length N. Exit code: 0 proved, 1 refuted, 2 error or unknown.

    The weights of a family depend on N in the number of bits of an address alone, and positions are expressions in N.
    A refutation is a word, or a folder beyond its bounds, at one N.

    `theorem:STEM` in the place of PROBLEM is the conversion of that name: for every source of a shape and every N, it
    does what its source does. A refutation is then a random source, by its seed, and a word.

    Example: [bold]unmask prove '(a|b)*abb' --to mdm --every-length[/bold]
    Example: [bold]unmask prove theorem:cot_to_pcot --every-length[/bold]
    """
    from unmask.commands.output_file import REPORT, write_stem, write_text
    from unmask.console import show_every_length
    from unmask.errors import UnmaskError
    from unmask.terminal import print_document
    from unmask.verification.families.report import report

    if not every_length:
        raise UnmaskError("say --every-length; a proof for one length is `unmask verify DIR --method prove`")
    theorem = problem.removeprefix(THEOREM) if problem.startswith(THEOREM) else None
    if theorem is None and to is None:
        raise UnmaskError("say --to KIND, the framework that the problem is compiled to")
    if theorem is None and like is not None:
        raise UnmaskError("--like is for a theorem; a problem has no source")
    _check_files(out, certificate)
    start = time.perf_counter()
    with_budget = {"limit": limit, "timeout": timeout, "as_json": as_json}
    if theorem is None:
        assert to is not None
        answer = _of_problem(problem, to, precision, check_length or [], **with_budget)
    else:
        answer = _of_theorem(theorem, to, like, precision, check_length or [], **with_budget)
    seconds = time.perf_counter() - start
    if out is not None:
        write_text(out, report(answer, seconds, html=out.suffix == ".html"), earlier=REPORT)
    if certificate is not None:
        write_stem(certificate, answer.files())
    if as_json:
        print_document({**answer.to_json(), "seconds": seconds})
    else:
        show_every_length(answer, seconds)
    raise typer.Exit(answer.exit_code)


def _check_files(out: Path | None, certificate: Path | None) -> None:
    """What is to be written can be, before anything is proved."""
    from unmask.commands.output_file import REPORT, check_stem, check_writable
    from unmask.errors import UnmaskError

    if out is not None:
        if out.suffix not in (".html", ".md"):
            raise UnmaskError(f"a report is .html or .md, not {out.suffix or 'a file without an ending'}")
        check_writable(out, "report.html", earlier=REPORT)
    if certificate is not None:
        check_stem(certificate, (".json", ".smt2", ".family.json"))


def _of_problem(problem: str, to: Kind, precision: int, lengths: list[int], **budget: Any) -> "EveryLength":
    from unmask.errors import OutOfTime
    from unmask.pipeline import prove_family
    from unmask.verification.families.prove import EveryLength

    try:
        with budgeted("proving", **budget):
            return prove_family(problem, to, precision=precision, lengths=lengths)
    except OutOfTime as end:  # while the problem was being read
        return EveryLength.unreached(problem, to, precision, str(end))


def _of_theorem(
    theorem: str, to: Kind | None, like: Path | None, precision: int, lengths: list[int], **budget: Any
) -> "EveryLength":
    from unmask.errors import OutOfTime
    from unmask.pipeline import prove_conversion
    from unmask.verification.families.prove import EveryLength

    try:
        with budgeted("proving", **budget):
            return prove_conversion(theorem, to, like=like, precision=precision, lengths=lengths)
    except OutOfTime as end:  # while the source was being read
        subject = f"For every N, what `convert` writes by {theorem} does what its source does."
        return EveryLength("unknown", subject, (), reason=str(end))
