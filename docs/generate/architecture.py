"""Source tree → the generated parts of the architecture pages: `make architecture`.

docs/pictures/imports.svg            which package imports which
docs/background/architecture.md      the packages, each after what it imports, with one line each
docs/background/trusted-modules.md   the modules that a proof trusts
"""

import re
import sys
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from import_graph import (
    closure,
    direct,
    files,
    first_sentence,
    folder_of,
    levels,
    module_graph,
    package_graph,
    package_of,
)
from trusted_modules import CHECKERS, PROVERS, TRUSTED

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "src")]

from pages import fill_regions, table  # noqa: E402

PICTURE = ROOT / "docs" / "pictures" / "imports.svg"
LETTER, HEIGHT, GAP, STOREY, MARGIN = 7, 26, 16, 62, 12
STYLE = """
  text { font: 12px ui-monospace, monospace; fill: #1f2430; text-anchor: middle; dominant-baseline: central }
  rect.card { fill: #ffffff; stroke: #c9ced6 }
  rect { fill: #f4f5fb; stroke: #9aa0b8 }
  rect.trusted { fill: #e3edff; stroke: #3f51b5; stroke-width: 1.6 }
  path { fill: none; stroke: #9aa0b8; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e8f2 } rect.card { fill: #1b2330; stroke: #46505f }
    rect { fill: #2b2e3b; stroke: #6d7390 } path { stroke: #6d7390 }
    rect.trusted { fill: #2a3a63; stroke: #8fa2ff }
  }
"""


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def pages() -> dict[Path, str]:
    """Return the current text of every generated file."""
    packages = package_graph(module_graph())
    return {
        PICTURE: picture(packages),
        **{
            page: fill_regions(page.read_text(encoding="utf-8"), parts)
            for page, parts in {
                ROOT / "docs" / "background" / "architecture.md": {
                    "packages": table(("package", "what it does", "imports"), rows(packages))
                },
                ROOT / "docs" / "background" / "trusted-modules.md": {
                    "checked": list(checked_lines()),
                    "trusted": list(trusted_lines()),
                },
            }.items()
        },
    }


def computed_trust() -> dict[str, tuple[str, ...]]:
    """Return folder → its modules that the provers import, directly or indirectly: the right value of TRUSTED."""
    folders: dict[str, list[str]] = {}
    for module in sorted(closure(module_graph(), PROVERS)):
        folders.setdefault(folder_of(module), []).append(module.rpartition("/")[2])
    return {folder: tuple(names) for folder, names in folders.items()}


def checked_lines() -> Iterator[str]:
    """Yield a line per certificate, with the modules that are trusted instead of the prover."""
    for ending, checker in CHECKERS.items():
        modules = sorted(closure(module_graph(), [checker]))
        names = ", ".join(f"`{name}`" for name in modules)
        yield f"* `STEM{ending}`, checked by `{checker}`: {size_of(modules)}: {names}."
    yield (
        "* `STEM.cnf` and `STEM.drat`, checked by any DRAT checker: it replaces the solver. The translation of weights "
        "and problem into clauses, a part of the prover, is still trusted."
    )


def size_of(modules: Iterable[str]) -> str:
    """Return the number of modules and of their lines, to the nearest hundred: rewording must not change a page."""
    paths = [files()[module] for module in modules]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    return f"{len(paths)} modules, about {round(lines, -2):,} lines"


def trusted_lines() -> Iterator[str]:
    """Yield the lines of a table of the trusted modules."""
    modules = [f"{folder}/{name}" if folder != name else name for folder, names in TRUSTED.items() for name in names]
    yield f"{size_of(modules)}, the import closure of {', '.join(f'`{name}.py`' for name in PROVERS)}:"
    yield ""
    yield from table(("module", "what it is"), [(f"`{name}`", cell(first_sentence(name))) for name in modules])


def rows(packages: dict[str, set[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield a row per package, each after what it imports. Imports that follow from others are left out."""
    arrows = direct(packages)
    for name in (name for level in levels(packages) for name in level):
        yield f"`{name}`", cell(first_sentence(name)), " ".join(f"`{target}`" for target in sorted(arrows[name]))


def cell(text: str) -> str:
    """Escape text for a cell of a Markdown table, except its `code`."""
    pieces = text.replace("|", "\\|").split("`")
    pieces[::2] = [re.sub(r"([*\[<])", r"\\\1", piece) for piece in pieces[::2]]
    return "`".join(pieces)


def picture(packages: dict[str, set[str]]) -> str:
    """Draw the packages as boxes, each above everything that it imports."""
    arrows, storeys = direct(packages), levels(packages)
    boxes = box_positions(storeys, arrows)
    trusted = {package_of(f"{folder}/") for folder in TRUSTED}
    width = max(x + w / 2 for x, _, w in boxes.values()) + MARGIN
    height = len(storeys) * STOREY - (STOREY - HEIGHT) + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'aria-label="Which package imports which: every line leads down.">',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="1" y="1" width="{width - 2:.0f}" height="{height - 2:.0f}" rx="8"/>',
    ]
    for name, targets in arrows.items():
        x, y, _ = boxes[name]
        for target in sorted(targets):
            at, below, _ = boxes[target]
            top, bottom = y + HEIGHT / 2, below - HEIGHT / 2
            bend = min(40, (bottom - top) / 2)
            curve = f"C{x:.0f},{top + bend:.0f} {at:.0f},{bottom - bend:.0f} {at:.0f},{bottom:.0f}"
            lines.append(f'<path d="M{x:.0f},{top:.0f} {curve}"/>')
    for name, (x, y, w) in boxes.items():
        mark = ' class="trusted"' if name in trusted else ""
        lines.append(f'<rect{mark} x="{x - w / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{w}" height="{HEIGHT}" rx="5"/>')
        lines.append(f'<text x="{x:.0f}" y="{y:.0f}">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def box_positions(storeys: list[list[str]], arrows: dict[str, set[str]]) -> dict[str, tuple[float, float, int]]:
    """Return name → (middle, height, width) of its box. A box is placed near what it imports."""
    widths = {name: LETTER * len(name) + 18 for storey in storeys for name in storey}
    longest = max(sum(widths[name] + GAP for name in storey) for storey in storeys)
    boxes: dict[str, tuple[float, float, int]] = {}
    for i, storey in enumerate(storeys):
        y = MARGIN + HEIGHT / 2 + (len(storeys) - 1 - i) * STOREY

        def middle(name: str) -> tuple[float, str]:
            below = [boxes[target][0] for target in arrows[name]]
            return (sum(below) / len(below) if below else longest / 2), name

        x = MARGIN + (longest - sum(widths[name] + GAP for name in storey)) / 2
        for name in sorted(storey, key=middle):
            boxes[name] = x + widths[name] / 2, y, widths[name]
            x += widths[name] + GAP
    return boxes


if __name__ == "__main__":
    main()
