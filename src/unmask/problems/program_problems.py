"""program:FILE.py: the answers of a system of recurrences. The file is the user's own code, and is run.

A folder stores only the name and the hash of the file, so loading a folder never runs it. To compare a model with its
program, give the file again.
"""

import hashlib
import runpy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from unmask.errors import OutOfTime, ProblemError, UnmaskError, message_of, shortened
from unmask.files import read_file
from unmask.problems.problem import Outcome, Problem, Recurrences, Stored, Word
from unmask.problems.regular_problems import symbols_of_word
from unmask.recurrences.interpreter import Interpreter
from unmask.recurrences.rule_functions import LONGEST_REASON
from unmask.recurrences.system import System, is_truth, symbol_names

MOST_BYTES = 1 << 20
KEPT = 16  # the number of lengths whose interpreters are cached


@dataclass(frozen=True, eq=False)
class ProgramProblem(Problem):
    """What are the answers of the program? Oracle: its interpreter, which does not use transformers."""

    title: str
    program: System
    sha256: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpreter", lru_cache(maxsize=KEPT)(self._interpreter))

    @property
    def system(self) -> System:
        """The program itself."""
        return self.program

    def interpreter(self, length: int) -> Interpreter:
        """The interpreter for words of one length; raise ProblemError if the program is wrong at this length."""
        return self._interpreter(length)

    def _interpreter(self, length: int) -> Interpreter:
        return Interpreter(self.system, length)

    @property
    def name(self) -> str:
        """The PROBLEM string, without the path of the file."""
        return self.title

    @property
    def letters(self) -> tuple[str, ...]:
        return self.system.letters

    def has_length(self, length: int) -> bool:
        try:
            self.interpreter(length)
        except UnmaskError:
            return False
        return True

    def outputs(self, length: int) -> int:
        return len(self.interpreter(length).unfolding.answers)

    def answer_symbols(self, length: int) -> frozenset[str]:  # noqa: ARG002
        """The values that an answer may have besides true and false."""
        names = symbol_names(self.system)
        return frozenset(names[value] for value in self.system.answer_group.values if not is_truth(value))

    def outcome(self, word: Word) -> Outcome:
        """The values of the answer slots: bits if they can only be truth values, else their names."""
        symbols = symbols_of_word(word, self.letters)
        answers = self.interpreter(len(symbols)).run(symbols).answers
        if all(is_truth(value) for value in self.system.answer_group.values):
            return Outcome.of_bits(answers)
        names = symbol_names(self.system)
        return Outcome(value=" ".join(str(int(value)) if is_truth(value) else names[value] for value in answers))

    def specification(self, length: int) -> Recurrences:
        return Recurrences(self.interpreter(length))

    def stored(self) -> Stored:
        return StoredProgram(self.title, self.sha256)


class StoredProgram(Stored, frozen=True, tag="program"):
    """The name of the program and the hash of its file, the number of its answers, the names of its slots.

    `symbols` are the possible answers besides accept and reject: [] for truth values, None in older folders.
    """

    name: str
    sha256: str = ""
    outputs: int = 1
    slots: tuple[str, ...] = ()
    symbols: tuple[str, ...] | None = None

    def problem(self) -> "AbsentProgram":
        return AbsentProgram(self.name, self.sha256, self.outputs)


@dataclass(frozen=True, eq=False)
class AbsentProgram(Problem):
    """A program of which only the name is known, because a folder does not store the program."""

    title: str
    sha256: str
    answers: int

    @property
    def name(self) -> str:
        return self.title

    @property
    def letters(self) -> tuple[str, ...]:
        return ()

    @property
    def has_answers(self) -> bool:
        return False

    @property
    def why_no_answers(self) -> str:
        file = f", a file with the SHA-256 {self.sha256[:12]}…" if self.sha256 else ""
        named = f"the folder names {shortened(self.title)}{file}"
        return f"{named}, and does not hold it; give it with --against program:FILE.py"

    def outputs(self, length: int) -> int:  # noqa: ARG002
        return self.answers

    def outcome(self, word: Word) -> Outcome:  # noqa: ARG002
        raise ProblemError(self.why_no_answers)

    def stored(self) -> Stored:
        return StoredProgram(self.title, self.sha256, self.answers)


def program_problem(system: System) -> ProgramProblem:
    """A program that is not in a file."""
    return ProgramProblem(f"program:{system.name}", system)


def parse_program(path: str) -> ProgramProblem:
    """program:FILE.py: run the file and take its System."""
    if not path:
        raise ProblemError("program: has no file name; write program:FILE.py")
    content, namespace = run_file(path, "program")
    system = _system(namespace, path)
    return ProgramProblem(f"program:{Path(path).name}", system, sha256_of(content))


def run_file(path: str, kind: str) -> tuple[bytes, dict[str, Any]]:
    """Run a Python file of the user and return (content, names); an exception in it becomes an error message."""
    content = read_file(path, f"the {kind} {shortened(path)}", most=MOST_BYTES, error=ProblemError)
    try:
        return content, runpy.run_path(path)
    except UnmaskError as error:
        line = line_in(path, error)
        where = f"line {line} of {shortened(Path(path).name)}: " if line is not None else ""
        raise type(error)(f"{where}{error}") from error
    except (KeyboardInterrupt, OutOfTime):
        raise
    except BaseException as error:  # of any class that the file defines
        line = line_in(path, error)
        where = f" at line {line}" if line is not None else ""
        fault = f"raises {type(error).__name__}{where} ({message_of(error, LONGEST_REASON)})"
        raise ProblemError(f"the {kind} {shortened(path)} {fault}; correct it there") from error


def sha256_of(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def line_in(path: str, error: BaseException) -> int | None:
    """The line of the file in which an error was raised."""
    if isinstance(error, SyntaxError):
        return error.lineno
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _system(namespace: dict[str, object], path: str) -> System:
    """The System called `program`, or else the only System of the file."""
    systems = list({id(value): value for value in namespace.values() if isinstance(value, System)}.values())
    named = namespace.get("program")
    if isinstance(named, System):
        return named
    if len(systems) != 1:
        count = "no System" if not systems else f"{len(systems)} Systems"
        raise ProblemError(f"the program {shortened(path)} has {count}; write program = System(…)")
    return systems[0]
