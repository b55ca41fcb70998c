"""Write docs/reference/command-line.md from the commands themselves: `make command-line`."""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "src"))

from typer.main import get_command  # noqa: E402

from unmask.cli.commands import OVERVIEW, app  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "command-line.md"
HEAD = """# Command line

Every command, its arguments and its options. `unmask COMMAND --help` prints the same on a terminal. This page is
written from the code by `make command-line`.

Exit codes: 0 success (`run`: accepted), 1 a negative answer (`run`: rejected; `verify` and `prove`: refuted; `compare`
and `paper`: a check failed), 2 an error or an unknown result. An error is one line on standard error; with `--json` it
is also printed as a JSON document.
"""


def page() -> str:
    """Return the text of the page."""
    group: Any = get_command(app)
    overview = re.sub(r"\[/?\w+\]", "", OVERVIEW)
    parts = [HEAD, f"`unmask` without arguments prints an overview:\n\n```text\n{overview}\n```\n", _commands(group)]
    parts.append("## Options of all commands\n\n" + _options(group))
    parts += [_section(f"unmask {name}", command) for name, command in _all_commands(group)]
    return "\n".join(parts)


def _all_commands(group: Any) -> list[tuple[str, Any]]:
    """Return (name, command) for every command; the subcommands of a group replace it."""
    commands = []
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        commands += [(name, command)] if inner is None else [(f"{name} {sub}", inner[sub]) for sub in inner]
    return commands


def _commands(group: Any) -> str:
    rows = [f"| [`{name}`](#unmask-{name.replace(' ', '-')}) | {_first(c)} |" for name, c in _all_commands(group)]
    return "\n".join(["| command | what it does |", "|---|---|", *rows, ""])


def _first(command: Any) -> str:
    return _cell(command.help.split("\n\n")[0])


def _section(title: str, command: Any) -> str:
    text = "\n\n".join(paragraph for paragraph in command.help.split("\n\n") if not paragraph.startswith("Example"))
    examples = re.findall(r"Example: \[bold\](.*?)\[/bold\]", command.help)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([title, *(p.metavar if p.required else f"[{p.metavar}]" for p in arguments), "[OPTIONS]"])
    lines = [f"## {title}\n", text, "", "```sh", *examples, "```", "", f"Usage: `{usage}`", ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{p.metavar}` | {_cell(p.help)} |" for p in arguments] + [""]
    return "\n".join(lines) + "\n" + _options(command)


def _options(command: Any) -> str:
    rows = []
    for p in command.params:
        if p.param_type_name != "option" or p.name in ("install_completion", "show_completion"):
            continue
        names = ", ".join([*p.opts, *p.secondary_opts])
        value = f" {p.metavar}" if p.metavar else ""
        rows.append(f"| `{names}{value}` | {_cell(p.help)} | {'required' if p.required else _default(p)} |")
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows, ""]) if rows else ""


def _default(option: Any) -> str:
    if isinstance(option.show_default, str):
        return f"`{option.show_default}`"
    if option.is_flag or option.default is None or option.show_default is False:
        return ""
    return f"`{getattr(option.default, 'value', option.default)}`"


def _cell(text: str) -> str:
    """Return the text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
