"""A folder with results.json → table.md and the plots beside it."""

import re
from pathlib import Path

from unmask.lab.report.plots import PLOTS
from unmask.lab.report.tables import TABLES
from unmask.lab.sweep.results import read_results
from unmask.writing import write_file

HEADING = "# What was trained"
EARLIER_TABLE = re.compile(HEADING.encode() + rb"\n\n")
EARLIER_PLOT = re.compile(
    rb'<svg xmlns="[^"]*" viewBox="[^"]*"\n font-family="sans-serif" font-size="11">\n<rect width="[0-9.]+" height="'
)
EXPLAINED = (
    "`.97 (.95–1) 2/3, 400, 41 s`: mean share of right answers on fresh words (smallest–largest seed), seeds that "
    "converged, mean steps and CPU seconds of training."
)


def write_report(folder: Path) -> list[str]:
    """The names of what was written."""
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
