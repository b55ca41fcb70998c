"""What a person names → one run: a JSON file, a preset such as S3-tree, or a PROBLEM; and the program, if it is one.

A program is run where a person has named its file: as the PROBLEM, or beside a config by --program.
"""

from os.path import isfile
from pathlib import Path

import msgspec

from unmask.errors import ProblemError, shortened
from unmask.files import is_there, read_file
from unmask.lab.settings.config import Config, LabError, check_hash, config_of, read_config
from unmask.lab.settings.shape import Shape
from unmask.lab.sweep.presets import SECONDS, STEPS, run_preset
from unmask.lab.tasks.algebra import REGULAR
from unmask.lab.tasks.task import PROGRAM
from unmask.lab.training.checkpoint import CONFIG
from unmask.problems.program import MOST_BYTES, ProgramProblem, parse_program, sha256_of

LENGTH = 16


def named_run(
    name: str, *, length: int | None = None, framework: str | None = None, program: Path | None = None
) -> tuple[Config, ProgramProblem | None]:
    is_file = isfile(name) or name.endswith(".json")
    is_problem = not is_file and name.startswith((PROGRAM, *(f"{prefix}:" for prefix in REGULAR)))
    if is_problem and program is not None:
        raise LabError(f"--program cannot be combined with the problem {shortened(name)}; leave out --program")
    if is_problem and not name.startswith(PROGRAM):
        return _run_of(name, length, framework or "tree"), None
    if is_problem:
        given = parse_program(name.removeprefix(PROGRAM))
        return _with(_run_of(given.name, length, framework or "program"), given), given
    if length is not None or framework is not None:
        raise LabError(f"--length and --framework are only for a PROBLEM, and {name} sets both; leave them out")
    config = read_config(Path(name)) if is_file else run_preset(name)
    given = given_program(config, program)
    return (config if given is None else _with(config, given)), given


def given_program(config: Config, file: Path | None) -> ProgramProblem | None:
    """The program that a config names, from the file that a person names, which is not run if it is another one."""
    if not config.problem.startswith(PROGRAM):
        if file is not None:
            raise LabError(f"the run uses {config.problem}, which is not a program; leave out --program")
        return None
    if file is None:
        raise LabError(
            f"the config names {config.problem} but does not contain its code; give the file with --program FILE.py"
        )
    if f"{PROGRAM}{file.name}" != config.problem:
        raise LabError(f"the run uses {config.problem}, but {file} is another file; give {config.problem}")
    if config.sha256:
        check_hash(config, sha256_of(read_file(file, f"the program {file}", most=MOST_BYTES, error=ProblemError)))
    return parse_program(str(file))


def given_for(folder: Path, file: Path | None) -> ProgramProblem | None:
    """The program of a folder of `train`, which does not hold it; None where it was trained on none."""
    path = folder / CONFIG
    return given_program(read_config(path), file) if is_there(path) else None


def _with(config: Config, program: ProgramProblem) -> Config:
    """With the hash of its file, so that another one is told apart; a config that has one keeps it."""
    return msgspec.structs.replace(config, sha256=config.sha256 or program.sha256)


def _run_of(problem: str, length: int | None, framework: str) -> Config:
    run = {"problem": problem, "framework": framework, "steps": STEPS, "cpu_seconds": SECONDS}
    run["length"] = LENGTH if length is None else length
    shape = msgspec.to_builtins(Shape(aux=framework != "direct"))
    return config_of({**run, "shape": shape}, name="the run")
