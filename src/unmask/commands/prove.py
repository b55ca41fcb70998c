"""`unmask prove`: PROBLEM × kind → is the model right for every length at once?"""

import time
from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.options import DEFAULT_LIMIT, Json, LimitOption, PrecisionOption, Problem, TimeoutOption
from unmask.weights.kinds import Kind


def prove(
    problem: Problem,
    to: Annotated[Kind, typer.Option("--to", help="The framework that it is compiled to.", show_default=False)],
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

    Example: [bold]unmask prove '(a|b)*abb' --to mdm --every-length[/bold]
    """
    from unmask.commands.output_file import check_writable, write_text
    from unmask.console import show_every_length
    from unmask.errors import OutOfTime, UnmaskError
    from unmask.pipeline import prove_family
    from unmask.terminal import print_document
    from unmask.verification.families.prove import EveryLength
    from unmask.verification.families.report import report

    if not every_length:
        raise UnmaskError("say --every-length; a proof for one length is `unmask verify DIR --method prove`")
    if out is not None:
        if out.suffix not in (".html", ".md"):
            raise UnmaskError(f"a report is .html or .md, not {out.suffix or 'a file without an ending'}")
        check_writable(out, "report.html")
    if certificate is not None:
        check_writable(certificate.with_name(certificate.name + ".json"), "proof")
    start = time.perf_counter()
    try:
        with budgeted("proving", limit=limit, timeout=timeout):
            found = prove_family(problem, to, precision=precision, lengths=check_length or ())
    except OutOfTime as end:  # while the problem was being read
        found = EveryLength.unreached(problem, to, precision, str(end))
    seconds = time.perf_counter() - start
    if out is not None:
        write_text(out, report(found, seconds, html=out.suffix == ".html"))
    if certificate is not None:
        for ending, text in found.files().items():
            write_text(certificate.with_name(certificate.name + ending), text)
    if as_json:
        print_document({**found.to_json(), "seconds": seconds})
    else:
        show_every_length(found, seconds)
    raise typer.Exit(found.exit_code)
