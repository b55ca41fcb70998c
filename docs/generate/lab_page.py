"""docs/lab/results.json → docs/lab/index.md, docs/lab/tables.md and their plots.

With a FOLDER as argument, its results.json is copied first. The text between `<!-- results: NAME -->` and
`<!-- end -->` is generated; it is "not run" where results.json has no results. Measured numbers occur only there.
"""

import re
import shutil
import sys
from pathlib import Path

from lab_findings import facts, findings, key_numbers, runs, summary

from unmask.lab.result_plots import PLOTS
from unmask.lab.result_tables import TABLES
from unmask.lab.sweep import read_results

LAB = Path(__file__).parents[1] / "lab"
PAGES = (LAB / "index.md", LAB / "tables.md")
RESULTS = LAB / "results.json"
TEXTS = {"facts": facts, "runs": runs, "findings": findings, "summary": summary, "numbers": key_numbers}
REGION = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NOT_RUN = "*Not run.*"


def fill_page(page: str, cells: list) -> str:
    """Return the page with every region filled in."""

    def region(match: re.Match) -> str:
        name = match[2]
        content = TEXTS[name](cells) if name in TEXTS else TABLES[name][1](cells)
        parts = [content or NOT_RUN]
        plot = {"summary": "main"}.get(name, name)
        if content and plot in PLOTS:
            parts.append(f"![{TABLES[plot][0]}]({plot}.svg)")
        return match[1] + "\n\n".join(parts) + "\n" + match[3]

    return REGION.sub(region, page)


def pictures(cells: list) -> dict[str, str]:
    """Return the plots: file name → SVG."""
    plots = {name: draw(cells) for name, draw in PLOTS.items()}
    return {f"{name}.svg": picture for name, picture in plots.items() if picture is not None}


def main() -> None:
    if len(sys.argv) > 1:
        shutil.copy(Path(sys.argv[1]) / "results.json", RESULTS)
    cells = read_results(RESULTS)
    for page in PAGES:
        page.write_text(fill_page(page.read_text(encoding="utf-8"), cells), encoding="utf-8")
    for name, picture in pictures(cells).items():
        (RESULTS.parent / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
