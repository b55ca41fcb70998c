"""Tables and plots → one self-contained HTML page: no network, no other file, no script."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from math import isfinite
from string import Template

from unmask.samplers import line_plot
from unmask.samplers.line_plot import Series, axis_from_zero, powers_axis

SIZE = (520, 280)


def report_plot(series: Sequence[Series], quantity: str, *, x_name: str = "passes", logarithmic: bool = True) -> str:
    """Return a plot of `quantity` against `x_name`, with a tooltip at every point.

    x is logarithmic by default, so that both log2 N and N passes are visible. Points whose y is infinite are left out,
    and the legend says so.
    """
    finite = [_finite(item, x_name) for item in series]
    points = [point for item in finite for point in item.points]
    numbers = [point.x for point in points]
    across = powers_axis(x_name, [1, *numbers]) if logarithmic else axis_from_zero(x_name, numbers, whole=True)
    return line_plot.plot(
        quantity, across, axis_from_zero(quantity, [point.high for point in points]), finite, size=SIZE
    )


def _finite(series: Series, x_name: str) -> Series:
    """Return the series from left to right, without infinite values, with tooltips and with bars from 0 on."""
    points = []
    for point in sorted(series.points, key=lambda point: point.x):
        if isfinite(point.y):
            bar = f" ± {point.error:.2g}" if point.error else ""
            title = f"{series.name}, {point.x:g} {x_name}: {point.y:.3g}{bar}"
            points.append(replace(point, ends=(max(0.0, point.low), point.high), title=title))
    note = "" if len(points) == len(series.points) else " (∞ left out)"
    return Series(series.name + note, tuple(points))


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
svg{max-width:100%;height:auto}
.mid{text-anchor:middle;font-size:12px;fill:#1f2328}
.c0{color:#0072b2}
@media(prefers-color-scheme:dark){
body{color:#e6e4df;background:#16181b}.mid{fill:#e6e4df}th,td{border-color:#30343a}.c0{color:#56b4e9}}
</style>
<h1>$title</h1>
$body
</html>
""")


@dataclass(frozen=True)
class ReportTable:
    """A table of plain text; `left` names the columns that are aligned left."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...]


def html_report(title: str, facts: Sequence[str], plots: Sequence[tuple[str, str]], table: ReportTable) -> str:
    """Return the page: a heading, sentences, (heading, SVG) pairs and a table."""
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
