"""The command line: one command per arrow; each command has its file in `commands/`."""

import io
import json
import sys
from typing import Annotated, NoReturn

import typer

from unmask.commands.compare import compare
from unmask.commands.compile import compile_
from unmask.commands.convert import convert
from unmask.commands.doctor import doctor
from unmask.commands.extract import extract
from unmask.commands.paper import paper
from unmask.commands.run import run
from unmask.commands.sample import sample
from unmask.commands.serve import serve
from unmask.commands.shell import CONTEXT, Command, Commands
from unmask.commands.verify import verify
from unmask.commands.view import view
from unmask.errors import UnmaskError
from unmask.terminal import be_quiet

COMMANDS = {
    "compile": compile_,
    "run": run,
    "convert": convert,
    "compare": compare,
    "verify": verify,
    "extract": extract,
    "view": view,
    "serve": serve,
    "paper": paper,
    "sample": sample,
    "doctor": doctor,
}

app = typer.Typer(
    name="unmask",
    cls=Commands,
    context_settings=CONTEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for name, command in COMMANDS.items():
    app.command(name, cls=Command, context_settings=CONTEXT)(command)


def _version(wanted: bool) -> None:
    if wanted:
        import unmask

        print(f"unmask {unmask.__version__}")
        raise typer.Exit


@app.callback()
def front_door(
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print documents, samples and one line per word; nothing else but errors."),
    ] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Compile problems into masked diffusion models, run them bit by bit, and prove what they can do.

    Example: [bold]unmask compile '(a|b)*abb' --length 16 --to mdm --out models/abb[/bold]
    """
    be_quiet(quiet)


def main() -> NoReturn:
    """`unmask` as a command: an error is one sentence and exit code 2."""
    # U+0085 and friends are no line ends here, and a byte that is not UTF-8 must not stop the stream
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    try:
        code = app(standalone_mode=False) or 0
    except UnmaskError as error:
        code = _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        code = 2
    except KeyboardInterrupt:
        code = _fail("interrupted")
    except MemoryError:
        code = _fail("out of memory; use a smaller model or a shorter word")
    except typer.TyperException as error:  # a wrong option, a missing argument
        reason = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
        code = _fail(f"{reason}; see `unmask --help`") if reason else 2  # no command at all: the help was shown
    sys.exit(code)


def _fail(sentence: str) -> int:
    if "--json" in sys.argv:
        print(json.dumps({"error": sentence}))
    print(f"unmask: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
