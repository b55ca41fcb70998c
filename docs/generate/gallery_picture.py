"""Pictures of runs for the gallery: a square for every slot, by group and indices, coloured by the step that wrote it.

If slots are written once, there is one grid per group. If they are rewritten, there is a grid for every step, or a row
of one grid for every step if the group has one index, and a slot has the colour of the step in which it last changed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from unmask.traces.trace import Trace

SIDE, LETTER, GAP, MARGIN, MOST_LETTERS, MOST_FRAMES = 22, 7, 16, 12, 11, 32
EARLY, LATE = (219, 234, 254), (30, 58, 138)
FALSE, TRUE = "⊥", "⊤"
NEVER = 0  # used instead of a step: the colour of slots that are false
STYLE = (
    "text{font:11px ui-monospace,monospace;fill:#1f2937}.w{fill:#fff}.l{fill:#6b7280}.f{fill:#f3f4f6}"
    ".card{fill:#fff;stroke:#e5e7eb}"
    "@media (prefers-color-scheme:dark){.card{fill:#111827;stroke:#374151}.l{fill:#9ca3af}.f{fill:#1f2937}}"
)


@dataclass(frozen=True)
class Cell:
    """A slot in a picture: its row and column, its content, and the step that wrote the content."""

    row: int
    column: int
    text: str
    step: int


@dataclass(frozen=True)
class Grid:
    """The slots of a group after a step."""

    title: str
    cells: list[Cell]
    first: tuple[int, int] = (0, 0)  # the least indices
    beside: bool = False  # to the right of the grid before, and not below it

    @property
    def rows(self) -> int:
        return 1 + max(cell.row for cell in self.cells)

    @property
    def columns(self) -> int:
        return 1 + max(cell.column for cell in self.cells)

    @property
    def side(self) -> int:
        """The width of a square, which fits the longest text."""
        return max(SIDE, 8 + LETTER * max(len(cell.text) for cell in self.cells))


@dataclass
class Canvas:
    """The elements of a picture: squares by the step that gives their colour, and texts."""

    steps: int
    squares: dict[int, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    width: int = 0

    def square(self, x: int, y: int, side: int, step: int) -> None:
        self.squares.setdefault(step, []).append(f"M{x} {y}h{side - 1}v{SIDE - 1}h-{side - 1}z")
        self.width = max(self.width, x + side)

    def text(self, x: int, y: int, text: str, look: str = "", anchor: str = "") -> None:
        look = f' class="{look}"' if look else ""
        anchor = f' text-anchor="{anchor}"' if anchor else ""
        self.texts.append(f'<text x="{x}" y="{y}"{look}{anchor}>{escape(text)}</text>')
        if not anchor:
            self.width = max(self.width, x + LETTER * len(text))


def picture(trace: Trace, edits: bool, wrap: int = 0) -> str:
    """Return the run as an SVG; a group with one index continues in the next row after `wrap` slots."""
    groups = _groups(trace.slots, wrap)
    grids = list(_frames(trace, groups) if edits else _once(trace, groups))
    return _as_svg(grids, max(cell.step for grid in grids for cell in grid.cells))


def _groups(names: Sequence[str], wrap: int) -> dict[str, dict[int, tuple[int, int]]]:
    """Group → slot → (row, column), from names such as cell[2,5]. Names with a blank are rows that only read."""
    groups: dict[str, dict[int, tuple[int, int]]] = {}
    for slot, name in enumerate(names):
        if " " in name:
            continue
        group, _, inside = name.partition("[")
        indices = [int(index) for index in inside.rstrip("]").split(",")] if inside else [0]
        row = 0
        for index in indices[:-1]:
            row = 100 * row + index
        groups.setdefault(group, {})[slot] = (
            divmod(indices[-1], wrap) if wrap and len(indices) == 1 else (row, indices[-1])
        )
    return groups


def _once(trace: Trace, groups: dict[str, dict[int, tuple[int, int]]]) -> Iterator[Grid]:
    canvases = list(enumerate(trace.canvas_symbols, 1))
    when = {slot: t for t, canvas in reversed(canvases) for slot, symbol in enumerate(canvas) if symbol != trace.mask}
    for name, slots in groups.items():
        yield _grid(name, slots, trace.canvas_symbols[-1], when)


def _frames(trace: Trace, groups: dict[str, dict[int, tuple[int, int]]]) -> Iterator[Grid]:
    """The largest group after every step, as long as it changes."""
    name, slots = max(groups.items(), key=lambda item: len(item[1]))
    when = dict.fromkeys(slots, 0)
    flat = all(row == 0 for row, _ in slots.values())
    before: list[str] = [""] * len(trace.slots)
    cells: list[Cell] = []
    for t, canvas in enumerate(trace.canvas_symbols[:MOST_FRAMES], 1):
        changed = [slot for slot in slots if canvas[slot] != before[slot]]
        when.update(dict.fromkeys(changed, t))
        before = canvas
        if not changed:
            break
        if flat:
            cells += [Cell(t - 1, column, _short(canvas[slot]), when[slot]) for slot, (_, column) in slots.items()]
        else:
            yield _grid(f"{name}, step {t}", slots, canvas, when, beside=True)
    if flat:
        yield Grid(f"{name}, a row for every step", cells, (1, min(column for _, column in slots.values())))


def _grid(
    title: str,
    slots: dict[int, tuple[int, int]],
    canvas: Sequence[str],
    when: dict[int, int],
    *,
    beside: bool = False,
) -> Grid:
    top, left = min(row for row, _ in slots.values()), min(column for _, column in slots.values())
    cells = [
        Cell(row - top, column - left, _short(canvas[slot]), when.get(slot, 0)) for slot, (row, column) in slots.items()
    ]
    return Grid(title, cells, (top, left), beside)


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _as_svg(grids: list[Grid], steps: int) -> str:
    canvas = Canvas(steps)
    x = y = bottom = MARGIN
    for grid in grids:
        width = grid.columns * grid.side + 2 * LETTER + 4
        if not grid.beside or x + width > 960:
            x, y = MARGIN, bottom
        height = _draw(grid, canvas, x, y)
        bottom = max(bottom, y + height + GAP)
        x += width + GAP
    legend = [(f"step {step}", step) for step in sorted({1, (1 + steps) // 2, steps})]
    x = MARGIN
    for text, step in legend:
        canvas.square(x, bottom, SIDE, step)
        canvas.text(x + SIDE + 4, bottom + 15, text, "l")
        x += SIDE + LETTER * len(text) + GAP
    width, height = canvas.width + MARGIN, bottom + SIDE + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            'aria-label="The slots of a run, coloured by the step that wrote them.">',
            f"<style>{STYLE}</style>",
            f'<rect class="card" x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8"/>',
            *(f'<path {_colour(step, steps)} d="{"".join(d)}"/>' for step, d in sorted(canvas.squares.items())),
            *canvas.texts,
            "</svg>",
            "",
        ]
    )


def _draw(grid: Grid, canvas: Canvas, x: int, y: int) -> int:
    """Draw a grid with the numbers of its rows and columns; return its height."""
    canvas.text(x, y + 10, grid.title, "l")
    many_rows, many_columns = grid.rows > 1, grid.columns > 1
    left, top = x + (2 * LETTER + 4 if many_rows else 0), y + (32 if many_columns else 18)
    if many_columns:
        for column in range(grid.columns):
            middle = left + column * grid.side + grid.side // 2
            canvas.text(middle, top - 5, str(column + grid.first[1]), "l", "middle")
    for row in range(grid.rows if many_rows else 0):
        canvas.text(left - 4, top + row * SIDE + 15, str(row + grid.first[0]), "l", "end")
    for cell in grid.cells:
        at = left + cell.column * grid.side, top + cell.row * SIDE
        canvas.square(*at, grid.side, NEVER if cell.text == FALSE else cell.step)
        if cell.text not in (FALSE, TRUE):
            dark = "w" if 2 * cell.step > canvas.steps + 1 else ""
            canvas.text(at[0] + grid.side // 2, at[1] + 15, cell.text, dark, "middle")
    return top - y + grid.rows * SIDE


def _colour(step: int, steps: int) -> str:
    """Return the colour of a step, from light (first) to dark (last), as an attribute."""
    if step == NEVER:
        return 'class="f"'
    share, whole = step - 1, max(steps - 1, 1)
    mixed = (early + (late - early) * share // whole for early, late in zip(EARLY, LATE, strict=True))
    return f'fill="#{"".join(f"{channel:02x}" for channel in mixed)}"'
