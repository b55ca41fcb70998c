"""Command line of `unmask`: the list of commands, exit codes, and messages for errors."""

import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn, TextIO

import typer

from unmask.cli.bench import app as bench
from unmask.cli.compile import compile_, convert, extract
from unmask.cli.doctor import doctor
from unmask.cli.export import export
from unmask.cli.lab import app as lab
from unmask.cli.options import CONTEXT, Command, Commands
from unmask.cli.paper import paper
from unmask.cli.prove import prove
from unmask.cli.run import run, sample
from unmask.cli.samplers import samplers, schedule
from unmask.cli.terminal import console, print_document, say, set_quiet
from unmask.cli.verify_and_compare import compare, verify
from unmask.cli.view import serve, view
from unmask.errors import OutOfTime, UnmaskError, shortened
from unmask.limits import handle_interrupts, interrupted_by, interruptible, stop_handling_interrupts, uninterrupted

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
    "schedule": schedule,
    "doctor": doctor,
}

INTERRUPTED = 128  # plus the number of the signal, as in shells: 130 after Ctrl-C
READER_GONE = INTERRUPTED + 13  # SIGPIPE: `unmask … | head` is silent, as other commands are
GROUPS = {"bench": bench, "lab": lab}
"""Commands with subcommands."""
LONGEST_MESSAGE = 1000

OVERVIEW = """\
[bold]unmask[/bold] compiles problems into masked diffusion models, runs them, and proves
what they can do.

Compile a model for a regular expression, and run it on a word of 16 letters:
  [bold]unmask compile '(a|b)*abb' --length 16 --to mdm --out models/abb[/bold]
  [bold]unmask run models/abb abbaabbababababb[/bold]

Prove that the model is correct for every word of 16 letters:
  [bold]unmask verify models/abb --method prove[/bold]

Compare masked diffusion with chain of thought and the other frameworks:
  [bold]unmask compare group:A5 --lengths 8,64[/bold]

[dim]unmask --help[/dim]           all commands
[dim]unmask COMMAND --help[/dim]   one command with its options
[dim]unmask doctor[/dim]           what is installed, and what each extra adds"""

app = typer.Typer(
    name="unmask",
    cls=Commands,
    context_settings=CONTEXT,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for name, command in COMMANDS.items():
    app.command(name, cls=Command, context_settings=CONTEXT)(command)

for group in GROUPS.values():
    app.add_typer(group)


def _version(is_requested: bool) -> None:
    if is_requested:
        import unmask

        say(f"unmask {unmask.__version__}")
        raise typer.Exit


@app.callback()
def overview(
    context: typer.Context,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only JSON, samples, one line per word, and errors."),
    ] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Compile problems into masked diffusion models, run them bit by bit, and prove what they can do.

    Example: [bold]unmask compile '(a|b)*abb' --length 16 --to mdm --out models/abb[/bold]
    """
    set_quiet(quiet)
    if context.invoked_subcommand is None:
        console().print(OVERVIEW)


def main() -> NoReturn:
    """Run `unmask` as a command: an error is one message and exit code 2."""
    handle_interrupts()
    with uninterrupted():  # interrupts are raised only inside the command, where there is something to stop
        _open_streams()
        code = _exit_code()
        _flush()
        stop_handling_interrupts()
    sys.exit(code)


def _exit_code() -> int:
    """Run the command. Return its exit code after all output was printed."""
    try:
        with interruptible():
            code = app(standalone_mode=False) or 0
        if code == INTERRUPTED + signal.SIGINT and interrupted_by() is not None:  # typer returns 130 for any signal
            code = _interrupted()
        sys.stdout.flush()  # a full disk is an error of this command, not of the interpreter at exit
    except (UnmaskError, OutOfTime) as error:
        code = _fail(str(error))
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise  # shell completion has already printed
        _discard_output(sys.stdout)
        code = READER_GONE
    except KeyboardInterrupt:
        code = _interrupted()
    except MemoryError:
        code = _fail("out of memory; use a smaller model or a shorter word")
    except typer.TyperException as error:  # a wrong option, a missing argument
        reason = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
        command = context.command_path if (context := getattr(error, "ctx", None)) else "unmask"
        code = _fail(f"{reason}; see `{command} --help`") if reason else 2
    except Exception as error:
        if os.environ.get("UNMASK_DEBUG") == "1":
            raise
        code = _fail(_unexpected_message(error)) if interrupted_by() is None else _interrupted()
    return code


def _open_streams() -> None:
    """Set all three streams to UTF-8; output to a closed stream is discarded."""
    # only \n ends a line (not U+0085), and a byte that is not UTF-8 must not stop the stream
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


def _unexpected_message(error: Exception) -> str:
    """Return the message for an unexpected error: a failed write, or a bug."""
    if isinstance(error, OSError) and error.filename is None:
        return f"the output cannot be written: {error.strerror or error}; check the disk or the pipe"
    if isinstance(error, OSError):
        return f"{shortened(str(error.filename))}: {error.strerror or error}"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; use a simpler one"
    program = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_of_a_program(frame)]
    if program:
        frame, line = program[-1]
        name, raised = Path(frame.f_code.co_filename).name, type(error).__name__
        return f"the program {shortened(name)} raises {shortened(raised)} at line {line}; correct it there"
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this should not happen: {type(error).__name__} in line {where.lineno} of {Path(where.filename).name}; "
        "please report this bug with the output under UNMASK_DEBUG=1"
    )


def _is_of_a_program(frame: FrameType) -> bool:
    """Return whether this is a frame of program:FILE.py, which `runpy.run_path` runs under this name."""
    return frame.f_globals.get("__name__") == "<run_path>"


def _interrupted() -> int:
    number = interrupted_by() or signal.SIGINT
    how = "interrupted" if number is signal.SIGINT else f"interrupted by {number.name}"
    return _fail(how, INTERRUPTED + number)


def _fail(message: str, code: int = 2) -> int:
    message = shortened(message, most=LONGEST_MESSAGE)  # symbols in a model folder may be megabytes long
    try:
        if "--json" in sys.argv:
            print_document({"error": message})
        sys.stdout.flush()
    except OSError:
        _discard_output(sys.stdout)
    with suppress(OSError):
        say(f"unmask: {message}", stderr=True)
    return code


def _flush() -> None:
    """Flush both streams now, because a failure at interpreter exit could not be reported."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard_output(stream)


def _discard_output(stream: TextIO) -> None:
    """Discard what is left in the buffer of a stream."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    main()
