"""Series → an SVG plot, one line per series.

By default x is a number of passes on a logarithmic scale, so that both log2 N and N passes are visible; with
`logarithmic=False` it is linear. y is linear from 0 to its largest value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, log2
from string import Template

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
    """The points of one line."""

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


# Tables and plots → one HTML file that asks for nothing: no network, no other file, no script.


PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="unmask">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
body{color:#1f2328;background:#fcfcfa}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-size:13px}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e3e4e2;white-space:nowrap}
th.l,td.l{text-align:left}td.wide{white-space:normal}
.wrap{overflow-x:auto}
svg{max-width:100%;height:auto}svg text{font-size:12px;fill:#1f2328}
.mid{text-anchor:middle}.end{text-anchor:end}
svg path{fill:none;stroke:currentColor;stroke-width:1.6}svg .rule{stroke:#e3e4e2;stroke-width:1}
svg circle{fill:currentColor;stroke:none}svg .bar{stroke-width:1}
.c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#00795a}.c3{color:#a8508a}.c4{color:#b87d00}.c5{color:#2d2d2d}
.c6{color:#4aa3d9}.c7{color:#7a5c00}
@media(prefers-color-scheme:dark){
body{color:#e6e4df;background:#16181b}svg text{fill:#e6e4df}th,td{border-color:#30343a}svg .rule{stroke:#30343a}
.c0{color:#56b4e9}.c1{color:#ff8a3d}.c2{color:#2fc69c}.c3{color:#d98fbb}.c4{color:#e69f00}.c5{color:#d0d0d0}
.c6{color:#9bd1f2}.c7{color:#cdb36b}}
</style>
<h1>$title</h1>
$body
</html>
""")


@dataclass(frozen=True)
class Table:
    """Plain text in cells; `left` names the columns that are ranged left."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...]


def page(title: str, facts: Sequence[str], plots: Sequence[tuple[str, str]], table: Table) -> str:
    """A heading, sentences, (heading, SVG) pairs and a table."""
    body = [f"<p>{escape(fact)}</p>" for fact in facts]
    body += [f"<h2>{escape(heading)}</h2>{svg}" for heading, svg in plots]
    kinds = [' class="l wide"' if name in table.left else "" for name in table.columns]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.columns, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>\n"
        for row in table.rows
    )
    body.append(f'<h2>All runs</h2><div class="wrap"><table><tr>{head}</tr>\n{rows}</table></div>')
    return PAGE.substitute(title=escape(title), body="\n".join(body))
