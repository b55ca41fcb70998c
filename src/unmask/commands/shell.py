"""How the commands meet the shell: `-q` wherever it stands, `-h`, and help pages that show no type for a switch."""

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

CONTEXT = {"help_option_names": ["-h", "--help"]}
QUIET = ("-q", "--quiet")


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""  # else `--json <bool>`, as if it took a value
    return parameters


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class Commands(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`unmask run DIR WORD -q` means `unmask -q run DIR WORD`; behind `--` everything is a word."""
        end = args.index("--") if "--" in args else len(args)
        options, words = args[:end], args[end:]
        quiet = [option for option in options if option in QUIET][:1]
        return super().parse_args(ctx, [*quiet, *(option for option in options if option not in QUIET), *words])
