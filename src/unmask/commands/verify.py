"""`unmask verify`: model folder → Verdict."""

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from unmask.commands.options import DEFAULT_ENGINE, EngineOption, Folder, Json


def verify(
    folder: Folder,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="PROBLEM|DIR", help="Compare with this instead of the folder's own problem."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="exhaustive|sample|prove", help="By default all words if few, or a sample."),
    ] = None,
    cases: Annotated[int, typer.Option("--cases", metavar="K", min=1, help="Words of a sample.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of a sample.")] = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="STEM", help="With prove: write STEM.cnf and STEM.drat.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare a model with its problem. Exit code: 0 proved or held, 1 refuted, 2 error or unknown.

    `prove` settles all words of the model's length at once, from the weights alone. A certificate goes through a SAT
    solver, whatever other proof there is; each of its lines was checked, and any DRAT checker can check it again.

    Example: [bold]unmask verify models/abb --method prove[/bold]
    """
    from unmask.commands.output_file import write_text
    from unmask.console import show_verdict
    from unmask.pipeline import ENGINES, load_model, verify_model
    from unmask.terminal import progress, working

    other = load_model(against) if against is not None and (Path(against) / "config.json").is_file() else against
    start = time.perf_counter()
    with working("proving") if method == "prove" else nullcontext():
        verdict = verify_model(
            load_model(folder),
            against=other,
            method=method,
            cases=cases,
            seed=seed,
            engine=ENGINES[engine.value](),
            certified=certificate is not None,
            progress=lambda words, total: progress(words, total=total, label="running words"),
        )
    seconds = time.perf_counter() - start
    if certificate is not None and verdict.certificate is not None:
        write_text(certificate.with_name(certificate.name + ".cnf"), verdict.certificate.cnf())
        write_text(certificate.with_name(certificate.name + ".drat"), verdict.certificate.drat())
    if as_json:
        print(json.dumps({**verdict.to_json(), "seconds": seconds}))
    else:
        show_verdict(verdict)
    raise typer.Exit(verdict.exit_code)
