"""Series → an SVG plot that stands alone: points with their spread, joined by lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log2

from unmask.lab.report.summary import Spread

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 56, 150, 36, 44
COLOURS = ("#0072b2", "#d55e00", "#00795a", "#a8508a", "#b87d00", "#2d2d2d", "#4aa3d9", "#7a5c00")


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with labels at some values; by powers of two if `log`."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, value: float) -> float:
        low, high, value = (log2(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return (value - low) / (high - low) if high > low else 0.5


def shares(name: str) -> Axis:
    return Axis(name, 0, 1, tuple((tick / 4, f"{tick / 4:g}") for tick in range(5)))


def powers(name: str, values: Sequence[float]) -> Axis:
    """Ticks at powers of two, or of four where they are many, that hold all values."""
    low, high = floor(log2(min(values))), -floor(-log2(max(values)))
    high = max(high, low + 1)
    every = 1 + (high - low) // 9
    ticks = tuple((2.0**e, f"{2**e}" if e >= 0 else f"2^{e}") for e in range(low, high + 1, every))
    return Axis(name, 2.0**low, 2.0**high, ticks, log=True)


def names(title: str, values: Sequence[str]) -> Axis:
    return Axis(title, -0.5, len(values) - 0.5, tuple(enumerate(values)))


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[tuple[float, Spread], ...]
    joined: bool = True


def plot(title: str, across: Axis, up: Axis, series: Sequence[Series]) -> str:
    """Points are means, bars reach from the smallest to the largest seed; series stand a little apart."""
    height = max(HEIGHT, TOP + BOTTOM + 16 * len(series))

    def x_of(value: float, place: int = 0) -> float:
        apart = 0 if len(series) < 2 else 4 * (place - (len(series) - 1) / 2)
        return LEFT + across.share(value) * (WIDTH - LEFT - RIGHT) + apart

    def y_of(value: float) -> float:
        return height - BOTTOM - up.share(value) * (height - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" fill="#222">{escape(title)}</text>',
    ]
    for value, label in up.ticks:
        parts.append(f'<path d="M{LEFT} {y_of(value):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        parts.append(_text(LEFT - 6, y_of(value) + 4, label, "end"))
    parts += [_text(x_of(value), height - BOTTOM + 16, label) for value, label in across.ticks]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, height - 8, across.name))
    parts.append(_text(LEFT - 6, TOP - 8, up.name, "start"))
    for place, one in enumerate(series):
        colour = COLOURS[place % len(COLOURS)]
        dashes = ' stroke-dasharray="4 3"' if place >= len(COLOURS) else ""
        points = [(x_of(x, place), spread) for x, spread in one.points]
        if one.joined and len(points) > 1:
            line = " ".join(f"{x:.1f},{y_of(spread.mean):.1f}" for x, spread in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}"{dashes}/>')
        for x, spread in points:
            parts.append(f'<path d="M{x:.1f} {y_of(spread.low):.1f}V{y_of(spread.high):.1f}" stroke="{colour}"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{y_of(spread.mean):.1f}" r="3" fill="{colour}"/>')
        parts.append(f'<circle cx="{WIDTH - RIGHT + 16}" cy="{TOP + 16 * place}" r="4" fill="{colour}"/>')
        parts.append(_text(WIDTH - RIGHT + 26, TOP + 16 * place + 4, one.name, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#444">{escape(words)}</text>'
