"""Rows → plots, one function per picture; a function returns None if nothing was run."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path
from statistics import linear_regression

from unmask.files import write_file
from unmask.lab.result_rows import Cells, ResultRow, Spread, rows_of
from unmask.lab.result_tables import GROUP_SIZES, TABLES, THRESHOLD, layers_of, passes_rows
from unmask.lab.sweep import read_results
from unmask.lab.tasks import FRAMEWORKS
from unmask.samplers.line_plot import (
    PlotAxis,
    PlotPanel,
    Point,
    Series,
    horizontal_band,
    names_axis,
    panels,
    plot,
    powers_axis,
    shares_axis,
)

CHANCE = "chance"
BY_FRAMEWORK = names_axis("framework", list(FRAMEWORKS))


def point_of(x: float, spread: Spread) -> Point:
    """Return the mean over seeds, with a bar from the smallest to the largest seed."""
    return Point(x, spread.mean, ends=(spread.low, spread.high))


def main(cells: Cells) -> str | None:
    """Plot right answers by framework: groups down, with and without aux across, one mark per length."""
    rows = rows_of(cells, "main")
    if not rows:
        return None
    lengths = sorted({row["length"] for row in rows})
    grid = [_with_and_without([row for row in rows if row.group == group], lengths) for group in _groups(rows)]
    return panels("Right answers by framework", BY_FRAMEWORK, shares_axis("right"), grid, size=(250, 96))


def _groups(rows: list[ResultRow]) -> list[str]:
    """Return the groups, the smallest first."""
    return sorted({row.group for row in rows}, key=lambda group: (GROUP_SIZES.get(group, 0), group))


def _with_and_without(rows: list[ResultRow], lengths: list[int]) -> list[PlotPanel]:
    (group,) = _groups(rows)
    with_aux = [row for row in rows if row.shape["aux"]]
    return [
        _by_framework(f"{group}, with aux", with_aux, lengths),
        _by_framework(f"{group}, without aux", _without_aux(rows), lengths),
    ]


def _without_aux(rows: list[ResultRow]) -> list[ResultRow]:
    """Return the rows without aux, and `direct`, to which aux does not apply because it fetches nothing."""
    without = [row for row in rows if not row.shape["aux"]]
    covered = {(row["framework"], row["length"]) for row in without}
    missing_direct = {("direct", row["length"]) for row in without} - covered
    return without + [row for row in rows if (row["framework"], row["length"]) in missing_direct]


def _by_framework(name: str, rows: list[ResultRow], lengths: list[int]) -> PlotPanel:
    """Return a series per length, and the share of right answers of guesses."""
    order = list(FRAMEWORKS)
    points: dict[int, list[Point]] = {length: [] for length in lengths}
    for row in rows:
        points[row["length"]].append(point_of(order.index(row["framework"]), row.of("right")))
    series = [Series(f"N = {length}", tuple(placed), joined=False) for length, placed in points.items()]
    chances = sorted({round(row.of("chance").mean, 6) for row in rows})
    return PlotPanel(name, (*series, *(horizontal_band(CHANCE, BY_FRAMEWORK, chance) for chance in chances)))


def planners(cells: Cells) -> str | None:
    """Plot right answers against passes: S3 with two layers, or the first predictor in the results."""
    rows = [row for row in passes_rows(cells) if row["length"] == 16]
    row = next((r for r in rows if r.group == "S3" and r.shape["layers"] == 2), rows[0] if rows else None)
    if row is None:
        return None
    points = defaultdict(dict)
    for result in row.results:
        for entry in result["planners"]:
            name, _, k = entry["planner"].partition(" k=")
            points[name].setdefault(k, []).append(entry)
    lines = [Series(name, tuple(_point(entries) for entries in by_k.values())) for name, by_k in points.items()]
    x_axis = powers_axis("passes", [1, *(point.x for line in lines for point in line.points)])
    title = f"Planners: {row.group}, N = {row['length']}, {layers_of(row)}, {row.seeds} seed{'s' * (row.seeds > 1)}"
    return plot(title, x_axis, shares_axis("right"), [*lines, horizontal_band(CHANCE, x_axis, row.of("chance").mean)])


def _point(entries: list[dict]) -> Point:
    passes = Spread(tuple(entry["passes"] for entry in entries)).mean
    return point_of(passes, Spread(tuple(entry["right"] for entry in entries)))


def layers(cells: Cells) -> str | None:
    """Plot passes of a threshold against layers, one panel per length, together with ⌈log2 N / L⌉."""
    rows = passes_rows(cells)
    if not rows:
        return None
    groups, lengths = _groups(rows), sorted({row["length"] for row in rows})
    by_length = [_by_layers(length, [row for row in rows if row["length"] == length], groups) for length in lengths]
    most = max(point.high for panel in by_length for series in panel.series for point in series.points)
    y_axis = PlotAxis("passes", 0, most + 1, tuple((float(t), str(t)) for t in range(int(most) + 2)))
    x_axis = powers_axis("layers", [row.shape["layers"] for row in rows])
    return panels(f"Passes of {THRESHOLD} against layers", x_axis, y_axis, [by_length], size=(120, 200))


def _by_layers(length: int, rows: list[ResultRow], groups: list[str]) -> PlotPanel:
    """Return a series per group, and the law."""
    points: dict[str, list[Point]] = {group: [] for group in groups}
    for row in rows:
        points[row.group].append(point_of(row.shape["layers"], row.of_planner(THRESHOLD, "passes")))
    series = [Series(group, tuple(placed)) for group, placed in points.items()]
    law = sorted({row.shape["layers"]: row.least_passes for row in rows}.items())
    band = Series("⌈log2 N / L⌉", tuple(Point(count, passes) for count, passes in law), measured=False)
    return PlotPanel(f"N = {length}", (*series, band))


def signal(cells: Cells) -> str | None:
    """Plot the pull on uniform attention against the mass of an operand; slope n is mass^n."""
    series = defaultdict(list)
    for row in rows_of(cells, "signal"):
        mass = row.of(lambda result: result["signal"]["mass"]).mean
        series[row["framework"]].append((mass, row.of(lambda result: result["signal"]["signal"])))
    if not series:
        return None
    masses, pulls = zip(*(point for points in series.values() for point in points), strict=True)
    lines = [
        Series(f"{name}{_slope(points)}", tuple(point_of(*point) for point in points))
        for name, points in series.items()
    ]
    x_axis, y_axis = powers_axis("attention on an operand", masses), powers_axis("signal", _above_zero(pulls))
    return plot("The pull on uniform attention", x_axis, y_axis, lines)


def _above_zero(spreads: Sequence[Spread]) -> list[float]:
    """Return what a logarithmic axis must show: all seeds if all are above 0, and the largest of all."""
    largest = max(spread.high for spread in spreads)
    positive = [value for spread in spreads if spread.low > 0 for value in spread.values]
    return [*positive, largest] if largest > 0 else [1.0]


def _slope(points: list[tuple[float, Spread]]) -> str:
    """Return the slope of the least-squares line through the logarithms; "" unless every mean is clearly above 0."""
    if not all(spread.above_zero for _, spread in points) or len({x for x, _ in points}) < 2:
        return ""
    slope, _ = linear_regression([log2(x) for x, _ in points], [log2(spread.mean) for _, spread in points])
    return f", slope {slope:.1f}"


PLOTS: dict[str, Callable[[Cells], str | None]] = {
    "main": main,
    "planners": planners,
    "layers": layers,
    "signal": signal,
}


# A folder with results.json → table.md and plots in the same folder.


HEADING = "# What was trained"
EARLIER_TABLE = re.compile(HEADING.encode() + rb"\n\n")
EARLIER_PLOT = re.compile(
    rb'<svg xmlns="[^"]*" viewBox="[^"]*"(?: role="img"\n aria-label="[^"]*"|\n)'
    rb' font-family="sans-serif" font-size="11">\n<(?:style>\.paper|rect width="[0-9.]+" height=")'
)
"""The beginning of a plot by `line_plot`, and of a plot by version 0.2."""
EXPLAINED = (
    "`.97 (.95–1) 2/3, 400, 41 s`: mean share of right answers on fresh words (smallest–largest seed), seeds that "
    "converged, mean steps and CPU seconds of training."
)


def write_report(folder: Path) -> list[str]:
    """Write the table and the plots; return the file names."""
    cells = read_results(folder / "results.json")
    written = ["results.json", "table.md"]
    parts = [HEADING, EXPLAINED]
    for name, (heading, make) in TABLES.items():
        table = make(cells)
        if table is not None:
            parts += [f"## {heading}", table]
            if name in PLOTS:
                parts.append(f"![{heading}]({name}.svg)")
    failed = [f"- {cell['key']}: {cell['error']}" for cell in cells if "error" in cell]
    if failed:
        parts += ["## Cells that failed", "\n".join(failed)]
    for name, draw in PLOTS.items():
        picture = draw(cells)
        if picture is not None:
            write_file(folder / f"{name}.svg", picture.encode(), earlier=EARLIER_PLOT)
            written.append(f"{name}.svg")
    write_file(folder / "table.md", ("\n\n".join(parts) + "\n").encode(), earlier=EARLIER_TABLE)
    return written
