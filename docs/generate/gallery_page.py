"""Write docs/gallery.md from the programs, their runs and their sizes: `make gallery`."""

import ast
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "src")]

from gallery_picture import picture  # noqa: E402
from pages import table  # noqa: E402

from unmask.api import compare_frameworks, compile_problem, run_word  # noqa: E402
from unmask.problems.catalogue import parse_problem  # noqa: E402
from unmask.problems.program_problems import ProgramProblem  # noqa: E402
from unmask.traces.trace import Trace  # noqa: E402

PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "pictures" / "gallery"
HEAD = """# A gallery of programs

Programs in the [language](reference/language.md) and grammars, from sorting to a Turing machine. Each one is a file in
`examples/programs/` or `examples/grammars/` and is tested against an independent implementation.

For each program you see the code, a run of the compiled `mdm` as a picture (the colour of a slot shows the step that
last wrote it), the same run as text (`·` is a mask), and the size of the compiled models, measured by `unmask compare`.
`make gallery` writes this page.
"""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A file, its title, the word of its run, the lengths to measure; `wrap` is the number of slots per picture row."""

    file: str
    title: str
    word: str
    lengths: tuple[int, ...]
    wrap: int = 0

    @property
    def problem(self) -> str:
        return f"{'cfg' if self.file.endswith('.cfg') else 'program'}:{ROOT / 'examples' / self.file}"

    @property
    def picture(self) -> Path:
        return PICTURES / f"{Path(self.file).stem}.svg"

    @cached_property
    def run(self) -> Trace:
        return run_word(compile_problem(self.problem, "mdm", length=len(self.word)), self.word)


EXHIBITS = [
    Exhibit("grammars/dyck2.cfg", "Brackets of two kinds", "([])", (4, 8, 16)),
    Exhibit("grammars/arithmetic.cfg", "Arithmetic expressions", "x+x*x", (5, 9, 17)),
    Exhibit("grammars/ambiguous.cfg", "An ambiguous grammar", "abc", (4, 8, 16)),
    Exhibit("programs/ends_in_abb.py", "Words that end in abb", "babaabb", (8, 32, 128)),
    Exhibit("programs/edit_distance.py", "Edit distance", "gatccatg", (8, 16, 32)),
    Exhibit("programs/longest_common_subsequence.py", "Longest common subsequence", "abcabbca", (8, 16, 32)),
    Exhibit("programs/sorting.py", "Sorting in place", "dbacbad", (8, 16, 32)),
    Exhibit("programs/reachability.py", "Reachability by doubling", "010000001000000100000010000001000000", (36,)),
    Exhibit("programs/rule_110.py", "Rule 110", "000000000000001", (16, 64, 256)),
    Exhibit("programs/life.py", "The Game of Life", "000000001000001000001000000000", (30,)),
    Exhibit("programs/turing_machine.py", "A Turing machine", "aabb", (4, 8, 16)),
    Exhibit("programs/sudoku.py", "A small Sudoku", "12.4..12....4..1", (16,), wrap=4),
    Exhibit("programs/prefix_scan.py", "Prefix sums in place", "0121201", (8, 32, 128)),
]
MOST = 160  # symbols of a line of a run


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for exhibit in EXHIBITS:
        exhibit.picture.write_text(picture_of(exhibit), encoding="utf-8")
    PAGE.write_text(page(EXHIBITS), encoding="utf-8")


def page(exhibits: list[Exhibit]) -> str:
    return "\n".join([HEAD, *(line for exhibit in exhibits for line in section(exhibit))])


def section(exhibit: Exhibit) -> list[str]:
    """Return the lines of a section: title, description, code, picture, run, table."""
    text = (ROOT / "examples" / exhibit.file).read_text(encoding="utf-8")
    return [
        f"## {exhibit.title}\n",
        *listing(exhibit, text),
        "",
        *picture_lines(exhibit),
        *shown_run(exhibit),
        "",
        *size_table(exhibit),
        "",
    ]


def listing(exhibit: Exhibit, text: str) -> list[str]:
    """Return the docstring of a program as text, then its code without the docstring."""
    if not exhibit.file.endswith(".py"):
        return [f"`examples/{exhibit.file}`", "", "```text", text.rstrip(), "```"]
    docstring = ast.parse(text).body[0]
    code = "\n".join(text.splitlines()[docstring.end_lineno :]).strip()
    description = (ast.get_docstring(ast.parse(text)) or "").strip()
    return [description, "", f"`examples/{exhibit.file}`", "", "```python", code, "```"]


def picture_lines(exhibit: Exhibit) -> list[str]:
    return [f"![The slots of a run on {exhibit.word}](pictures/gallery/{exhibit.picture.name})", ""]


def picture_of(exhibit: Exhibit) -> str:
    return picture(exhibit.run, edits=edits(exhibit), wrap=exhibit.wrap)


def edits(exhibit: Exhibit) -> bool:
    """Return whether the program rewrites its slots."""
    problem = parse_problem(exhibit.problem)
    return isinstance(problem, ProgramProblem) and problem.system.edits


def shown_run(exhibit: Exhibit) -> list[str]:
    """Return the slots of the program after every step of masked diffusion, without rows that only read."""
    trace = exhibit.run
    named = [i for i, name in enumerate(trace.slots) if " " not in name]
    lines = [f"input    {exhibit.word}"]
    for t, canvas in enumerate(trace.canvas_symbols, 1):
        cells = ["·" if canvas[i] == trace.mask else canvas[i] for i in named or range(len(canvas))]
        gap = "" if all(len(cell) == 1 for cell in cells) else " "
        line = gap.join(cells)
        lines.append(f"step {t:>3} {line if len(line) <= MOST else line[: MOST - 1] + '…'}")
    if len(lines) > 12:
        lines = [*lines[:8], "…", *lines[-3:]]
    return ["```text", *lines, "```"]


def size_table(exhibit: Exhibit) -> list[str]:
    rows = compare_frameworks(exhibit.problem, exhibit.lengths[-1:])
    return table(
        ("kind", "N", "steps", "space", "width", "layers", "right"),
        [
            (
                f"`{row.framework}`",
                str(row.length),
                f"{row.steps} <= {row.bound.steps}",
                f"{row.padding} <= {row.bound.padding}",
                str(row.width),
                str(row.layers),
                "yes" if row.correct else "no",
            )
            for row in rows
        ],
    )


if __name__ == "__main__":
    main()
