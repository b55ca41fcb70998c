"""Series → an SVG plot that stands alone: points with their spread, joined by lines, in panels of the same axes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, hypot, log2

from unmask.lab.result_rows import Spread

LEFT, TOP, BOTTOM, BETWEEN, INSET = 60, 52, 46, 16, 10
LINE, LETTER, TITLE_LETTER = 16, 7, 9  # a line of the legend; the widest that a letter is, on average
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
GREY = "#777"
COLOURS = ("#0072b2", "#d55e00", "#00795a", "#a8508a", "#b87d00", "#2d2d2d", "#4aa3d9", "#7a5c00")
SHAPES = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "M-3.2-3.2h6.4v6.4h-6.4z",
    "M0-4.6L4.4 3.2H-4.4z",
    "M0-4.8L4.8 0L0 4.8L-4.8 0z",
    "M0 4.6L4.4-3.2H-4.4z",
)  # as many as have no divisor in common with the colours: only after all pairs does one come again
BAND = 'stroke="#c8c8c8" stroke-width="4"'  # seen on both sides of a line that lies on it
HOLLOW = "a seed is not above 0"


@dataclass(frozen=True)
class PlotAxis:
    """From `low` to `high`, with labels at some values; by powers of two if `log`; of names, series stand apart."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    apart: bool = False

    def share(self, value: float) -> float:
        """0 at `low`, 1 at `high`; a logarithm has no place below `low`."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return log2(max(value, self.low) / self.low) / log2(self.high / self.low)

    def holds(self, spread: Spread) -> bool:
        """Whether every seed has a place: on an axis by powers, those above 0."""
        return not self.log or spread.low > 0


def shares(name: str) -> PlotAxis:
    return PlotAxis(name, 0, 1, tuple((tick / 4, f"{tick / 4:g}") for tick in range(5)))


def powers(name: str, values: Sequence[float]) -> PlotAxis:
    """Ticks at powers of two, or of four where they are many, that hold all values."""
    low, high = floor(log2(min(values))), -floor(-log2(max(values)))
    high = max(high, low + 1)
    every = 1 + (high - low) // 9
    ticks = tuple((2.0**e, _power(e)) for e in range(low, high + 1, every))
    return PlotAxis(name, 2.0**low, 2.0**high, ticks, log=True)


def _power(exponent: int) -> str:
    return f"{2**exponent}" if exponent >= 0 else "2" + str(exponent).translate(RAISED)


def names(title: str, values: Sequence[str]) -> PlotAxis:
    return PlotAxis(title, -0.5, len(values) - 0.5, tuple(enumerate(values)), apart=True)


@dataclass(frozen=True)
class Series:
    """Points with a mark of their own; what was not measured is a band without marks."""

    name: str
    points: tuple[tuple[float, Spread], ...]
    joined: bool = True
    measured: bool = True


def level(name: str, across: PlotAxis, value: float) -> Series:
    """The same from one end of the axis to the other."""
    return Series(name, tuple((x, Spread((value,))) for x in (across.low, across.high)), measured=False)


@dataclass(frozen=True)
class PlotPanel:
    """One of several plots with the same axes, and its heading."""

    name: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Mark:
    """How a series looks, and how far right of its values it stands."""

    colour: str
    shape: str
    aside: float = 0.0

    def at(self, x: float, y: float, *, scale: float = 1.0, hollow: bool = False) -> str:
        fill, stroke = ("white", self.colour) if hollow else (self.colour, "white")
        place = f"translate({x:.1f} {y:.1f}) scale({scale:.2f})"
        line = f'stroke="{stroke}" stroke-width="{0.8 / scale:.2f}"'
        return f'<path d="{self.shape}" transform="{place}" fill="{fill}" {line}/>'


@dataclass(frozen=True)
class PlotFrame:
    """A panel's place: values → points of the picture."""

    left: float
    top: float
    width: float
    height: float
    across: PlotAxis
    up: PlotAxis

    def x_of(self, value: float) -> float:
        return self.left + INSET + self.across.share(value) * (self.width - 2 * INSET)

    def y_of(self, value: float) -> float:
        return self.top + self.height - self.up.share(value) * self.height

    def drawn(self, panel: PlotPanel, marks: dict[str, Mark], *, first: bool) -> Iterator[str]:
        """The grid, lines, bars, marks; values are named in the first panel of a row."""
        right, bottom = self.left + self.width, self.top + self.height
        yield f'<path d="M{self.left} {self.top}V{bottom}H{right}V{self.top}" fill="none" stroke="#e4e4e4"/>'
        for value, label in self.up.ticks:
            yield f'<path d="M{self.left} {self.y_of(value):.1f}H{right}" stroke="#e4e4e4"/>'
            if first:
                yield _text(self.left - 6, self.y_of(value) + 4, label, "end")
        yield from (_text(self.x_of(value), bottom + 15, label) for value, label in self.across.ticks)
        if panel.name:
            yield _text(self.left, self.top - 9, panel.name, "start")
        if not any(one.points for one in panel.series if one.measured):
            yield _text(self.left + self.width / 2, self.top + self.height / 2, "not run")
            return
        for one in sorted(panel.series, key=lambda one: one.measured):
            yield from self._lines(one, marks[one.name])
        yield from self._marks(panel, marks)

    def _lines(self, one: Series, mark: Mark) -> Iterator[str]:
        """Between points that have a place, and from the smallest seed to the largest."""
        runs: list[list[str]] = [[]]
        for value, spread in one.points:
            x = self.x_of(value) + mark.aside
            if self.up.holds(spread):
                runs[-1].append(f"{x:.1f},{self.y_of(spread.mean):.1f}")
            else:
                runs.append([])
            if spread.low < spread.high:
                ends = f"M{x:.1f} {self.y_of(spread.low):.1f}V{self.y_of(spread.high):.1f}"
                yield f'<path d="{ends}" stroke="{mark.colour}"/>'
        line = f'stroke="{mark.colour}"' if one.measured else BAND
        for run in runs:
            if one.joined and len(run) > 1:
                yield f'<polyline points="{" ".join(run)}" fill="none" {line}/>'

    def _marks(self, panel: PlotPanel, marks: dict[str, Mark]) -> Iterator[str]:
        """A mark that another will cover is larger, so that it is seen around it."""
        placed = []
        for one in panel.series:
            for value, spread in one.points if one.measured else ():
                holds = self.up.holds(spread)
                y = self.y_of(spread.mean if holds else self.up.low)
                placed.append((self.x_of(value) + marks[one.name].aside, y, marks[one.name], not holds))
        for place, (x, y, mark, hollow) in enumerate(placed):
            covering = sum(hypot(x - other[0], y - other[1]) < 2 for other in placed[place + 1 :])
            yield mark.at(x, y, scale=1 + 0.35 * covering, hollow=hollow)


def plot(title: str, across: PlotAxis, up: PlotAxis, series: Sequence[Series]) -> str:
    return panels(title, across, up, [[PlotPanel("", tuple(series))]], size=(354, 240))


def panels(
    title: str, across: PlotAxis, up: PlotAxis, rows: Sequence[Sequence[PlotPanel]], *, size: tuple[int, int]
) -> str:
    """Rows of panels of one size, one legend; points are means, bars reach from the smallest to the largest seed."""
    wide, high = size
    every = [one for row in rows for panel in row for one in panel.series]
    marks = _marks_of(every, across, wide)
    legend = _legend(every, marks, up)
    right = LEFT + max(len(row) for row in rows) * (wide + BETWEEN)
    below = TOP + len(rows) * (high + BOTTOM) - BOTTOM
    width = max(right + 24 + LETTER * max(map(len, legend)), LEFT + TITLE_LETTER * len(title))
    height = max(below + BOTTOM, TOP + LINE * len(legend))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{escape(title)}</text>',
        _text((LEFT + right - BETWEEN) / 2, below + 34, across.name),
        f'<g transform="translate(14 {(TOP + below) / 2:.1f}) rotate(-90)">{_text(0, 0, up.name)}</g>',
    ]
    for down, row in enumerate(rows):
        for place, panel in enumerate(row):
            frame = PlotFrame(LEFT + place * (wide + BETWEEN), TOP + down * (high + BOTTOM), wide, high, across, up)
            parts += frame.drawn(panel, marks, first=place == 0)
    for line, (name, look) in enumerate(legend.items()):
        y = TOP + 4 + LINE * line
        parts += [f'<g transform="translate({right + 4} {y})">{look}</g>', _text(right + 18, y + 4, name, "start")]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(every: Sequence[Series], marks: dict[str, Mark], up: PlotAxis) -> dict[str, str]:
    """Name → look: series, then what was not measured, then what a hollow mark says if there is one."""
    bands = {one.name for one in every if not one.measured}
    looks = {
        name: f'<path d="M-9 0H9" {BAND}/>' if name in bands else mark.at(0, 0, scale=1.2)
        for name, mark in marks.items()
    }
    if not all(up.holds(spread) for one in every for _, spread in one.points):
        looks[HOLLOW] = Mark(GREY, SHAPES[0]).at(0, 0, scale=1.2, hollow=True)
    return looks


def _marks_of(every: Sequence[Series], across: PlotAxis, wide: int) -> dict[str, Mark]:
    """One look per name, in all panels; on an axis of names those that were measured share the room around a label."""
    measured = list(dict.fromkeys(one.name for one in every if one.measured))
    room = 0.6 * (wide - 2 * INSET) / len(across.ticks) / max(1, len(measured)) if across.apart else 0.0
    marks = {
        name: Mark(COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)], room * (i - (len(measured) - 1) / 2))
        for i, name in enumerate(measured)
    }
    return marks | {one.name: Mark(GREY, SHAPES[0]) for one in every if not one.measured}


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#444">{escape(words)}</text>'
