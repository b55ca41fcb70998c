"""Conventions of all commands: `-q` anywhere on the line, `-h` for help, help texts that wrap at any width."""

import inspect
import re
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

CONTEXT = {"help_option_names": ["-h", "--help"]}
QUIET = ("-q", "--quiet")


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""  # else `--json <bool>`, as if it took a value
    return parameters


def _reflowed(text: str | None) -> str | None:
    """Join the lines of each paragraph, so that the terminal wraps it; every `Example:` keeps its own line."""
    if text is None:
        return None
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(re.sub(r"\n(?!Example: )", " ", paragraph) for paragraph in paragraphs)


class Command(TyperCommand):
    def __init__(self, *arguments: Any, help: str | None = None, **options: Any) -> None:
        super().__init__(*arguments, help=_reflowed(help), **options)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class Commands(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`unmask run DIR WORD -q` means `unmask -q run DIR WORD`; after `--`, everything is a word."""
        end = args.index("--") if "--" in args else len(args)
        options, words = args[:end], args[end:]
        quiet = [option for option in options if option in QUIET][:1]
        return super().parse_args(ctx, [*quiet, *(option for option in options if option not in QUIET), *words])
