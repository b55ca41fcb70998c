"""Who looks on: colours and bars on a terminal, plain text in a pipe, nothing with --quiet.

`rich` obeys `NO_COLOR` and `TERM=dumb`. With `NO_COLOR` bold and reversed text stay: they are no colours, and the
freshly written slots of a canvas are told by them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `--help` asks for none of it
    from rich.console import Console

WIDEST = 120  # columns of a table in a pipe

_quiet = False


def be_quiet(quiet: bool) -> None:
    """Whether all that follows is silent but for documents, samples, one line per word, and errors."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    return _quiet


def console(*, stderr: bool = False) -> "Console":
    """Lines are folded between words on a terminal, and never in a pipe."""
    from rich.console import Console

    out = Console(highlight=False, quiet=_quiet, stderr=stderr)
    out.soft_wrap = not out.is_terminal
    return out


def progress(items: Iterable[Any], *, total: int, label: str) -> Iterator[Any]:
    """The items, with a bar on a terminal and nothing in a pipe."""
    out = console(stderr=True)
    if not out.is_terminal or _quiet:
        yield from items
        return
    from rich.progress import track

    yield from track(items, total=total, description=label, console=out, transient=True)


def working(label: str) -> AbstractContextManager[Any]:
    """A sign of life on a terminal while something runs whose end is not known."""
    out = console(stderr=True)
    return out.status(label) if out.is_terminal and not _quiet else nullcontext()


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str]) -> None:
    """Rows of markup under the columns, those in `left` ranged left; in a narrow terminal a paragraph per row.

    No cell is ever cut: where the table does not fit, every value stands behind the name of its column.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.measure import measure_renderables
    from rich.padding import Padding
    from rich.table import Table

    out = console()
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=0)
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    ample = Console(highlight=False, quiet=_quiet, width=10_000)
    needed = measure_renderables(ample, ample.options, [table]).maximum
    if not out.is_terminal:
        Console(highlight=False, quiet=_quiet, width=max(needed, WIDEST)).print(table)
    elif needed <= out.width:
        out.print(table)
    else:
        out.print(f"[italic]{title}[/italic]")
        for first, *others in rows:
            out.print(f"[bold]{first}[/bold]")
            named = (f"[dim]{name}[/dim] {value}" for name, value in zip(columns[1:], others, strict=True))
            out.print(Padding(", ".join(named), (0, 0, 0, 2)))
