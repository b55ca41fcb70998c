"""Series → an SVG plot, one line per series.

By default x is a number of passes on a logarithmic scale, so that both log2 N and N passes are visible; with
`logarithmic=False` it is linear. y is linear from 0 to its largest value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, log2

WIDTH, HEIGHT = 620, 340
LEFT, TOP, BOTTOM, RIGHT = 52, 16, 44, 250
COLOURS = 8
DASHES = ("", "6 3", "2 3")
LINE = 15

At = Callable[[float, float], tuple[float, float]]
"""(x, y) → a point of the picture."""


@dataclass(frozen=True)
class Point:
    """`error` is half the length of its bar."""

    x: float
    y: float
    error: float = 0.0


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[Point, ...]


def plot(series: Sequence[Series], what: str, *, x_name: str = "passes", logarithmic: bool = True) -> str:
    """The plot; equal series share a line. Points whose y is infinite are left out, and the legend says so."""
    drawn = [point for one in series for point in one.points if isfinite(point.y)]
    most_x = max((point.x for point in drawn), default=1)
    most_y = max((point.y + point.error for point in drawn), default=1) or 1

    def at(x: float, y: float) -> tuple[float, float]:
        across = log2(max(1.0, x)) / max(1.0, log2(max(2.0, most_x))) if logarithmic else x / max(1.0, most_x)
        return round(LEFT + across * (WIDTH - LEFT), 1), round(TOP + (1 - y / most_y) * (HEIGHT - TOP - BOTTOM), 1)

    height = max(HEIGHT, TOP + LINE * len(series) + LINE)
    parts = [
        f'<svg viewBox="0 0 {WIDTH + RIGHT} {height}" role="img" aria-label="{escape(what)} against {escape(x_name)}" '
        'xmlns="http://www.w3.org/2000/svg">',
        *_axes(at, _ticks(most_x, logarithmic), most_y, what, x_name),
    ]
    drawn_as: dict[tuple[Point, ...], int] = {}
    for place, one in enumerate(series):
        known = one.points in drawn_as
        style = _style(drawn_as.setdefault(one.points, len(drawn_as)))
        if not known:
            parts.append(_line(one, style, at, x_name))
        parts.append(_legend(one, style, place))
    return "".join((*parts, "</svg>"))


def _ticks(most_x: float, logarithmic: bool) -> list[int]:
    if logarithmic:
        return [1 << i for i in range(max(1, int(most_x)).bit_length())]
    step = max(1, 1 << max(0, int(most_x).bit_length() - 3))
    return list(range(0, int(most_x) + 1, step))


def _axes(at: At, ticks: list[int], most_y: float, what: str, x_name: str) -> list[str]:
    parts = []
    for tick in ticks:
        x, y = at(tick, 0)
        parts.append(f'<path class="rule" d="M{x} {TOP}V{y}"/><text x="{x}" y="{y + 18}" class="mid">{tick}</text>')
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = at(ticks[0], share * most_y)
        parts.append(f'<path class="rule" d="M{x} {y}H{WIDTH}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" class="end">{share * most_y:.2f}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" class="mid">{escape(x_name)}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 4}">{escape(what)}</text>')
    return parts


def _style(number: int) -> str:
    dash = DASHES[number // COLOURS % len(DASHES)]
    return f'class="c{number % COLOURS}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _line(one: Series, style: str, at: At, x_name: str) -> str:
    points = [point for point in sorted(one.points, key=lambda p: p.x) if isfinite(point.y)]
    places = [at(point.x, point.y) for point in points]
    parts = [f"<g {style}>"]
    if len(places) > 1:
        parts.append(f'<path d="M{"L".join(f"{x} {y}" for x, y in places)}"/>')
    for point, (x, y) in zip(points, places, strict=True):
        if point.error:
            low, high = at(point.x, max(0.0, point.y - point.error))[1], at(point.x, point.y + point.error)[1]
            parts.append(f'<path class="bar" d="M{x} {low}V{high}"/>')
        said = escape(
            f"{one.name}, {point.x:g} {x_name}: {point.y:.3g}" + (f" ± {point.error:.2g}" * bool(point.error))
        )
        parts.append(f'<circle cx="{x}" cy="{y}" r="3.2"><title>{said}</title></circle>')
    return "".join((*parts, "</g>"))


def _legend(one: Series, style: str, place: int) -> str:
    y = TOP + LINE * place
    rest = "" if all(isfinite(point.y) for point in one.points) else " (∞ left out)"
    name = f'<text x="{WIDTH + 44}" y="{y + 4}">{escape(one.name + rest)}</text>'
    return f'<g {style}><path d="M{WIDTH + 16} {y}h22"/></g>{name}'
