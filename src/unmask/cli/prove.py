"""`unmask prove`: PROBLEM × kind, or a theorem → is the model right for every length N?"""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.options import (
    DEFAULT_LIMIT,
    Json,
    LimitOption,
    PrecisionOption,
    TimeoutOption,
    budgeted,
    complete_problem,
    not_a_bare_path,
)
from unmask.cli.output_files import REPORT, check_stem, check_writable, write_stem, write_text
from unmask.cli.terminal import console, literal, print_document
from unmask.errors import OutOfTime, UnmaskError
from unmask.weights.kinds import Kind

if TYPE_CHECKING:
    from unmask.verification.verdict import Verdict

THEOREM = "theorem:"
"""The prefix that selects a conversion instead of a problem."""

Subject = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM|theorem:STEM",
        help="A problem, such as `(a|b)*abb`, `group:A5`, `program:FILE.py` or `family:parity`; or a conversion, such "
        "as `theorem:cot_to_pcot`.",
        show_default=False,
        autocompletion=complete_problem,
        callback=not_a_bare_path,
    ),
]

ToOption = Annotated[
    Kind | None,
    typer.Option(
        "--to",
        metavar="KIND",
        help="The framework that PROBLEM is compiled to: mdm, smdm, topk, plt, cot or pcot. A theorem implies its own.",
        show_default="mdm",
    ),
]
EveryLengthOption = Annotated[
    bool, typer.Option("--every-length", help="Accepted for older scripts: every proof is for every N.", hidden=True)
]
CheckLengthOption = Annotated[
    list[int] | None,
    typer.Option(
        "--check-length",
        metavar="N",
        min=0,
        help="Also compare the compiled model of this length with what is proved. May be repeated.",
        show_default=False,
    ),
]
LikeOption = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="DIR",
        help="For a theorem: prove it for every source model of the shape of this one.",
        show_default=False,
    ),
]
ReportOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write a report, .html or .md.", show_default=False)
]
CertificateOption = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="STEM",
        help="Write STEM.json (obligations), STEM.smt2 (questions to the solver) and, for a regular language, "
        "STEM.family.json (for `python -m unmask.checker.families`).",
        show_default=False,
    ),
]


def prove(
    problem: Subject,
    to: ToOption = None,
    every_length: EveryLengthOption = False,  # noqa: ARG001
    precision: PrecisionOption = 2,
    check_length: CheckLengthOption = None,
    like: LikeOption = None,
    out: ReportOption = None,
    certificate: CertificateOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Prove a compiled model, or a conversion, for every length N at once.

    A problem: for every N, the model that `compile` writes for N gives the answer of the problem on every word of
    length N. It can be a regular language, a program or a family of circuits. If the verdict is refuted, a word and its
    N are printed.

    A conversion, `theorem:STEM`: for every N and every source model of a shape, the converted model does what its
    source does. There are proofs of `theorem:cot_to_pcot` and `theorem:mdm_to_smdm`.

    Exit code: 0 proved, 1 refuted, 2 error or unknown. For one model folder use `unmask verify DIR --method prove`.

    Example: [bold]unmask prove '(a|b)*abb'[/bold]

    Example: [bold]unmask prove group:A5 --to cot --out report.html[/bold]

    Example: [bold]unmask prove theorem:cot_to_pcot[/bold]
    """
    theorem = problem.removeprefix(THEOREM) if problem.startswith(THEOREM) else None
    if theorem is None and like is not None:
        raise UnmaskError("--like is for a theorem; leave it out, or prove theorem:STEM")
    _check_files(out, certificate)
    start = time.perf_counter()
    lengths, budget = check_length or [], {"limit": limit, "timeout": timeout, "as_json": as_json}
    if theorem is None:
        answer = _prove_problem(problem, to or "mdm", precision, lengths, **budget)
    else:
        answer = _prove_theorem(theorem, to, like, precision, lengths, **budget)
    seconds = time.perf_counter() - start
    _write_files(answer, seconds, out, certificate)
    _print_verdict(answer, seconds, as_json=as_json)
    raise typer.Exit(answer.exit_code)


def _write_files(answer: "Verdict", seconds: float, out: Path | None, certificate: Path | None) -> None:
    from unmask.verification.lengths.prove_lengths import proof_page

    if out is not None:
        write_text(out, proof_page(answer, seconds, html=out.suffix == ".html"), earlier=REPORT)
    if certificate is not None:
        write_stem(certificate, answer.files())


def _print_verdict(answer: "Verdict", seconds: float, *, as_json: bool) -> None:

    if as_json:
        print_document({**answer.to_json(), "seconds": seconds})
    else:
        show_every_length(answer, seconds)


def show_every_length(answer: "Verdict", seconds: float) -> None:
    """Print the verdict, how many obligations each method settled, and what was compared and is trusted."""
    from unmask.verification.lengths.prove_lengths import compared_lengths

    out = console()
    assert answer.record is not None
    style = {"proved": "bold green", "refuted": "bold red", "unknown": "bold yellow"}[answer.status]
    for_every = "proved for every N" if answer.status == "proved" else answer.status
    out.print(f"[{style}]{for_every}[/]: {literal(answer.statement)}")
    settled = Counter(o.method for o in answer.obligations if o.verdict == "proved")
    counted = ", ".join(f"{count} by {literal(method)}" for method, count in settled.items())
    out.print(f"{sum(settled.values())} obligations{f' ({counted})' if counted else ''}, {seconds:.3f} s")
    if answer.length is not None:
        word = "" if answer.counterexample is None else f", word {literal(repr(answer.counterexample))}"
        out.print(
            f"counterexample: N = {answer.length}{word}: {literal(answer.expected)}, "
            f"but the model {literal(answer.got)}"
        )
    if answer.reason:
        out.print(literal(answer.reason))
    if answer.status == "proved":
        if answer.record.compared:
            out.print(literal(compared_lengths(answer.record)))
        out.print(f"The proof relies on {len(answer.record.trusted)} trusted assumptions; --json and --out list them.")


def _check_files(out: Path | None, certificate: Path | None) -> None:
    """Raise if a file cannot be written, before anything is proved."""
    if out is not None:
        if out.suffix not in (".html", ".md"):
            raise UnmaskError(f"--out {out}: the name of a report ends in .html or .md; choose one of them")
        check_writable(out, "report.html", earlier=REPORT)
    if certificate is not None:
        check_stem(certificate, (".json", ".smt2", ".family.json"))


def _prove_problem(problem: str, to: Kind, precision: int, lengths: list[int], **budget: Any) -> "Verdict":
    from unmask.api import prove_family
    from unmask.verification.lengths.prove_lengths import unreached

    try:
        with budgeted("proving", **budget):
            return prove_family(problem, to, precision=precision, lengths=lengths)
    except OutOfTime as end:  # while the problem was being read
        return unreached(problem, to, precision, str(end))


def _prove_theorem(
    theorem: str, to: Kind | None, like: Path | None, precision: int, lengths: list[int], **budget: Any
) -> "Verdict":
    from unmask.api import prove_conversion
    from unmask.verification.lengths.prove_lengths import unknown_statement

    try:
        with budgeted("proving", **budget):
            return prove_conversion(theorem, to, like=like, precision=precision, lengths=lengths)
    except OutOfTime as end:  # while the source was being read
        subject = f"For every N, the model that `convert` writes by {theorem} does what its source does."
        return unknown_statement(subject, str(end))
