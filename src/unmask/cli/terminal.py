"""Output: colours and progress bars on a terminal, plain text in a pipe, nothing with --quiet.

`rich` obeys `NO_COLOR` and `TERM=dumb`. With `NO_COLOR`, bold and reversed text remain, because they mark the freshly
written slots of a canvas.
"""

import io
import json
import re
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from unmask.errors import visible

if TYPE_CHECKING:  # `--help` needs none of it
    from rich.console import Console

WIDEST = 120  # columns of a table in a pipe
_LINES = re.compile("([\n\t])")

_quiet = False


def set_quiet(quiet: bool) -> None:
    """Switch off all later output except JSON documents, samples, one line per word, and errors."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Return whether `--quiet` was given."""
    return _quiet


def console(*, stderr: bool = False) -> "Console":
    """Return a console that wraps lines between words on a terminal, and never in a pipe."""
    out = _console_class()(highlight=False, quiet=_quiet, stderr=stderr, file=stream(stderr=stderr))
    out.soft_wrap = not out.is_terminal
    return out


@cache
def _console_class() -> "type[Console]":
    """Return a console class that shows control characters by their number, except newlines and styles of `rich`.

    Our own text is markup and may contain newlines. Text from files and arguments is inserted with `literal`, which
    escapes newlines and tags as well.
    """
    from rich.console import Console

    class CarefulConsole(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(_without_controls(part) if isinstance(part, str) else part for part in objects), **options)

    return CarefulConsole


def _without_controls(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def literal(text: object) -> str:
    """Return markup that shows a text from outside as it is, in one line: no tag, no newline, no control character."""
    from rich.markup import escape

    return escape(visible(str(text)))


def say(*cells: str, stderr: bool = False) -> None:
    """Print one line of plain text, even with --quiet; cells are separated by tabs."""
    print("\t".join(map(visible, cells)), file=sys.stderr if stderr else sys.stdout, flush=True)


def say_lines(lines: Iterable[str]) -> None:
    """Print many lines of plain text at once, even with --quiet."""
    print("\n".join(map(visible, lines)), flush=True)


def print_document(document: Any) -> None:
    """Print one line of JSON."""
    print(json_line(document), flush=True)


def json_line(document: Any) -> str:
    """Return JSON in ASCII; unprintable characters, including DEL, are JSON escapes."""
    return json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f")


def working(label: str) -> AbstractContextManager[Any]:
    """Show a spinner on a terminal while something of unknown duration runs."""
    out = console(stderr=True)
    return out.status(label) if out.is_terminal and not _quiet else nullcontext()


@contextmanager
def bars(label: str | None, patience: int = 0) -> Generator[Callable[[list[Any]], None] | None]:
    """Show a bar with an estimate for every open stage of a budget, or a spinner if no stage is open.

    Nothing is shown in a pipe or without a label. With patience, bars appear after that many seconds.
    """
    out = console(stderr=True)
    if label is None or not out.is_terminal or _quiet:
        yield None
        return
    from rich import progress as rich

    columns = (rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TaskProgressColumn())
    columns = (*columns, rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    # output goes to its own stream, not through the bars
    progress = rich.Progress(*columns, console=out, transient=True, redirect_stdout=False, redirect_stderr=False)
    waiting, tasks, start = progress.add_task(label, total=None), {}, monotonic()

    def show(stages: list[Any]) -> None:
        if monotonic() - start >= patience:
            progress.start()
        for closed in [stage for stage in tasks if stage not in stages]:
            progress.remove_task(tasks.pop(closed))
        for stage in stages:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage.label, total=stage.total)
            progress.update(tasks[stage], completed=stage.done)
        progress.update(waiting, visible=not tasks)

    try:
        show([])
        yield show
    finally:
        progress.stop()


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str]) -> None:
    """Print rows of markup as a table; the columns in `left` are aligned left.

    No cell is ever cut. If the table is wider than the terminal, each row becomes a paragraph of names and values.
    """
    from rich.box import SIMPLE_HEAD
    from rich.measure import measure_renderables
    from rich.padding import Padding
    from rich.table import Table

    out = console()
    title, rows = visible(title), [tuple(map(visible, row)) for row in rows]
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=0)
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    ample = _console_class()(highlight=False, quiet=_quiet, width=10_000)
    needed = measure_renderables(ample, ample.options, [table]).maximum
    if not out.is_terminal:
        wide = _console_class()(highlight=False, quiet=_quiet, width=max(needed, WIDEST))
        with wide.capture() as captured:
            wide.print(table)
        print("\n".join(line.rstrip() for line in captured.get().split("\n")), end="", flush=True)
    elif needed <= out.width:
        out.print(table)
    else:
        out.print(f"[italic]{title}[/italic]")
        for first, *values in rows:
            out.print(f"[bold]{first}[/bold]")
            named = (f"[dim]{name}[/dim] {value}" for name, value in zip(columns[1:], values, strict=True))
            out.print(Padding(", ".join(named), (0, 0, 0, 2)))


class EscapingStream(io.TextIOBase):
    """A text stream for the output of a user's program, which shows control characters by their number."""

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind

    def write(self, text: str) -> int:
        self.behind.write("".join(piece if piece in "\n\t" else visible(piece) for piece in _LINES.split(str(text))))
        return len(text)

    def flush(self) -> None:
        self.behind.flush()

    def isatty(self) -> bool:
        return self.behind.isatty()

    def fileno(self) -> int:
        return self.behind.fileno()

    def writable(self) -> bool:
        return True


@contextmanager
def escaped_streams() -> Generator[None]:
    """Escape what is printed to standard output and standard error; consoles use `stream` and are not affected."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = EscapingStream(stream()), EscapingStream(stream(stderr=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def escape_to_the_end() -> None:
    """Escape what is printed while the interpreter ends."""
    sys.stdout, sys.stderr = EscapingStream(sys.stdout), EscapingStream(sys.stderr)


def stream(*, stderr: bool = False) -> TextIO:
    """Return the stream for our own output, which may hold colours and move the cursor."""
    out: Any = sys.stderr if stderr else sys.stdout
    while isinstance(out, EscapingStream):
        out = out.behind
    return out
