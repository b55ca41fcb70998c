"""`unmask run`: model folder × WORD → what happened, and accepted or rejected."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.commands.options import Folder, Json, PlannerOption, SampleOption, SeedOption
from unmask.commands.output_file import write_text
from unmask.errors import UnmaskError


class RunEngineName(StrEnum):
    fast = "fast"
    reference = "reference"
    both = "both"


def run(
    folder: Folder,
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word; `-` reads one per line.", show_default=False)],
    engine: Annotated[
        RunEngineName, typer.Option("--engine", help="What computes a forward pass; `both` compares the two.")
    ] = RunEngineName.fast,
    planner: PlannerOption = None,
    sample: SampleOption = False,
    seed: SeedOption = 0,
    trace: Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write all that happened.")] = None,
    no_canvas: Annotated[bool, typer.Option("--no-canvas", help="Do not keep or print the canvas.")] = False,
    as_json: Json = False,
) -> None:
    """Run a model on WORD. Exit code: 0 accepted, 1 rejected, 2 error.

    Example: [bold]unmask run models/random abba --planner uniform:1 --seed 3[/bold]
    """
    from unmask.console import answered, show_run, verdict_line
    from unmask.pipeline import ENGINES, batch_size, load_model, output_count, result, run_both, run_word, run_words

    model = load_model(folder)
    outputs = output_count(model)

    def one(text: str, *, record: bool = False) -> tuple[Any, float]:
        options: dict[str, Any] = {"sample": sample, "seed": seed, "planner": planner, "canvas": not no_canvas}
        start = time.perf_counter()
        if engine is RunEngineName.both:
            done = run_both(model, text, **options)
        else:
            done = run_word(model, text, engine=ENGINES[engine.value](), record=record, **options)
        return done, time.perf_counter() - start

    def each(batch: list[str], alone: bool) -> list[tuple[Any, float]]:
        """(trace or error, seconds) of each line; a batch shares its time."""
        if alone:
            try:
                return [one(batch[0])]
            except UnmaskError as error:
                return [(error, 0)]
        start = time.perf_counter()
        words = run_words(model, batch, engine=ENGINES[engine.value](), sample=sample, seed=seed, canvas=not no_canvas)
        share = (time.perf_counter() - start) / len(batch)
        return [(done, share) for done in words]

    if word == "-":
        if trace is not None:
            raise UnmaskError("--trace takes the run of one word; give the word instead of -")
        alone = planner is not None or engine is RunEngineName.both or sys.stdin.isatty()
        failed = False
        lines = _lines(sys.stdin)
        while batch := list(islice(lines, 1 if alone else batch_size(model))):
            for done, seconds in each(batch, alone):
                if isinstance(done, UnmaskError):
                    failed = True
                    print(json.dumps({"error": str(done)}) if as_json else f"error: {done}", flush=True)
                    continue
                failed |= not answered(done)
                document = {**result(done, canvas=not no_canvas, outputs=outputs), "seconds": seconds}
                print(json.dumps(document) if as_json else verdict_line(done), flush=True)
        raise typer.Exit(2 if failed else 0)

    done, seconds = one(word, record=trace is not None)
    if trace is not None:
        write_text(trace, json.dumps(done.to_json()))
    if as_json:
        print(json.dumps({**result(done, canvas=not no_canvas, outputs=outputs), "seconds": seconds}))
    else:
        show_run(model, done, canvas=not no_canvas)
    raise typer.Exit({True: 0, False: 1, None: 2}[done.accepted])


def _lines(stream: Iterable[str]) -> Iterator[str]:
    """Lines of standard input, with only the newline stripped, and no other character taken for one."""
    for line in stream:
        yield line.removesuffix("\n")
