"""`unmask run` and `unmask sample`: model folder × word → the canvas after every step, and the answer."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from unmask.cli.options import (
    DEFAULT_ENGINE,
    DEFAULT_LIMIT,
    EngineOption,
    Folder,
    Json,
    LimitOption,
    PlannerOption,
    SampleOption,
    SeedOption,
    TimeoutOption,
    budgeted,
    engine_named,
)
from unmask.cli.output_files import TRACE, check_writable, write_text
from unmask.cli.terminal import console, json_line, literal, print_document, say, say_lines
from unmask.errors import UnmaskError, WordError, visible
from unmask.limits import run_unless_long, stage

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.text import Text

    from unmask.api import Decided
    from unmask.engines.engine import Engine
    from unmask.reasoners.cached_run import CachedRun
    from unmask.traces.trace import Trace
    from unmask.weights.model import Model


# `unmask run DIR -`: answers for many words, one line each, computed in batches of thousands.


WORDS_AT_ONCE = 1 << 16


def decide_lines(
    model: "Model", words: Iterable[str | UnmaskError], engine: "Engine", *, tables: bool | None, outputs: int | None
) -> int:
    """Print one line per word and return the exit code.

    With `outputs`, the number of output bits of a circuit, each line is a JSON document. Batches are as large as the
    engine can hold, and larger once there are tables. A line that is not a word is printed as an error.
    """
    from unmask.api import decide_words
    from unmask.reasoners.run_words import words_at_once

    remaining, words_read, code, size = iter(words), 0, 0, words_at_once(model, engine)
    while batch := list(islice(remaining, size)):
        words_read += len(batch)
        start = time.perf_counter()
        readable = ["" if isinstance(word, UnmaskError) else word for word in batch]
        decided = decide_words(model, readable, engine=engine, tables=tables, expected=words_read)
        decided.errors.update({i: word for i, word in enumerate(batch) if isinstance(word, UnmaskError)})
        share = (time.perf_counter() - start) / len(batch)
        lines, answered = _text_lines(decided) if outputs is None else _json_lines(decided, outputs, share)
        say_lines(lines)
        code = code if answered and not decided.errors else 2
        size = max(size, WORDS_AT_ONCE) if decided.by == "tables" else size
    return code


def _text_lines(decided: "Decided") -> tuple[list[str], bool]:
    """Return one line per word, and whether every word has an answer."""
    texts = _answer_texts(decided, decided.model.stated_answers)
    lines = [line for line, _ in texts]
    for i, error in decided.errors.items():
        lines[i] = f"error: {error}"
    return lines, all(good for _, good in texts)


def _answer_texts(decided: "Decided", answers: int) -> list[tuple[str, bool]]:
    """Return (text, whether it is an answer) for each word; equal results are formatted once."""
    model, results = decided.model, {}
    ends = [tuple(tokens) for tokens in decided.slots[:, -answers:].tolist()]
    for end in ends:
        if end not in results:
            results[end] = answer_of(model, model.symbols(end))
    return [results[end] for end in ends]


def _json_lines(decided: "Decided", outputs: int, seconds: float) -> tuple[list[str], bool]:
    """Return the documents of `--json --no-canvas`; `by` is given if it is not the engine."""
    from unmask.traces.trace import outputs_of

    model, texts = decided.model, _answer_texts(decided, decided.model.stated_answers)
    lines, all_answered = [], True
    for i, (accepted, slots) in enumerate(zip(decided.accepted, decided.slots.tolist(), strict=True)):
        if i in decided.errors:
            lines.append(json_line({"error": str(decided.errors[i])}))
            continue
        output = model.symbols(slots)
        all_answered &= texts[i][1]
        document = {
            "accepted": accepted,
            "steps": model.steps,
            "length": model.length,
            "padding": model.padding,
            "output": output,
        }
        if 1 < outputs <= len(output):
            document["outputs"] = outputs_of(model, output[-outputs:])
        document["seconds"] = seconds
        if decided.by != "engine":
            document["by"] = decided.by
        lines.append(json_line(document))
    return lines, all_answered


# Read standard input line by line, without storing lines that are longer than any word of the model.


CHARACTERS_AT_ONCE = 1 << 16
BLANKS = 1 << 12  # characters beyond the symbols of a word that may separate them


def longest_line(model: "Model") -> int:
    """Return the length of the longest line that can be a word of the model."""
    widest = max((len(symbol) for symbol in model.input_symbols), default=1)
    return model.length * (widest + 1) + BLANKS


def lines_of(stream: TextIO, model: "Model") -> Iterator[str | UnmaskError]:
    """Yield lines without their newline; a line that is too long is an error."""
    longest = longest_line(model)
    while line := _read_at_most(stream, longest + 1):
        if len(line) <= longest or line.endswith("\n"):
            yield line.removesuffix("\n")
            continue
        size = len(line)
        while not line.endswith("\n") and (line := _read_at_most(stream, CHARACTERS_AT_ONCE)):
            size += len(line) - line.endswith("\n")
        yield WordError(
            f"the line has {size:,} characters, but the model reads words of length {model.length}; shorten it"
        )


def _read_at_most(stream: TextIO, most: int) -> str:
    try:
        return stream.readline(most)
    except OSError as error:  # a stream that can only be written, a terminal that is gone
        raise UnmaskError(
            f"standard input cannot be read: {error.strerror or error}; give words on standard input, one per line"
        ) from None


# `unmask run`: model folder × WORD → the canvas after every step, and accepted or rejected.


LONGEST_ROW = 120  # slots of a canvas that are printed


class RunEngineName(StrEnum):
    """The engines of `unmask run`: one of them, or two that are compared."""

    fast = "fast"
    reference = "reference"
    torch = "torch"
    both = "both"


WordArgument = Annotated[
    str,
    typer.Argument(
        metavar="WORD",
        help="The input word; `-` reads words from standard input, one per line.",
        show_default=False,
    ),
]
RunEngineOption = Annotated[
    RunEngineName,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Engine for the forward passes: fast, reference or torch; `both` compares fast and reference.",
    ),
]
TraceOption = Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write a record of the run as JSON.")]
NoCanvasOption = Annotated[bool, typer.Option("--no-canvas", help="Do not store or print the canvas.")]
TablesOption = Annotated[
    bool | None,
    typer.Option(
        "--tables/--no-tables",
        help="For many words: compute tables once and look answers up in them. By default where this is faster.",
        show_default=False,
    ),
]
CacheOption = Annotated[
    str | None,
    typer.Option(
        "--cache",
        metavar="POLICY",
        help="Use stale keys and values: prefix, dual, delayed or refresh:K; `dual:3` refreshes every 3 passes.",
    ),
]
BlockOption = Annotated[
    int | None, typer.Option("--block", metavar="B", min=1, help="With --cache: slots per block, in order.")
]
OrderOption = Annotated[
    str | None,
    typer.Option("--order", metavar="ORDER", help="With --cache: heap, reversed, skip, work, or slots such as 2,0,1."),
]
WorkOption = Annotated[
    str | None,
    typer.Option("--work", metavar="SLOTS", help="With --cache: slots that stand in the prompt, such as 8,9."),
]


def run(
    folder: Folder,
    word: WordArgument,
    engine: RunEngineOption = RunEngineName.fast,
    planner: PlannerOption = None,
    sample: SampleOption = False,
    seed: SeedOption = 0,
    trace: TraceOption = None,
    no_canvas: NoCanvasOption = False,
    tables: TablesOption = None,
    cache: CacheOption = None,
    block: BlockOption = None,
    order: OrderOption = None,
    work: WorkOption = None,
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
    from unmask.api import load_model

    _check_input(word, trace)
    if cache is None and (block is not None or order is not None or work is not None):
        raise UnmaskError("--block, --order and --work describe a run with a cache; add --cache")
    if cache is not None and (word == "-" or sample or planner or trace or engine is not RunEngineName.fast):
        raise UnmaskError(
            "--cache runs one word by the reference engine; leave out --engine, --planner, --sample and --trace, and "
            "give a word"
        )
    with budgeted(None if word == "-" else "running", limit=limit, timeout=timeout, patience=1):
        if cache is not None:
            code = _run_cached(load_model(folder), word, cache, block=block, order=order, work=work, as_json=as_json)
            raise typer.Exit(code)
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
    answered = answers_in_symbols(runner.model) and answer_of(runner.model, ran.output)[1]
    raise typer.Exit({True: 0, False: 1, None: 0 if answered else 2}[ran.accepted])


def _check_input(word: str, trace: Path | None) -> None:
    """Raise if the words cannot be read, or their trace cannot be written."""
    if word == "-" and sys.stdin is None:
        raise UnmaskError(
            "standard input is closed; give words on standard input, one per line, or a word instead of -"
        )
    if word == "-" and trace is not None:
        raise UnmaskError("--trace records the run of one word; give the word instead of -")
    if trace is not None:
        check_writable(trace, "trace.json", earlier=TRACE)


@dataclass(frozen=True)
class _Runner:
    """A model, and the way in which its words are run."""

    model: "Model"
    engine: RunEngineName
    planner: str | None
    sample: bool
    seed: int
    canvas: bool

    @property
    def one_by_one(self) -> bool:
        """Return whether each word is run alone: they cannot be run together, or a person types them and waits."""
        return self.planner is not None or self.engine is RunEngineName.both or sys.stdin.isatty()

    def prints_only_answers(self, *, as_json: bool) -> bool:
        """Return whether only the last canvas of a plain run is printed."""
        plain = self.engine is RunEngineName.fast and not self.sample and not self.one_by_one
        return plain and not (as_json and self.canvas)

    def run(self, word: str, *, record: bool = False) -> tuple["Trace", float]:
        """Run one word; return (trace, seconds)."""
        from unmask.api import run_both, run_word

        options: dict[str, Any] = {name: getattr(self, name) for name in ("sample", "seed", "planner", "canvas")}
        start = time.perf_counter()
        if self.engine is RunEngineName.both:
            trace = run_both(self.model, word, **options)
        else:
            work = partial(run_word, self.model, word, engine=engine_named(self.engine), record=record, **options)
            is_slow = self.engine is RunEngineName.reference
            trace = run_unless_long(work, "a run of the reference engine") if is_slow else work()
        return trace, time.perf_counter() - start

    def outcomes(self, words: Iterable[str | UnmaskError]) -> Iterator[tuple["Trace | UnmaskError", float]]:
        """Yield (trace or error, seconds) for each word; words that are run together share their time."""
        from unmask.api import run_words
        from unmask.reasoners.run_words import words_at_once

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
        """Return the document that `--json` prints."""
        from unmask.traces.trace import trace_result

        return {**trace_result(trace, canvas=self.canvas, outputs=self.outputs), "seconds": seconds}

    @cached_property
    def outputs(self) -> int:
        from unmask.verification.words.references import answer_count

        return answer_count(self.model)


def _run_lines(runner: _Runner, tables: bool | None, *, as_json: bool) -> int:
    """Print one line for each word of standard input; return the exit code."""
    lines = lines_of(sys.stdin, runner.model)
    if runner.prints_only_answers(as_json=as_json) and tables is not False:
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
        text, good = answer_of(runner.model, outcome.output)
        code = code if good else 2
        print_document(runner.document(outcome, seconds)) if as_json else say(text)
    return code


def answer_of(model: "Model", output: Sequence[str]) -> tuple[str, bool]:
    """Return (description of the result of a run that ends with these symbols, whether it is an answer)."""
    answers = model.plain(list(output[-model.stated_answers :]))
    verdict = verdict_of(model, output[-1])
    if len(answers) == 1 and (verdict[1] or not model.notes_answers):
        return verdict
    allowed = model.problem.get("symbols")
    if isinstance(allowed, list):  # the possible answers; folders of older versions do not list them
        wrong = next((symbol for symbol in answers if symbol not in (*allowed, model.accept, model.reject)), None)
        if wrong is not None and wrong != model.mask:
            return f"undecided: {' '.join(answers)}, and {wrong!r} is not an answer of the program", False
    return f"answer: {' '.join(answers)}", model.mask not in answers


def verdict_of(model: "Model", last: str) -> tuple[str, bool]:
    """Like `answer_of`, for the last symbol alone: a verdict, or the value of an expression."""
    from unmask.reasoners.typed_words import is_value

    symbol = model.aliases.get(last, last)
    if symbol in (model.accept, model.reject):
        return "accepted" if symbol == model.accept else "rejected", True
    if is_value(symbol, model.vocabulary):
        return f"= {symbol}", True
    stands_for = f", which means {symbol!r}" if symbol != last else ""
    return f"undecided: the last symbol is {last!r}{stands_for}, neither {model.accept!r} nor {model.reject!r}", False


def answers_in_symbols(model: "Model") -> bool:
    """Return whether answers may be other symbols than accept and reject: for a program or an expression."""
    return model.notes_answers or model.problem_fields.get("kind") == "expression"


def show_run(model: "Model", trace: "Trace", *, canvas: bool) -> None:
    """Print the canvas after every step, with freshly written slots highlighted, then the answer."""
    from rich.text import Text

    from unmask.reasoners.typed_words import reads_expressions

    out = console()
    if canvas:
        expression = reads_expressions(model.input_symbols)
        gap = "" if expression or all(len(s) == 1 for s in trace.vocabulary) else " "
        input_cells = [Text(visible(symbol)) for symbol in model.symbols(trace.word)]
        _show_row(out, "input ", _separated(input_cells) if expression else input_cells, gap)
        if trace.left_out is not None:
            out.print(literal(trace.left_out))
        first = 1 + trace.steps_taken - len(trace.canvas)
        for t, (tokens, chosen) in enumerate(zip(trace.canvas, trace.chosen, strict=True), start=first):
            name = "answer" if model.kind == "plt" else f"step {t:>2}"
            cells = _slot_cells(model, trace, tokens, chosen)
            _show_row(out, name, _separated(cells) if expression else cells, gap)
    text, good = answer_of(model, trace.output)
    style = {True: "bold green", False: "bold yellow", None: "bold green" if good else "bold red"}
    steps = f"{trace.steps_taken} step{'' if trace.steps_taken == 1 else 's'}"
    out.print(f"[{style[trace.accepted]}]{literal(text)}[/] after {steps}")


def _show_row(out: "Console", name: str, cells: list["Text"], gap: str) -> None:
    """Print cells in one line; on a terminal wrapped between cells, under the first one."""
    from rich.text import Text

    lines, available = [Text.assemble((name, "dim"), " ")], out.width - len(name) - 1 if out.is_terminal else None
    used = 0
    for cell in cells:
        cell_width = cell.cell_len + (len(gap) if used else 0)
        if available is not None and used and used + cell_width > available:
            lines.append(Text(" " * (len(name) + 1)))
            used, cell_width = 0, cell.cell_len
        lines[-1].append(gap if used else "").append_text(cell)
        used += cell_width
    for line in lines:
        out.print(line)


def _separated(cells: list["Text"]) -> list["Text"]:
    """Put a blank between two symbols of an expression that would otherwise read as one number."""
    from rich.text import Text

    from unmask.reasoners.typed_words import blank_between

    before = [Text("("), *cells]
    return [Text(" " * blank_between(x.plain, y.plain, "·")) + y for x, y in zip(before, cells, strict=False)]


def _slot_cells(model: "Model", trace: "Trace", tokens: "np.ndarray", chosen: "np.ndarray") -> list["Text"]:
    """Return the slots as text without markup, because symbols such as [ and ] would be read as tags."""
    from rich.text import Text

    cells = [
        Text("·" if symbol == model.mask else visible(symbol), style="bold reverse" if fresh else "")
        for symbol, fresh in zip(trace.symbols(tokens[:LONGEST_ROW]), chosen[:LONGEST_ROW], strict=True)
    ]
    return [*cells, Text(f"… {tokens.size - LONGEST_ROW} more")] if tokens.size > LONGEST_ROW else cells


# `unmask run DIR WORD --cache POLICY`: which reads of a cached run are stale, and which decisions they change.


MOST_CHANGES = 5  # changed decisions that are printed


def _run_cached(
    model: "Model", word: str, cache: str, *, block: int | None, order: str | None, work: str | None, as_json: bool
) -> int:
    """Print the run of one word, and return the exit code: 0 accepted, 1 rejected, 2 without an answer."""
    from unmask.export.export_task import slot_order, work_slots
    from unmask.reasoners.cached_run import CachePolicy, CanvasLayout, cached_run, longest_interval
    from unmask.reasoners.typed_words import read_word

    policy, tokens = CachePolicy.parse(cache), read_word(model, word)
    slots = None if order is None else slot_order(model, order)
    layout = CanvasLayout.of(model, order=slots, block=block, work=[*work_slots(model, order), *_slot_numbers(work)])
    run = cached_run(model, tokens, policy, layout)
    longest = longest_interval(model, tokens, policy, layout)
    if as_json:
        print_document({**run.to_json(), "longest_lossless_interval": longest})
    else:
        _show_cached_run(run, longest)
    return {True: 0, False: 1, None: 2}[run.accepted]


def _slot_numbers(text: str | None) -> list[int]:
    numbers = [] if text is None else text.split(",")
    if not all(number.strip().isascii() and number.strip().isdigit() and len(number) < 9 for number in numbers):
        raise UnmaskError(f"--work {text!r} is not a list of slots; give numbers such as 8,9,10,11")
    return [int(number) for number in numbers]


def _show_cached_run(run: "CachedRun", longest: int | None) -> None:
    out, model = console(), run.model
    for number, tokens in enumerate(run.canvas, start=1):
        symbols = ("·" if symbol == model.mask else symbol for symbol in model.symbols(tokens.tolist()))
        out.print(literal(f"pass {number:>2} {' '.join(symbols)}"))
    answer = {True: "accepted", False: "rejected", None: "undecided"}[run.accepted]
    passes = f"{len(run.canvas)} pass{'' if len(run.canvas) == 1 else 'es'}"
    out.print(literal(f"{answer} after {passes} with the cache {run.policy}"))
    if run.stale_reads:
        read = run.stale_reads[0]
        out.print(
            literal(
                f"first of {len(run.stale_reads)} stale reads: pass {read.step + 1}, {read.transformer}, layer "
                f"{read.layer}, head {read.head}: row {read.row} reads row {read.source}, register {read.register}"
            )
        )
    for change in run.changed[:MOST_CHANGES]:
        out.print(
            literal(
                f"changed decision: pass {change.step + 1}, slot {change.slot}: {change.actual} instead of "
                f"{change.expected}"
            )
        )
    if len(run.changed) > MOST_CHANGES:
        out.print(f"and {len(run.changed) - MOST_CHANGES} more")
    if run.lossless:
        out.print("lossless: every decision is that of a pass without a cache")
    if longest is not None:
        often = "every pass" if longest == 1 else f"at least every {longest} passes"
        out.print(f"on this word the cache is lossless if all rows are computed anew in {often}")


# `unmask sample`: model folder → sampled strings.


def sample(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", metavar="K", min=1, help="Number of strings.")] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="String i uses the seed S + i.")] = 0,
    law: Annotated[bool, typer.Option("--law", help="Print the exact probability of every string instead.")] = False,
    engine: EngineOption = DEFAULT_ENGINE,
    limit: LimitOption = DEFAULT_LIMIT,
    timeout: TimeoutOption = None,
    as_json: Json = False,
) -> None:
    """Sample strings from a model that reads no input (length 0), one per line.

    With --law, the probabilities are computed from the logits of every canvas that can be reached (mdm and smdm). They
    are rational numbers, exact over all noise tapes.

    Example: [bold]unmask sample models/language --count 5 --seed 1[/bold]
    """
    if law:
        with budgeted("enumerating" if as_json else None, limit=limit, timeout=timeout):
            _print_law(folder, engine_named(engine), as_json=as_json)
        return
    from unmask.api import generate, load_model, sample_in
    from unmask.reasoners.typed_words import join_symbols

    samples = []
    with budgeted("sampling" if as_json else None, limit=limit, timeout=timeout):
        model = load_model(folder)
        for i in stage("sampling", range(count), count):
            output = sample_in(model, generate(model, seed=seed + i, engine=engine_named(engine)).output)
            if as_json:
                samples.append({"seed": seed + i, "output": output})
            else:
                say(join_symbols(model, output))
    if as_json:
        print_document({"samples": samples})


def _print_law(folder: Path, engine: "Engine", *, as_json: bool) -> None:
    """Print every string that the model can write with its exact probability, the likeliest first."""
    from unmask.api import load_model, sample_law

    law = sample_law(load_model(folder), engine=engine)
    rows = sorted(law.items(), key=lambda row: (-row[1], row[0]))
    if as_json:
        print_document({"law": [{"output": text, "probability": str(p)} for text, p in rows]})
        return
    for text, probability in rows:
        millionths = round(probability * 10**6)
        say(f"{text}  {millionths // 10**6}.{millionths % 10**6:06d}")
