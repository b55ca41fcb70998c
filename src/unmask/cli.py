"""The command line: one command per arrow; each command has its file in `commands/`."""

import io
import json
import sys
from typing import NoReturn

import typer

from unmask.commands.compare import compare
from unmask.commands.compile import compile_
from unmask.commands.convert import convert
from unmask.commands.paper import paper
from unmask.commands.run import run
from unmask.commands.sample import sample
from unmask.commands.verify import verify
from unmask.errors import UnmaskError

app = typer.Typer(
    name="unmask",
    help="Compile problems into masked diffusion models, run them bit by bit, and prove what they can do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("compile")(compile_)
app.command("run")(run)
app.command("convert")(convert)
app.command("compare")(compare)
app.command("verify")(verify)
app.command("paper")(paper)
app.command("sample")(sample)


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
