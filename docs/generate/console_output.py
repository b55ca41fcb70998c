"""Run the console blocks of pages and write their output anew: `make pages`, or `python … PAGE …` for some pages.

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
        written = refreshed(text, page)
        if written != text:
            page.write_text(written, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: changed")


def refreshed(text: str, page: Path) -> str:
    """Return the text of a page with the output of every command replaced by what it prints now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "parity.json").write_text(PARITY)
        for file, content in files(page):
            (folder / file).write_text(content, encoding="utf-8")
        return BLOCK.sub(lambda match: _block(match[1], folder), text)


def _block(block: str, folder: Path) -> str:
    parts = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return "```console\n" + "".join(f"$ {line}\n{_output(line, shown, folder)}" for line, _, shown in parts) + "```"


def _output(line: str, shown: str, folder: Path) -> str:
    if line.startswith("make "):
        return shown
    _, printed = command_line.run(line, folder)
    if comparable(printed) == comparable(shown):
        return shown
    lines = [each.rstrip() for each in printed.strip("\n").splitlines()]
    return "".join(f"{each}\n" for each in lines)


if __name__ == "__main__":
    main()
