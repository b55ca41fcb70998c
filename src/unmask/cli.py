"""The command line: one command per arrow; parsing and printing only."""

import io
import json
import os
import sys
import time
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from unmask.errors import FolderError, UnmaskError
from unmask.weights.model import KINDS

app = typer.Typer(
    name="unmask",
    help="Compile problems into masked diffusion models, run them bit by bit, and prove what they can do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

KindName = StrEnum("KindName", {kind: kind for kind in KINDS})


class EngineName(StrEnum):
    fast = "fast"
    reference = "reference"


class RunEngineName(StrEnum):
    fast = "fast"
    reference = "reference"
    both = "both"


DEFAULT_ENGINE = EngineName.fast


Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="`regex:(a|b)*abb` or a bare regex, `group:A5`, `dfa:FILE`, `aiger:FILE`, `family:NAME`, `random:SEED`.",
        show_default=False,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="What computes a forward pass.")]


@app.command("compile")
def compile_(
    problem: Problem,
    to: Annotated[KindName, typer.Option("--to", help="The framework to compile to.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write.", show_default=False)],
    length: Annotated[
        int | None,
        typer.Option("--length", metavar="N", help="Length of the words; a circuit implies it.", show_default=False),
    ] = None,
    precision: Annotated[int, typer.Option("--precision", metavar="P", min=1, max=8, help="p of F_p.")] = 2,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM into a model folder.

    Example: [bold]unmask compile '(a|b)*abb' --length 16 --to mdm --out models/abb[/bold]
    """
    from unmask.console import show_compiled
    from unmask.pipeline import check_replaceable, compile_problem, save_model

    check_replaceable(out)
    model = compile_problem(problem, KINDS[[*KindName].index(to)], length=length, precision=precision)
    save_model(model, out)
    show_compiled(model, out, as_json=as_json)


@app.command()
def run(
    folder: Folder,
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word; `-` reads one per line.", show_default=False)],
    engine: Annotated[
        RunEngineName, typer.Option("--engine", help="What computes a forward pass; `both` compares the two.")
    ] = RunEngineName.fast,
    planner: Annotated[
        str | None,
        typer.Option("--planner", metavar="NAME", help="Replace the planner: uniform:K, confidence:K, threshold:X, …"),
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw symbols instead of taking the likeliest.")] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of the noise tape.")] = 0,
    trace: Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write all that happened.")] = None,
    no_canvas: Annotated[bool, typer.Option("--no-canvas", help="Do not keep or print the canvas.")] = False,
    as_json: Json = False,
) -> None:
    """Run a model on WORD. Exit code: 0 accepted, 1 rejected, 2 error.

    Example: [bold]unmask run models/random abba --planner uniform:1 --seed 3[/bold]
    """
    from unmask.console import show_run, verdict_line
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
                failed |= done.accepted is None
                document = {**result(done, canvas=not no_canvas, outputs=outputs), "seconds": seconds}
                print(json.dumps(document) if as_json else verdict_line(done), flush=True)
        raise typer.Exit(2 if failed else 0)

    done, seconds = one(word, record=trace is not None)
    if trace is not None:
        _write_text(trace, json.dumps(done.to_json()))
    if as_json:
        print(json.dumps({**result(done, canvas=not no_canvas, outputs=outputs), "seconds": seconds}))
    else:
        show_run(model, done, canvas=not no_canvas)
    raise typer.Exit({True: 0, False: 1, None: 2}[done.accepted])


@app.command("convert")
def convert_(
    folder: Folder,
    to: Annotated[KindName, typer.Option("--to", help="The framework to convert to.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR2", help="Folder to write.", show_default=False)],
    by: Annotated[str | None, typer.Option("--by", metavar="STEM", help="The theorem, such as mdm_to_plt.")] = None,
    as_json: Json = False,
) -> None:
    """Convert a model into another framework, weight by weight, and print the price of every hop.

    Example: [bold]unmask convert models/abb --to plt --out models/abb-plt[/bold]
    """
    from unmask.console import show_hop
    from unmask.pipeline import check_replaceable, convert_model, load_model, save_model

    model = load_model(folder)
    check_replaceable(out)
    if out.exists() and out.resolve() == folder.resolve():
        raise UnmaskError(f"--out names the source itself, {out}, which would be lost; choose another name")
    hops = []
    for theorem, conversion in convert_model(model, KINDS[[*KindName].index(to)], by=by):
        hops.append(show_hop(theorem, model, conversion.model, quiet=as_json))
        model = conversion.model
    save_model(model, out)
    if as_json:
        print(json.dumps({"folder": str(out), "hops": hops}))


@app.command()
def compare(
    problem: Problem,
    lengths: Annotated[str, typer.Option("--lengths", metavar="N,N,…", help="Lengths of the words.")] = "8,16,32",
    precision: Annotated[int, typer.Option("--precision", metavar="P", min=1, max=8, help="p of F_p.")] = 2,
    engine: EngineOption = DEFAULT_ENGINE,
    as_json: Json = False,
) -> None:
    """Compile PROBLEM for every framework and length, and measure what each takes, beside its bound.

    Example: [bold]unmask compare group:A5 --lengths 8,64[/bold]
    """
    from unmask.console import progress, show_comparison
    from unmask.pipeline import ENGINES, compare_frameworks, compiler_of

    wanted = _lengths(lengths)
    measured = compare_frameworks(problem, wanted, precision=precision, engine=ENGINES[engine.value]())
    rows = list(progress(measured, total=len(wanted) * len(compiler_of(problem).kinds), label="measuring"))
    if as_json:
        print(json.dumps([row.to_json() for row in rows]))
    else:
        show_comparison(problem, rows)
    wrong = [row for row in rows if row.correct is False or not row.within_bound]
    raise typer.Exit(1 if wrong else 0)


@app.command()
def verify(
    folder: Folder,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="PROBLEM|DIR", help="Compare with this instead of the folder's own problem."),
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", metavar="exhaustive|sample", help="By default all words where few.")
    ] = None,
    cases: Annotated[int, typer.Option("--cases", metavar="K", min=1, help="Words of a sample.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of a sample.")] = 0,
    engine: EngineOption = DEFAULT_ENGINE,
    as_json: Json = False,
) -> None:
    """Compare a model with its problem. Exit code: 0 proved or held, 1 refuted, 2 error or unknown.

    Example: [bold]unmask verify models/abb --method exhaustive[/bold]
    """
    from unmask.console import show_verdict
    from unmask.pipeline import ENGINES, load_model, verify_model

    other = load_model(against) if against is not None and (Path(against) / "config.json").is_file() else against
    start = time.perf_counter()
    verdict = verify_model(
        load_model(folder), against=other, method=method, cases=cases, seed=seed, engine=ENGINES[engine.value]()
    )
    seconds = time.perf_counter() - start
    if as_json:
        print(json.dumps({**verdict.to_json(), "seconds": seconds}))
    else:
        show_verdict(verdict)
    raise typer.Exit(verdict.exit_code)


@app.command()
def paper(
    label: Annotated[
        str | None, typer.Argument(metavar="LABEL", help="One item, such as thm:lts-mdms.", show_default=False)
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Run every check now instead of reading the record.")] = False,
    as_json: Json = False,
) -> None:
    """List what the paper says and what was run to check it, or explain one item. Exit code 1: a check failed.

    Example: [bold]unmask paper thm:lts-mdms --check[/bold]
    """
    from unmask.console import progress
    from unmask.paper.item import Effort
    from unmask.paper.items import ITEMS, find
    from unmask.paper.report import examine_all, recorded
    from unmask.paper.show import explain, show_items

    items = ITEMS if label is None else (find(label),)
    found = progress(examine_all(items, Effort()), total=len(items), label="checking") if check else recorded(items)
    findings = list(found)
    if as_json:
        print(json.dumps([finding.to_json() for finding in findings]))
    elif label is None:
        show_items(findings, checked=check)
    else:
        explain(findings[0], checked=check)
    raise typer.Exit(1 if any(finding.failed for finding in findings) else 0)


@app.command()
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


def _lengths(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() and len(part) < 8 for part in parts):
        raise UnmaskError(f"--lengths takes numbers separated by commas, such as 8,16,32, not {text!r}")
    return [int(part) for part in parts]


def _lines(stream) -> Any:
    """Lines of standard input, with only the newline stripped, and no other character taken for one."""
    for line in stream:
        yield line.removesuffix("\n")


def _write_text(path: Path, text: str) -> None:
    """A file whole or not at all; a device or a pipe as it is, for moving a file there would replace it."""
    scratch = path.parent / f".unmask-{os.getpid()}.tmp"
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise FolderError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            scratch.unlink()


def main() -> NoReturn:
    """`unmask` as a command: an error is one sentence and exit code 2."""
    # U+0085 and friends are no line ends here, and a byte that is not UTF-8 must not stop the stream
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    try:
        code = app(standalone_mode=False) or 0
    except UnmaskError as error:
        code = _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        code = 2
    except KeyboardInterrupt:
        code = _fail("interrupted")
    except MemoryError:
        code = _fail("out of memory; use a smaller model or a shorter word")
    except typer.TyperException as error:  # a wrong option, a missing argument
        reason = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
        code = _fail(f"{reason}; see `unmask --help`") if reason else 2  # no command at all: the help was shown
    sys.exit(code)


def _fail(sentence: str) -> int:
    if "--json" in sys.argv:
        print(json.dumps({"error": sentence}))
    print(f"unmask: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
