"""docs/lab/results.json → docs/lab/index.md. With a FOLDER, its results.json is copied first.

What stands between `<!-- results: NAME -->` and `<!-- end -->` is written here; a page says "not run" where
results.json holds nothing. Numbers stand there and nowhere else on the page.
"""

import re
import shutil
import sys
from pathlib import Path

from unmask.lab.report.facts import facts
from unmask.lab.report.findings import findings
from unmask.lab.report.plots import PLOTS
from unmask.lab.report.tables import TABLES
from unmask.lab.sweep.results import read_results

PAGE = Path(__file__).parents[1] / "lab" / "index.md"
RESULTS = PAGE.parent / "results.json"
REGION = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NOT_RUN = "*Not run.*"


def filled(page: str, cells: list) -> str:
    """The page with every region written anew."""

    def region(match: re.Match) -> str:
        name = match[2]
        made = {"facts": facts, "findings": findings}[name](cells) if name not in TABLES else TABLES[name][1](cells)
        parts = [made or NOT_RUN]
        if made and name in PLOTS:
            parts.append(f"![{TABLES[name][0]}]({name}.svg)")
        return match[1] + "\n\n".join(parts) + "\n" + match[3]

    return REGION.sub(region, page)


def pictures(cells: list) -> dict[str, str]:
    """File name → SVG."""
    drawn = {name: draw(cells) for name, draw in PLOTS.items()}
    return {f"{name}.svg": picture for name, picture in drawn.items() if picture is not None}


def main() -> None:
    if len(sys.argv) > 1:
        shutil.copy(Path(sys.argv[1]) / "results.json", RESULTS)
    cells = read_results(RESULTS)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), cells), encoding="utf-8")
    for name, picture in pictures(cells).items():
        (RESULTS.parent / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
