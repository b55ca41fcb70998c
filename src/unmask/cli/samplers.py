"""`unmask samplers` and `unmask schedule`: test published samplers on known problems, and find schedules."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli.options import (
    DEFAULT_LIMIT,
    Json,
    LimitOption,
    PlotPageOption,
    PrecisionOption,
    TimeoutOption,
    budgeted,
    exit_if_out_of_time,
    not_a_bare_path,
)
from unmask.cli.output_files import PAGE, check_writable, write_text
from unmask.cli.terminal import console, literal, print_document, show_table
from unmask.errors import OutOfTime, ProblemError, UnmaskError
from unmask.limits import stage

# `unmask samplers`: PROBLEM → correct answers of published samplers; law:FILE → distance of their distributions.


MOST_BUDGETS = 64
KIND, WORDS = "mdm", 32


ProblemOrLaw = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A problem as for `compile`, or a distribution, `law:FILE`.",
        show_default=False,
        callback=not_a_bare_path,
    ),
]
LengthOption = Annotated[
    int | None, typer.Option("--length", metavar="N", help="Length of the words.", show_default=False)
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="T,T,…",
        help="Numbers of passes to try; by default a selection.",
        show_default=False,
    ),
]
SamplerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sampler",
        metavar="NAME",
        help="Test only this sampler: a name such as `fast-dllm:threshold=0.8`, or a function as in `bench run`. "
        "May be repeated.",
        show_default=False,
    ),
]
KindOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="mdm|smdm|topk",
        help=f"Framework that PROBLEM is compiled to; by default {KIND}.",
        show_default=False,
    ),
]
WordsOption = Annotated[
    int | None,
    typer.Option(
        "--words",
        metavar="K",
        min=1,
        max=4096,
        help=f"Number of words to try; by default {WORDS}.",
        show_default=False,
    ),
]
RunsOption = Annotated[
    int,
    typer.Option(
        "--runs", metavar="M", min=2, max=1_000_000, help="Number of samples if the outputs cannot be enumerated."
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of the words and of the samplers.")]
EveryOption = Annotated[bool, typer.Option("--every", help="Print a row for each number of passes.")]


def samplers(
    problem: ProblemOrLaw,
    length: LengthOption = None,
    budget: BudgetOption = None,
    sampler: SamplerOption = None,
    kind: KindOption = None,
    words: WordsOption = None,
    runs: RunsOption = 4096,
    seed: SeedOption = 0,
    precision: PrecisionOption = 2,
    out: PlotPageOption = None,
    every: EveryOption = False,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Test published samplers (LLaDA, Dream, Fast-dLLM, EB, P2, DiffusionGemma, …) on a problem with known answers.

    For a problem, the table shows the correct answers for each number of passes, the least number of passes that
    suffices, and the first wrong write with its reason. For a distribution (`law:FILE`) it shows the Kullback-Leibler
    divergence and the total variation. They are exact if all outputs of the sampler can be enumerated.

    Example: [bold]unmask samplers group:A5 --length 16 --out report.html[/bold]
    """
    from unmask.problems.catalogue import law_path

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
            report, results = _compare_with_law(law, length, budgets, names, runs, seed)
        else:
            report, results = _examine_problem(
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
        table = report.everything() if every else report.summary()
        _show_report(report.title, table, [report.facts], out if end is None else None)
    exit_if_out_of_time(end)


def _show_report(title: str, table: Any, facts: Iterable[str], out: Path | None) -> None:
    """Print a table and the lines below it, and name the page that was written, if any."""
    cells = [tuple(literal(cell) for cell in row) for row in table.rows]
    show_table(literal(title), table.columns, cells, left=table.left)
    for fact in facts:
        console().print(literal(fact))
    if out is not None:
        console().print(f"wrote [bold]{literal(out)}[/bold]")


def _examine_problem(
    problem: str,
    length: int | None,
    budgets: tuple[int, ...] | None,
    names: tuple[str, ...],
    kind: Any,
    words: int,
    seed: int,
    precision: int,
) -> tuple[Any, Iterator[Any]]:
    """Return an empty report, and the results that fill it."""
    from unmask.bench.user_function import is_function, user_function
    from unmask.samplers.problem_comparison import ExamReport, budgets_for, examine
    from unmask.samplers.problem_subject import Subject
    from unmask.samplers.sampler_names import DEFAULT_SAMPLERS, EDITING_SAMPLERS, named_samplers

    functions = {name: user_function(name) for name in names if is_function(name)}
    named_samplers(
        1, tuple(name for name in names if name not in functions)
    )  # refuse unknown names before anything is compiled
    subject = Subject.of(problem, length, kind=kind, words=words, seed=seed, precision=precision)
    chosen = names or DEFAULT_SAMPLERS + EDITING_SAMPLERS
    entries = [functions[name] if name in functions else named_samplers(subject.slots, (name,))[0] for name in chosen]
    budgets = budgets or budgets_for(subject.slots, subject.predictor.model.steps)
    results = stage("sampling", examine(subject, entries, budgets, seed=seed), len(entries) + 1)
    return ExamReport(subject, budgets, []), results


def _compare_with_law(
    path: str,
    length: int | None,
    budgets: tuple[int, ...] | None,
    names: tuple[str, ...],
    runs: int,
    seed: int,
) -> tuple[Any, Iterator[Any]]:
    from unmask.samplers.law_comparison import Bench, LawReport, compare_samplers, law_budgets
    from unmask.samplers.sampler_names import DEFAULT_SAMPLERS, named_samplers
    from unmask.samplers.string_law import read_law

    law = read_law(path)
    if length is None:
        raise ProblemError(f"{law.name} has strings of any length; give one with --length N")
    bench = Bench(law, length)
    entries = named_samplers(length, names or DEFAULT_SAMPLERS)
    if any(entry.from_noise for entry in entries):
        raise UnmaskError(
            "a law says nothing about canvases of random symbols; leave out samplers that start from them, such as "
            "diffusion-gemma"
        )
    budgets = budgets or law_budgets(length)
    results = stage("sampling", compare_samplers(bench, entries, budgets, runs=runs, seed=seed), len(entries))
    return LawReport(bench, budgets, []), results


def _budgets(text: str) -> tuple[int, ...]:
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isascii() and number.isdigit() and len(number) < 6 and int(number) for number in numbers):
        raise UnmaskError(f"--budget takes numbers of passes separated by commas, such as 63,32,6, not {text!r}")
    if len(numbers) > MOST_BUDGETS:
        raise UnmaskError(f"--budget takes at most {MOST_BUDGETS} numbers, not {len(numbers)}")
    return tuple(sorted({int(number) for number in numbers}, reverse=True))


def _kind(text: str) -> Any:
    from unmask.weights.kinds import DIFFUSION

    kind = next((kind for kind in DIFFUSION if kind == text), None)
    if kind is None:
        raise UnmaskError(f"--to takes {', '.join(DIFFUSION)}, which have a canvas to sample on, not {text!r}")
    return kind


# `unmask schedule`: law:FILE × N × K → what schedules of K passes cost, and the best one.


def schedule(
    law: Annotated[str, typer.Argument(metavar="law:FILE", help="A distribution over strings.", show_default=False)],
    length: Annotated[int, typer.Option("--length", metavar="N", help="Length of the strings.", show_default=False)],
    passes: Annotated[int, typer.Option("--passes", metavar="K", help="Number of passes, 1 to N.", show_default=False)],
    out: PlotPageOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Find the best schedule of a sampler that unmasks in random order, and the price of the usual ones.

    The price is the expected Kullback-Leibler divergence from the law to the sampler, for an exact predictor. It is
    computed from the information curve of the law: how uncertain a masked position is when i others are revealed. For
    short strings the least number of passes of any exact sampler is also computed.

    Example: [bold]unmask schedule law:examples/laws/chain.json --length 64 --passes 8[/bold]
    """
    from unmask.problems.catalogue import law_path
    from unmask.samplers.pass_schedules import ScheduleReport
    from unmask.samplers.string_law import read_law

    path = law_path(law)
    if path is None:
        raise ProblemError(f"a schedule is found for a distribution, not for {law!r}; write law:FILE")
    if out is not None:
        check_writable(out, "schedule.html", earlier=PAGE)
    with budgeted("measuring information", limit=limit, timeout=timeout):
        report = ScheduleReport.of(read_law(path), length, passes)
        page = None if out is None else report.page()
    if out is not None and page is not None:
        write_text(out, page, earlier=PAGE)
    if as_json:
        print_document(report.to_json())
        return
    _show_report(report.title, report.summary(), report.facts, out)
