"""`unmask samplers`: PROBLEM → how the field's samplers do on it; law:FILE → how far their laws are from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.budget import stage
from unmask.commands.budgeted import budgeted, leave_if_over
from unmask.commands.options import DEFAULT_LIMIT, Json, LimitOption, PrecisionOption, TimeoutOption, not_a_bare_path
from unmask.errors import OutOfTime, ProblemError, UnmaskError

MOST_BUDGETS = 64
KIND, WORDS = "mdm", 32


def samplers(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="A problem as for `compile`, or a distribution, `law:FILE`.",
            show_default=False,
            callback=not_a_bare_path,
        ),
    ],
    length: Annotated[
        int | None, typer.Option("--length", metavar="N", help="Length of the words.", show_default=False)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="T,T,…",
            help="Numbers of passes to try; by default a selection.",
            show_default=False,
        ),
    ] = None,
    sampler: Annotated[
        list[str] | None,
        typer.Option(
            "--sampler",
            metavar="NAME",
            help="Test only this sampler, such as `llada:remasking=random` or `fast-dllm:threshold=0.8`. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="mdm|smdm|topk",
            help=f"Framework that PROBLEM is compiled to; by default {KIND}.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        int | None,
        typer.Option(
            "--words",
            metavar="K",
            min=1,
            max=4096,
            help=f"Number of words to try; by default {WORDS}.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", metavar="M", min=2, max=1_000_000, help="Number of samples if the outputs cannot be enumerated."
        ),
    ] = 4096,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of the words and of the samplers.")] = 0,
    precision: PrecisionOption = 2,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with plots.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Print a row for each number of passes.")] = False,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Test published samplers (LLaDA, Dream, Fast-dLLM, EB, P2, ReMDM) on a problem whose answers are known.

    For a problem, the table shows the correct answers for each number of passes, the least number of passes that
    suffices, and the first wrong write with its reason. For a distribution (`law:FILE`) it shows the Kullback-Leibler
    divergence and the total variation. They are exact if all outputs of the sampler can be enumerated.

    Example: [bold]unmask samplers group:A5 --length 16 --out report.html[/bold]
    """
    from unmask.commands.output_file import PAGE, check_writable, write_text
    from unmask.problems.law import law_path
    from unmask.terminal import print_document

    if out is not None:
        check_writable(out, "report.html", earlier=PAGE)
    budgets = None if budget is None else _budgets(budget)
    names = tuple(sampler or ())
    end = None
    with budgeted("sampling", limit=limit, timeout=timeout):
        law = law_path(problem)
        if law is not None:
            if kind is not None or words is not None:
                raise UnmaskError("a law is not compiled and has no words to try; leave out --to and --words")
            report, results = _law(law, length, budgets, names, runs, seed)
        else:
            report, results = _exam(
                problem, length, budgets, names, _kind(kind or KIND), words or WORDS, seed, precision
            )
        try:
            for result in results:
                report.results.append(result)
        except OutOfTime as over:
            end = over
    if end is None and out is not None:
        write_text(out, report.page(), earlier=PAGE)
    if as_json:
        print_document(report.to_json())
    elif report.results:
        _show(report, out if end is None else None, every=every)
    leave_if_over(end)


def _show(report: Any, out: Path | None, *, every: bool) -> None:
    from unmask.terminal import console, literal, show_table

    table = report.everything() if every else report.summary()
    cells = [tuple(literal(cell) for cell in row) for row in table.rows]
    show_table(literal(report.title), table.columns, cells, left=table.left)
    console().print(literal(report.facts))
    if out is not None:
        console().print(f"wrote [bold]{literal(out)}[/bold]")


def _exam(
    problem: str,
    length: int | None,
    budgets: tuple[int, ...] | None,
    names: tuple[str, ...],
    kind: Any,
    words: int,
    seed: int,
    precision: int,
) -> tuple[Any, Iterator[Any]]:
    """An empty report, and what goes into it."""
    from unmask.samplers.exam.measure import budgets_for, examine
    from unmask.samplers.exam.report import ExamReport
    from unmask.samplers.exam.subject import Subject
    from unmask.samplers.zoo import ZOO, zoo

    zoo(1, names)  # what is no sampler is refused before anything is compiled
    subject = Subject.of(problem, length, kind=kind, words=words, seed=seed, precision=precision)
    entries = zoo(subject.slots, names or ZOO)
    budgets = budgets or budgets_for(subject.slots, subject.predictor.model.steps)
    results = stage("sampling", examine(subject, entries, budgets, seed=seed), len(entries) + 1)
    return ExamReport(subject, budgets, []), results


def _law(
    path: str,
    length: int | None,
    budgets: tuple[int, ...] | None,
    names: tuple[str, ...],
    runs: int,
    seed: int,
) -> tuple[Any, Iterator[Any]]:
    from unmask.samplers.laws.law_file import read_law
    from unmask.samplers.laws.measure import Bench, compare, law_budgets
    from unmask.samplers.laws.report import LawReport
    from unmask.samplers.zoo import ZOO, zoo

    law = read_law(path)
    if length is None:
        raise ProblemError(f"{law.name} has strings of any length; give one with --length N")
    bench = Bench(law, length)
    entries = zoo(length, names or ZOO)
    budgets = budgets or law_budgets(length)
    results = stage("sampling", compare(bench, entries, budgets, runs=runs, seed=seed), len(entries))
    return LawReport(bench, budgets, []), results


def _budgets(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 6 and int(part) for part in parts):
        raise UnmaskError(f"--budget takes numbers of passes separated by commas, such as 63,32,6, not {text!r}")
    if len(parts) > MOST_BUDGETS:
        raise UnmaskError(f"--budget takes at most {MOST_BUDGETS} numbers, not {len(parts)}")
    return tuple(sorted({int(part) for part in parts}, reverse=True))


def _kind(text: str) -> Any:
    from unmask.weights.kinds import DIFFUSION

    kind = next((kind for kind in DIFFUSION if kind == text), None)
    if kind is None:
        raise UnmaskError(f"--to takes {', '.join(DIFFUSION)}, which have a canvas to sample on, not {text!r}")
    return kind
