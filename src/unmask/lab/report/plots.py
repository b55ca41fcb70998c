"""Rows → plots, one function per picture; None where nothing was run."""

from collections import defaultdict
from collections.abc import Callable
from math import log2

from unmask.lab.report.plot import Axis, Series, names, plot, powers, shares
from unmask.lab.report.summary import Cells, Row, Spread, rows_of
from unmask.lab.report.tables import THRESHOLD, layers_of, passes_rows
from unmask.lab.tasks.task import FRAMEWORKS


def main(cells: Cells) -> str | None:
    """Right answers by framework, a colour per task."""
    lines = _by_framework(rows_of(cells, "main"), "right")
    order = names("framework", list(FRAMEWORKS))
    return plot("Right answers by framework", order, shares("right"), lines) if lines else None


def _by_framework(rows: list[Row], field: str) -> list[Series]:
    """A series per task, with aux and without."""
    order = list(FRAMEWORKS)
    series = defaultdict(list)
    for row in rows:
        name = f"{row.group}, {row['length']}{', aux' * row.shape['aux']}"
        series[name].append((float(order.index(row["framework"])), row.of(field)))
    return [Series(name, tuple(sorted(p, key=lambda point: point[0])), joined=False) for name, p in series.items()]


def planners(cells: Cells) -> str | None:
    """Right answers against passes: S3 with two layers, or the first predictor there is."""
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
    values = [x for line in lines for x, _ in line.points]
    title = f"Planners: {row.group}, {layers_of(row)}, {row.seeds} seed{'s' * (row.seeds > 1)}"
    return plot(title, powers("passes", [1, *values]), shares("right"), lines)


def _point(entries: list[dict]) -> tuple[float, Spread]:
    return (
        Spread(tuple(entry["passes"] for entry in entries)).mean,
        Spread(tuple(entry["right"] for entry in entries)),
    )


def layers(cells: Cells) -> str | None:
    """Passes of a threshold against layers."""
    series = defaultdict(list)
    for row in passes_rows(cells):
        passes = row.of_planner(THRESHOLD, "passes")
        series[f"{row.group}, N = {row['length']}"].append((float(row.shape["layers"]), passes))
    if not series:
        return None
    most = max(spread.high for points in series.values() for _, spread in points)
    up = Axis("passes", 0, most + 1, tuple((float(t), str(t)) for t in range(int(most) + 2)))
    lines = [Series(name, tuple(points)) for name, points in series.items()]
    return plot("Passes of threshold 0.9 against layers", powers("layers", [1, 4]), up, lines)


def signal(cells: Cells) -> str | None:
    """The pull on uniform attention against the mass of an operand; slope n is mass^n."""
    series = defaultdict(list)
    for row in rows_of(cells, "signal"):
        pull = row.of(lambda result: max(result["signal"]["signal"], 2.0**-30))
        series[row["framework"]].append((row.of(lambda result: result["signal"]["mass"]).mean, pull))
    if not series:
        return None
    values = [value for points in series.values() for _, spread in points for value in spread.values]
    masses = [mass for points in series.values() for mass, _ in points]
    lines = [Series(f"{name}, slope {_slope(points):.1f}", tuple(sorted(points))) for name, points in series.items()]
    across, up = powers("attention on an operand", masses), powers("signal", values)
    return plot("The pull on uniform attention", across, up, lines)


def _slope(points: list[tuple[float, Spread]]) -> float:
    """Of the least-squares line through the logarithms."""
    xs, ys = [log2(x) for x, _ in points], [log2(max(s.mean, 2.0**-30)) for _, s in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / across if across else 0.0


PLOTS: dict[str, Callable[[Cells], str | None]] = {
    "main": main,
    "planners": planners,
    "layers": layers,
    "signal": signal,
}
