"""`unmask verify`: model folder → Verdict."""

import time
from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.budgeted import budgeted
from unmask.commands.engines import engine_named
from unmask.commands.options import (
    DEFAULT_ENGINE,
    DEFAULT_LIMIT,
    EngineOption,
    Folder,
    Json,
    LimitOption,
    TimeoutOption,
    not_a_bare_path,
)
from unmask.errors import OutOfTime
from unmask.files import is_there


def verify(
    folder: Folder,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="REFERENCE",
            help="Compare with this instead of the folder's own problem: PROBLEM, a model folder, or FILE.py:FUNCTION.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="exhaustive|sample|prove",
            help="Method; by default exhaustive if there are few words, else sample.",
        ),
    ] = None,
    cases: Annotated[int, typer.Option("--cases", metavar="K", min=1, help="Number of words of a sample.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of a sample.")] = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="STEM",
            help="With prove: write the proof to STEM.induction.json, or to STEM.cnf and STEM.drat.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="induction|sat", help="With prove: use only this proof method.", show_default=False
        ),
    ] = None,
    letters: Annotated[
        str | None,
        typer.Option(
            "--letters",
            metavar="common|model|problem",
            help="If the alphabets differ: compare words over the common letters, those of the model, or "
            "those of the problem.",
            show_default=False,
        ),
    ] = None,
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
    from unmask.commands.output_file import check_stem, write_stem
    from unmask.console import show_verdict
    from unmask.pipeline import load_model, verify_model
    from unmask.terminal import print_document
    from unmask.verification.question.verdict import Verdict

    if certificate is not None:
        check_stem(certificate, (".induction.json", ".cnf", ".drat"))
    start = time.perf_counter()
    try:
        label = "proving" if method == "prove" else "verifying"
        with budgeted(label, limit=limit, timeout=timeout, as_json=as_json):
            if against is not None and not is_there(Path(against) / "config.json"):
                not_a_bare_path(against)
            other = load_model(against) if against is not None and is_there(Path(against) / "config.json") else against
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
