"""`unmask sample`: model folder → sampled strings."""

from typing import Annotated

import typer

from unmask.budget import stage
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
)


def sample(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", metavar="K", min=1, help="Number of strings.")] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="String i uses the seed S + i.")] = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Sample strings from a model that reads no input (length 0), one per line.

    Example: [bold]unmask sample models/language --count 5 --seed 1[/bold]
    """
    from unmask.pipeline import generate, load_model
    from unmask.reasoners.words import written
    from unmask.terminal import print_document, say

    drawn = []
    with budgeted("sampling" if as_json else None, limit=limit, timeout=timeout):
        model = load_model(folder)
        for i in stage("sampling", range(count), count):
            output = generate(model, seed=seed + i, engine=engine_named(engine)).output
            if as_json:
                drawn.append({"seed": seed + i, "output": output})
            else:
                say(written(model, output))
    if as_json:
        print_document({"samples": drawn})
