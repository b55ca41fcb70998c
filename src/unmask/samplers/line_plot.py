"""Series → a self-contained SVG plot: points with error bars, joined by lines, in panels of the same axes.

All line plots of the package are drawn here: those of the lab, of the reports about samplers, and of the pages.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, hypot, log2

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
)  # their number and that of the colours are coprime, so that no pair repeats before all were used
BAND = 'stroke="#c8c8c8" stroke-width="4"'  # visible on both sides of a line drawn over it
HOLLOW = "a seed is not above 0"
PAPER = ".paper{fill:#fff}@media(prefers-color-scheme:dark){.paper{fill:#dfe5ec}}"
"""A light background for the dark lines; on a dark page it is dimmed."""


@dataclass(frozen=True)
class PlotAxis:
    """An axis from `low` to `high` with labels at some values: linear, `log`arithmic, or of names (`categorical`).

    On an axis of names, the marks of different series are placed side by side.
    """

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    categorical: bool = False

    def share(self, value: float) -> float:
        """Return 0 at `low` and 1 at `high`; on a logarithmic axis, values below `low` count as `low`."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return log2(max(value, self.low) / self.low) / log2(self.high / self.low)

    def can_show(self, point: "Point") -> bool:
        """Return whether the whole bar of a point is on the axis: a logarithmic axis has values above 0 only."""
        return not self.log or point.low > 0


def shares_axis(name: str) -> PlotAxis:
    """Return an axis from 0 to 1."""
    return PlotAxis(name, 0, 1, tuple((tick / 4, f"{tick / 4:g}") for tick in range(5)))


def powers_axis(name: str, values: Sequence[float]) -> PlotAxis:
    """Return a logarithmic axis for these values, with ticks at powers of two; not at all of them if they are many."""
    low, high = floor(log2(min(values))), -floor(-log2(max(values)))
    high = max(high, low + 1)
    every = 1 + (high - low) // 9
    ticks = tuple((2.0**e, _power(e)) for e in range(low, high + 1, every))
    return PlotAxis(name, 2.0**low, 2.0**high, ticks, log=True)


def _power(exponent: int) -> str:
    return f"{2**exponent}" if exponent >= 0 else "2" + str(exponent).translate(RAISED)


def names_axis(title: str, values: Sequence[str]) -> PlotAxis:
    """Return an axis with a place for each name."""
    return PlotAxis(title, -0.5, len(values) - 0.5, tuple(enumerate(values)), categorical=True)


def axis_from_zero(name: str, values: Sequence[float], *, whole: bool = False) -> PlotAxis:
    """Return a linear axis from 0 to the largest value; ticks at whole numbers, or at quarters of the axis."""
    high = max(values, default=0) or 1
    if whole:
        step = max(1, 1 << max(0, int(high).bit_length() - 3))
        return PlotAxis(name, 0, high, tuple((float(tick), str(tick)) for tick in range(0, int(high) + 1, step)))
    return PlotAxis(name, 0, high, tuple((high * tick / 4, f"{high * tick / 4:.2f}") for tick in range(5)))


@dataclass(frozen=True)
class Point:
    """A value y at x, with a bar of `error` up and down, or between two `ends`; `title` is shown as a tooltip."""

    x: float
    y: float
    error: float = 0.0
    ends: tuple[float, float] | None = None
    title: str = ""

    @property
    def low(self) -> float:
        return self.ends[0] if self.ends else self.y - self.error

    @property
    def high(self) -> float:
        return self.ends[1] if self.ends else self.y + self.error


@dataclass(frozen=True)
class Series:
    """Points that share a colour and a shape; a series that was not measured is drawn as a band without marks."""

    name: str
    points: tuple[Point, ...]
    joined: bool = True
    measured: bool = True


def horizontal_band(name: str, x_axis: PlotAxis, value: float) -> Series:
    """Return a horizontal band from one end of the axis to the other."""
    return Series(name, (Point(x_axis.low, value), Point(x_axis.high, value)), measured=False)


@dataclass(frozen=True)
class PlotPanel:
    """One of several plots with the same axes, and its heading."""

    name: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Mark:
    """The colour and shape of a series, and how far to the right of its values it is drawn."""

    colour: str
    shape: str
    aside: float = 0.0

    def at(self, x: float, y: float, *, scale: float = 1.0, hollow: bool = False, title: str = "") -> str:
        fill, stroke = ("white", self.colour) if hollow else (self.colour, "white")
        place = f"translate({x:.1f} {y:.1f}) scale({scale:.2f})"
        line = f'stroke="{stroke}" stroke-width="{0.8 / scale:.2f}"'
        mark = f'<path d="{self.shape}" transform="{place}" fill="{fill}" {line}'
        return f"{mark}><title>{escape(title)}</title></path>" if title else f"{mark}/>"


@dataclass(frozen=True)
class PlotFrame:
    """A panel's place: values → points of the picture."""

    left: float
    top: float
    width: float
    height: float
    x_axis: PlotAxis
    y_axis: PlotAxis

    def x_of(self, value: float) -> float:
        return self.left + INSET + self.x_axis.share(value) * (self.width - 2 * INSET)

    def y_of(self, value: float) -> float:
        return self.top + self.height - self.y_axis.share(value) * self.height

    def svg_elements(self, panel: PlotPanel, marks: dict[str, Mark], *, first: bool) -> Iterator[str]:
        """Draw the grid, lines, bars and marks; the first panel of a row has labels at its left."""
        right, bottom = self.left + self.width, self.top + self.height
        yield f'<path d="M{self.left} {self.top}V{bottom}H{right}V{self.top}" fill="none" stroke="#e4e4e4"/>'
        for value, label in self.y_axis.ticks:
            yield f'<path d="M{self.left} {self.y_of(value):.1f}H{right}" stroke="#e4e4e4"/>'
            if first:
                yield _text(self.left - 6, self.y_of(value) + 4, label, "end")
        yield from (_text(self.x_of(value), bottom + 15, label) for value, label in self.x_axis.ticks)
        if panel.name:
            yield _text(self.left, self.top - 9, panel.name, "start")
        if not any(series.points for series in panel.series if series.measured):
            yield _text(self.left + self.width / 2, self.top + self.height / 2, "not run")
            return
        for series in sorted(panel.series, key=lambda series: series.measured):
            yield from self._lines(series, marks[series.name])
        yield from self._marks(panel, marks)

    def _lines(self, series: Series, mark: Mark) -> Iterator[str]:
        """Draw lines between points that are on the axis, and the bars of all points."""
        runs: list[list[str]] = [[]]
        for point in series.points:
            x = self.x_of(point.x) + mark.aside
            if self.y_axis.can_show(point):
                runs[-1].append(f"{x:.1f},{self.y_of(point.y):.1f}")
            else:
                runs.append([])
            if point.low < point.high:
                ends = f"M{x:.1f} {self.y_of(point.low):.1f}V{self.y_of(point.high):.1f}"
                yield f'<path d="{ends}" stroke="{mark.colour}"/>'
        line = f'stroke="{mark.colour}"' if series.measured else BAND
        for run in runs:
            if series.joined and len(run) > 1:
                yield f'<polyline points="{" ".join(run)}" fill="none" {line}/>'

    def _marks(self, panel: PlotPanel, marks: dict[str, Mark]) -> Iterator[str]:
        """Draw the marks; one that another mark will cover is larger, so that it remains visible."""
        placed = []
        for series in panel.series:
            for point in series.points if series.measured else ():
                is_shown = self.y_axis.can_show(point)
                y = self.y_of(point.y if is_shown else self.y_axis.low)
                placed.append(
                    (self.x_of(point.x) + marks[series.name].aside, y, marks[series.name], not is_shown, point.title)
                )
        for index, (x, y, mark, hollow, title) in enumerate(placed):
            covering = sum(hypot(x - other[0], y - other[1]) < 2 for other in placed[index + 1 :])
            yield mark.at(x, y, scale=1 + 0.35 * covering, hollow=hollow, title=title)


def plot(
    title: str, x_axis: PlotAxis, y_axis: PlotAxis, series: Sequence[Series], *, size: tuple[int, int] = (354, 240)
) -> str:
    """Return a plot with a single panel."""
    return panels(title, x_axis, y_axis, [[PlotPanel("", tuple(series))]], size=size)


def panels(
    title: str, x_axis: PlotAxis, y_axis: PlotAxis, rows: Sequence[Sequence[PlotPanel]], *, size: tuple[int, int]
) -> str:
    """Return rows of panels of one size, with one legend."""
    panel_width, panel_height = size
    all_series = [series for row in rows for panel in row for series in panel.series]
    marks = _marks_of(all_series, x_axis, panel_width)
    legend = _legend(all_series, marks, y_axis)
    right = LEFT + max(len(row) for row in rows) * (panel_width + BETWEEN)
    below = TOP + len(rows) * (panel_height + BOTTOM) - BOTTOM
    width = max(right + 24 + LETTER * max(map(len, legend)), LEFT + TITLE_LETTER * len(title))
    height = max(below + BOTTOM, TOP + LINE * len(legend))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
        f' aria-label="{escape(title)}" font-family="sans-serif" font-size="11">',
        f"<style>{PAPER}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{escape(title)}</text>',
        _text((LEFT + right - BETWEEN) / 2, below + 34, x_axis.name),
        f'<g transform="translate(14 {(TOP + below) / 2:.1f}) rotate(-90)">{_text(0, 0, y_axis.name)}</g>',
    ]
    for row_index, row in enumerate(rows):
        for column, panel in enumerate(row):
            frame = PlotFrame(
                LEFT + column * (panel_width + BETWEEN),
                TOP + row_index * (panel_height + BOTTOM),
                panel_width,
                panel_height,
                x_axis,
                y_axis,
            )
            parts += frame.svg_elements(panel, marks, first=column == 0)
    for line_index, (name, symbol) in enumerate(legend.items()):
        y = TOP + 4 + LINE * line_index
        parts += [f'<g transform="translate({right + 4} {y})">{symbol}</g>', _text(right + 18, y + 4, name, "start")]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(all_series: Sequence[Series], marks: dict[str, Mark], y_axis: PlotAxis) -> dict[str, str]:
    """Return the marks of the legend by name: series, bands, and the meaning of a hollow mark if one occurs."""
    bands = {series.name for series in all_series if not series.measured}
    symbols = {
        name: f'<path d="M-9 0H9" {BAND}/>' if name in bands else mark.at(0, 0, scale=1.2)
        for name, mark in marks.items()
    }
    if not all(y_axis.can_show(point) for series in all_series for point in series.points):
        symbols[HOLLOW] = Mark(GREY, SHAPES[0]).at(0, 0, scale=1.2, hollow=True)
    return symbols


def _marks_of(all_series: Sequence[Series], x_axis: PlotAxis, panel_width: int) -> dict[str, Mark]:
    """Return one mark per name for all panels; on an axis of names, measured series are placed around a label."""
    measured = list(dict.fromkeys(series.name for series in all_series if series.measured))
    spacing = 0.6 * (panel_width - 2 * INSET) / len(x_axis.ticks) / max(1, len(measured)) if x_axis.categorical else 0.0
    marks = {
        name: Mark(COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)], spacing * (i - (len(measured) - 1) / 2))
        for i, name in enumerate(measured)
    }
    return marks | {series.name: Mark(GREY, SHAPES[0]) for series in all_series if not series.measured}


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#444">{escape(words)}</text>'
