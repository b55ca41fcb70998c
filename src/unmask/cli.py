"""The command line: one command per arrow; each command has its file in `commands/`."""

import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from unmask.commands.compare import compare
from unmask.commands.compile import compile_
from unmask.commands.convert import convert
from unmask.commands.doctor import doctor
from unmask.commands.export import export
from unmask.commands.extract import extract
from unmask.commands.lab import app as lab
from unmask.commands.paper import paper
from unmask.commands.prove import prove
from unmask.commands.run import run
from unmask.commands.sample import sample
from unmask.commands.samplers import samplers
from unmask.commands.serve import serve
from unmask.commands.shell import CONTEXT, Command, Commands
from unmask.commands.verify import verify
from unmask.commands.view import view
from unmask.errors import OutOfTime, UnmaskError, shortened
from unmask.interrupts import hear_interrupts, interrupted_by, interruptible, stop_hearing, uninterrupted
from unmask.terminal import be_quiet, print_document, say

COMMANDS = {
    "compile": compile_,
    "run": run,
    "convert": convert,
    "compare": compare,
    "verify": verify,
    "prove": prove,
    "export": export,
    "extract": extract,
    "view": view,
    "serve": serve,
    "paper": paper,
    "sample": sample,
    "samplers": samplers,
    "doctor": doctor,
}

INTERRUPTED = 128  # and the number of the signal, as shells say it: 130 after Ctrl-C
READER_GONE = INTERRUPTED + 13  # SIGPIPE: `unmask … | head` is silent, as other commands are
GROUPS = {"lab": lab}
"""Commands that have commands."""
LONGEST_SENTENCE = 1000

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

for group in GROUPS.values():
    app.add_typer(group)


def _version(wanted: bool) -> None:
    if wanted:
        import unmask

        say(f"unmask {unmask.__version__}")
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
    """Run `unmask` as a command: an error is one message and exit code 2."""
    hear_interrupts()
    with uninterrupted():  # an interrupt is raised inside the command alone: after that there is nothing to stop
        _open_streams()
        code = _exit_code()
        _flush()
        stop_hearing()
    sys.exit(code)


def _exit_code() -> int:
    """Run the command. Return its exit code after all that is to be said was printed."""
    try:
        with interruptible():
            code = app(standalone_mode=False) or 0
        if code == INTERRUPTED + signal.SIGINT and interrupted_by() is not None:  # typer has made 130 of any
            code = _interrupted()
        sys.stdout.flush()  # what does not fit anywhere is an error of this command, not of the interpreter's end
    except (UnmaskError, OutOfTime) as error:
        code = _fail(str(error))
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise  # completion has said what there is to say
        _forget(sys.stdout)
        code = READER_GONE
    except KeyboardInterrupt:
        code = _interrupted()
    except MemoryError:
        code = _fail("out of memory; use a smaller model or a shorter word")
    except typer.TyperException as error:  # a wrong option, a missing argument
        reason = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
        code = _fail(f"{reason}; see `unmask --help`") if reason else 2  # no command at all: the help was shown
    except Exception as error:
        if os.environ.get("UNMASK_DEBUG") == "1":
            raise
        code = _fail(_last_word(error)) if interrupted_by() is None else _interrupted()
    return code


def _open_streams() -> None:
    """All three streams as UTF-8; one that is closed takes what is written to it nowhere."""
    # U+0085 and friends are no line ends here, and a byte that is not UTF-8 must not stop the stream
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process


def _last_word(error: Exception) -> str:
    """What is said of an error that has no sentence of its own: a full disk behind a stream, or a mistake of ours."""
    if isinstance(error, OSError) and error.filename is None:
        return f"what the command prints cannot be written: {error.strerror or error}"
    if isinstance(error, OSError):
        return f"{shortened(str(error.filename))}: {error.strerror or error}"
    if isinstance(error, RecursionError):
        return "this is nested too deeply; take something simpler"
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this should not happen: {type(error).__name__} in line {where.lineno} of {Path(where.filename).name}; "
        "please report what you did (UNMASK_DEBUG=1 shows more)"
    )


def _interrupted() -> int:
    number = interrupted_by() or signal.SIGINT
    how = "interrupted" if number is signal.SIGINT else f"interrupted by {number.name}"
    return _fail(how, INTERRUPTED + number)


def _fail(sentence: str, code: int = 2) -> int:
    sentence = shortened(sentence, most=LONGEST_SENTENCE)  # a folder may name its symbols with megabytes
    try:
        if "--json" in sys.argv:
            print_document({"error": sentence})
        sys.stdout.flush()
    except OSError:
        _forget(sys.stdout)
    with suppress(OSError):
        say(f"unmask: {sentence}", stderr=True)
    return code


def _flush() -> None:
    """Nothing is left to be written when the interpreter ends, for nobody could say then that it failed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _forget(stream)


def _forget(stream: TextIO) -> None:
    """Let what is still in the buffer of a stream go nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    main()
