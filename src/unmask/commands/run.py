"""`unmask run`: model folder × WORD → the canvas after every step, and accepted or rejected."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.budget import foresee_time
from unmask.commands.budgeted import budgeted
from unmask.commands.engines import engine_named
from unmask.commands.lines import lines_of
from unmask.commands.options import (
    DEFAULT_LIMIT,
    Folder,
    Json,
    LimitOption,
    PlannerOption,
    SampleOption,
    SeedOption,
    TimeoutOption,
)
from unmask.commands.output_file import TRACE, check_writable, write_text
from unmask.errors import UnmaskError
from unmask.terminal import print_document, say

if TYPE_CHECKING:  # `--help` asks for none of it
    from unmask.traces.trace import Trace
    from unmask.weights.model import Model


class RunEngineName(StrEnum):
    fast = "fast"
    reference = "reference"
    torch = "torch"
    both = "both"


def run(
    folder: Folder,
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="The input word; `-` reads words from standard input, one per line.",
            show_default=False,
        ),
    ],
    engine: Annotated[
        RunEngineName,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="Engine for the forward passes: fast, reference or torch; `both` compares fast and reference.",
        ),
    ] = RunEngineName.fast,
    planner: PlannerOption = None,
    sample: SampleOption = False,
    seed: SeedOption = 0,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write a record of the run as JSON.")
    ] = None,
    no_canvas: Annotated[bool, typer.Option("--no-canvas", help="Do not store or print the canvas.")] = False,
    tables: Annotated[
        bool | None,
        typer.Option(
            "--tables/--no-tables",
            help="For many words: compute tables once and look answers up in them. By default where this is faster.",
            show_default=False,
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Run a model on WORD. Exit code: 0 accepted, 1 rejected, 2 error.

    Where the answer of a problem is symbols or a number, such as the value of an expression, the exit code is 0; a run
    that ends without an answer has the exit code 2.

    If the canvases of all steps do not fit into --limit, only the last one is stored, and the output says so.

    Example: [bold]unmask run models/random abba --planner uniform:1 --seed 3[/bold]
    """
    from unmask.console import answers_in_symbols, said_of, show_run
    from unmask.pipeline import load_model

    if word == "-" and sys.stdin is None:
        raise UnmaskError(
            "standard input is closed; give words on standard input, one per line, or a word instead of -"
        )
    if word == "-" and trace is not None:
        raise UnmaskError("--trace records the run of one word; give the word instead of -")
    if trace is not None:
        check_writable(trace, "trace.json", earlier=TRACE)
    with budgeted(None if word == "-" else "running", limit=limit, timeout=timeout, patience=1):
        runner = _Runner(load_model(folder), engine, planner, sample=sample, seed=seed, canvas=not no_canvas)
        if word == "-":
            raise typer.Exit(_run_lines(runner, tables, as_json=as_json))
        ran, seconds = runner.run(word, record=trace is not None)
        if trace is not None:
            write_text(trace, json.dumps(ran.to_json()), earlier=TRACE)
    if as_json:
        print_document(runner.document(ran, seconds))
    else:
        show_run(runner.model, ran, canvas=runner.canvas)
    answered = answers_in_symbols(runner.model) and said_of(runner.model, ran.output)[1]
    raise typer.Exit({True: 0, False: 1, None: 0 if answered else 2}[ran.accepted])


@dataclass(frozen=True)
class _Runner:
    """A model, and how its words are run."""

    model: "Model"
    engine: RunEngineName
    planner: str | None
    sample: bool
    seed: int
    canvas: bool

    @property
    def one_by_one(self) -> bool:
        """Whether words cannot be run together, or whoever types them waits for each answer."""
        return self.planner is not None or self.engine is RunEngineName.both or sys.stdin.isatty()

    def answers_alone(self, *, as_json: bool) -> bool:
        """Whether nothing but the last canvas of a plain run is printed."""
        plain = self.engine is RunEngineName.fast and not self.sample and not self.one_by_one
        return plain and not (as_json and self.canvas)

    def run(self, word: str, *, record: bool = False) -> tuple["Trace", float]:
        """(trace, seconds) of one word."""
        from unmask.pipeline import run_both, run_word

        options: dict[str, Any] = {name: getattr(self, name) for name in ("sample", "seed", "planner", "canvas")}
        start = time.perf_counter()
        if self.engine is RunEngineName.both:
            trace = run_both(self.model, word, **options)
        else:
            work = partial(run_word, self.model, word, engine=engine_named(self.engine), record=record, **options)
            is_slow = self.engine is RunEngineName.reference
            trace = foresee_time(work, "a run of the reference engine") if is_slow else work()
        return trace, time.perf_counter() - start

    def outcomes(self, words: Iterable[str | UnmaskError]) -> Iterator[tuple["Trace | UnmaskError", float]]:
        """(trace or error, seconds) of each word; words that are run together share their time."""
        from unmask.pipeline import run_words, words_at_once

        remaining = iter(words)
        if self.one_by_one:
            yield from map(self._outcome, remaining)
            return
        engine = engine_named(self.engine)
        together = words_at_once(self.model, engine, canvas=self.canvas)
        while batch := list(islice(remaining, together)):
            start, readable = time.perf_counter(), [word for word in batch if isinstance(word, str)]
            how = {"engine": engine, "sample": self.sample, "seed": self.seed, "canvas": self.canvas}
            traces = iter(run_words(self.model, readable, **how))
            share = (time.perf_counter() - start) / len(batch)
            yield from ((next(traces) if isinstance(word, str) else word, share) for word in batch)

    def _outcome(self, word: str | UnmaskError) -> tuple["Trace | UnmaskError", float]:
        try:
            return self.run(word) if isinstance(word, str) else (word, 0)
        except UnmaskError as error:
            return error, 0

    def document(self, trace: "Trace", seconds: float) -> dict[str, Any]:
        """What `--json` prints."""
        from unmask.pipeline import result

        return {**result(trace, canvas=self.canvas, outputs=self.outputs), "seconds": seconds}

    @cached_property
    def outputs(self) -> int:
        from unmask.pipeline import answer_count

        return answer_count(self.model)


def _run_lines(runner: _Runner, tables: bool | None, *, as_json: bool) -> int:
    """One line for each word of standard input; the exit code."""
    from unmask.console import said_of

    lines = lines_of(sys.stdin, runner.model)
    if runner.answers_alone(as_json=as_json) and tables is not False:
        from unmask.commands.many_words import decide_lines

        outputs = runner.outputs if as_json else None
        return decide_lines(runner.model, lines, engine_named(runner.engine), tables=tables, outputs=outputs)
    if tables:
        raise UnmaskError(
            "--tables gives the last canvas only, and only without --sample, --planner and another engine; "
            "add --no-canvas, or leave out --tables"
        )
    code = 0
    for outcome, seconds in runner.outcomes(lines):
        if isinstance(outcome, UnmaskError):
            code = 2
            print_document({"error": str(outcome)}) if as_json else say(f"error: {outcome}")
            continue
        said, good = said_of(runner.model, outcome.output)
        code = code if good else 2
        print_document(runner.document(outcome, seconds)) if as_json else say(said)
    return code
