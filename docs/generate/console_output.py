"""Run the console blocks of pages and replace their output: `make pages`, or `python … PAGE …` for some pages.

An output that differs only in times is kept. Read the diff before you commit it: a page must not follow a bug.
"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "src")]

import command_line  # noqa: E402
from test_docs import EVERY_PAGE, PARITY, comparable, files  # noqa: E402

BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def main() -> None:
    chosen = [Path(name).resolve() for name in sys.argv[1:]]
    for page in chosen or EVERY_PAGE:
        text = page.read_text(encoding="utf-8")
        written = with_current_output(text, page)
        if written != text:
            page.write_text(written, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: changed")


def with_current_output(text: str, page: Path) -> str:
    """Return the text of a page with the current output of every command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "parity.json").write_text(PARITY)
        for file, content in files(page):
            (folder / file).write_text(content, encoding="utf-8")
        return BLOCK.sub(lambda match: _block(match[1], folder), text)


def _block(block: str, folder: Path) -> str:
    entries = [entry.partition("\n") for entry in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return "```console\n" + "".join(f"$ {line}\n{_output(line, output, folder)}" for line, _, output in entries) + "```"


def _output(line: str, output: str, folder: Path) -> str:
    if line.startswith("make "):
        return output
    _, printed = command_line.run(line, folder)
    if comparable(printed) == comparable(output):
        return output
    lines = [each.rstrip() for each in printed.strip("\n").splitlines()]
    return "".join(f"{each}\n" for each in lines)


if __name__ == "__main__":
    main()
