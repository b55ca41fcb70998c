"""`unmask verify` and `unmask compare`: is a model correct, and what does each framework cost?"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.options import (
    DEFAULT_ENGINE,
    DEFAULT_LIMIT,
    EngineOption,
    Folder,
    HopsOption,
    Json,
    LimitOption,
    PrecisionOption,
    ProblemArgument,
    TimeoutOption,
    budgeted,
    engine_named,
    exit_if_out_of_time,
    not_a_bare_path,
)
from unmask.cli.output_files import check_stem, write_stem
from unmask.cli.terminal import console, literal, print_document, show_table
from unmask.errors import OutOfTime, UnmaskError, shortened
from unmask.files import path_exists
from unmask.limits import stage

if TYPE_CHECKING:
    from unmask.verification.resources import ResourceRow
    from unmask.verification.verdict import Verdict
    from unmask.weights.model import Model


# `unmask verify`: model folder → Verdict.


AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="REFERENCE",
        help="Compare with this instead of the folder's own problem: PROBLEM, a model folder, or FILE.py:FUNCTION.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="exhaustive|sample|prove",
        help="Method; by default exhaustive if there are few words, else sample.",
    ),
]
CasesOption = Annotated[int, typer.Option("--cases", metavar="K", min=1, help="Number of words of a sample.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="S", help="Seed of a sample.")]
CertificateOption = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="STEM",
        help="With prove: write the proof to STEM.induction.json, or to STEM.cnf and STEM.drat.",
        show_default=False,
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="induction|sat", help="With prove: use only this proof method.", show_default=False),
]
LettersOption = Annotated[
    str | None,
    typer.Option(
        "--letters",
        metavar="common|model|problem",
        help="If the alphabets differ: compare words over the common letters, those of the model, or "
        "those of the problem.",
        show_default=False,
    ),
]


def verify(
    folder: Folder,
    against: AgainstOption = None,
    method: MethodOption = None,
    cases: CasesOption = 1000,
    seed: SeedOption = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    certificate: CertificateOption = None,
    by: ByOption = None,
    letters: LettersOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Compare a model with its problem. Exit code: 0 no difference was found, 1 refuted, 2 error or unknown.

    `--method prove` decides all words of the model's length at once, from the weights alone. `--certificate` writes the
    proof: `python -m unmask.checker DIR FILE` checks an induction, and any DRAT checker checks the proof of a SAT
    solver.

    Example: [bold]unmask verify models/abb --method prove[/bold]
    """
    from unmask.api import load_model, verify_model
    from unmask.verification.verdict import Verdict

    if certificate is not None:
        check_stem(certificate, (".induction.json", ".cnf", ".drat"))
    start = time.perf_counter()
    try:
        label = "proving" if method == "prove" else "verifying"
        with budgeted(label, limit=limit, timeout=timeout, as_json=as_json):
            other: str | Model | None = against
            if against is not None and path_exists(Path(against) / "config.json"):
                other = load_model(against)
            elif against is not None:
                not_a_bare_path(against)
            verdict = verify_model(
                load_model(folder),
                against=other,
                method=method,
                cases=cases,
                seed=seed,
                engine=engine_named(engine),
                certified=certificate is not None,
                by=by,
                letters=letters,
            )
    except OutOfTime as end:  # while a folder was being read
        verdict = Verdict.out_of_time(method, end)
    seconds = time.perf_counter() - start
    if certificate is not None and verdict.certificate is not None:
        write_stem(certificate, verdict.certificate.files())
    if as_json:
        print_document({**verdict.to_json(), "seconds": seconds})
    else:
        show_verdict(verdict)
    raise typer.Exit(verdict.exit_code)


def show_verdict(verdict: "Verdict") -> None:
    """Print a verdict and its reason or counterexample."""
    style = {"proved": "bold green", "held": "bold green", "refuted": "bold red", "unknown": "bold yellow"}
    out = console()
    if verdict.proof is not None:
        how = ", ".join(f"{name} {value}" for name, value in verdict.proof.items() if name not in ("by", "invariant"))
        words = "every word" if verdict.about is None else "every word that was compared"
        out.print(f"[{style[verdict.status]}]proved[/] for {words}, by {verdict.proof['by']} ({how})")
    elif verdict.status == "held":
        number = f"{'all ' if verdict.complete else ''}{verdict.cases:,} word{'' if verdict.cases == 1 else 's'}"
        out.print(f"[{style[verdict.status]}]no counterexample found[/] ({number})")
    elif not verdict.comparable:
        out.print(literal(verdict.reason or ""), style=style[verdict.status])
        return
    else:
        out.print(f"[{style[verdict.status]}]{verdict.status}[/]")
    if verdict.compared is not None:
        out.print(f"compared: {literal(verdict.compared)}")
    if verdict.counterexample is not None:
        out.print(
            f"counterexample {literal(repr(verdict.counterexample))}: "
            f"{literal(verdict.expected)}, but the model {literal(verdict.got)}"
        )
    elif verdict.about is not None:
        out.print(f"this is about {literal(verdict.about)}")
    if verdict.reason:
        out.print(literal(verdict.reason))


# `unmask compare`: PROBLEM → steps, space and size in every framework, measured.


MOST_DIGITS = 7  # of a length


def compare(
    problem: ProblemArgument,
    lengths: Annotated[str, typer.Option("--lengths", metavar="N,N,…", help="Lengths of the input words.")] = "8,16,32",
    precision: PrecisionOption = 2,
    hops: HopsOption = 1,
    engine: EngineOption = DEFAULT_ENGINE,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM for every framework and length, and compare steps, space and size with their bounds.

    Exit code: 0 correct and within the bounds, 1 otherwise, 2 error.

    Example: [bold]unmask compare group:A5 --lengths 8,64[/bold]
    """
    from unmask.api import compare_frameworks, compiler_of
    from unmask.verification.resources import grows_as_promised

    word_lengths = _lengths(lengths)
    rows, end = [], None
    try:
        with budgeted("measuring", limit=limit, timeout=timeout, as_json=as_json):
            measured = compare_frameworks(
                problem, word_lengths, precision=precision, hops=hops, engine=engine_named(engine)
            )
            for row in stage("measuring", measured, len(word_lengths) * len(compiler_of(problem, hops).kinds)):
                rows.append(row)
    except OutOfTime as over:
        end = over
    if as_json:
        print_document([row.to_json() for row in rows])
    elif rows:
        show_comparison(problem, rows)
    exit_if_out_of_time(end)
    wrong = [row for row in rows if row.correct is False or not row.within_bound]
    kinds = {row.framework for row in rows}
    grown = [kind for kind in kinds if not grows_as_promised([row for row in rows if row.framework == kind])]
    raise typer.Exit(1 if wrong or grown else 0)


def _lengths(text: str) -> list[int]:
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS for number in numbers):
        raise UnmaskError(
            f"--lengths takes numbers separated by commas, each of at most {MOST_DIGITS} digits; "
            f"{shortened(text)!r} is not such a list; write, for example, --lengths 8,16,32"
        )
    return [int(number) for number in numbers]


def show_comparison(problem: str, rows: list["ResourceRow"]) -> None:
    """Print the table, and how the resources of each framework grow with N."""
    from unmask.verification.resources import grows_as_promised

    columns = ("kind", "N", "steps", "space", "width", "layers", "symbols", "weights", "sec", "correct")
    cells = [
        (
            row.framework,
            str(row.length),
            f"{row.steps} <= {row.bound.steps}",
            f"{row.padding} <= {row.bound.padding}",
            f"{row.width} <= {row.bound.width}",
            f"{row.layers} <= {row.bound.layers}",
            f"{row.symbols} <= {row.bound.symbols}",
            str(row.parameters),
            "–" if row.seconds is None else f"{row.seconds:.3f}",
            {True: "yes", False: "[red]NO[/red]", None: "not run"}[row.correct],
        )
        for row in rows
    ]
    show_table(literal(problem), columns, cells, left=("kind",))
    out = console()
    for kind in dict.fromkeys(row.framework for row in rows):
        same = sorted((row for row in rows if row.framework == kind), key=lambda row: row.length)
        first, last = same[0], same[-1]
        if first.length != last.length:
            out.print(
                f"{kind:>5}: N {first.length} → {last.length}, steps {first.steps} → {last.steps}, "
                f"space {first.padding} → {last.padding}, width {first.width} → {last.width} <= {last.width_formula}"
                + ("" if grows_as_promised(same) else ": [red]depth, alphabet or width grow faster than allowed[/red]")
                + _missing_cases(same)
            )
    out.print(
        "[dim]These runs show upper bounds. Lower bounds are cited theorems: for example, log N steps of chain of "
        "thought cannot decide parity (thm:cot-mdm-separation).[/dim]"
    )


def _missing_cases(rows: list["ResourceRow"]) -> str:
    from unmask.verification.resources import lengths_that_lack_cases

    lengths = lengths_that_lack_cases(rows)
    return f" (not every case of the recurrence occurs at N = {', '.join(map(str, lengths))})" if lengths else ""
