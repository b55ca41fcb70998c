"""`unmask sample`: model folder → strings drawn from it."""

import json
from typing import Annotated

import typer

from unmask.commands.options import DEFAULT_ENGINE, EngineOption, Folder, Json


def sample(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", metavar="K", min=1, help="How many strings.")] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="String i uses the tape of seed S + i.")] = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    as_json: Json = False,
) -> None:
    """Draw strings from a model that reads the empty input (length 0), one per line.

    Example: [bold]unmask sample models/language --count 5 --seed 1[/bold]
    """
    from unmask.pipeline import ENGINES, generate, load_model
    from unmask.reasoners.words import written

    model = load_model(folder)
    drawn = []
    for i in range(count):
        output = generate(model, seed=seed + i, engine=ENGINES[engine.value]()).output
        drawn.append({"seed": seed + i, "output": output})
        if not as_json:
            print(written(model, output), flush=True)
    if as_json:
        print(json.dumps({"samples": drawn}))
