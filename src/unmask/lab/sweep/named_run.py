"""What a person names → one run: a JSON file, a preset such as S3-tree, or a PROBLEM; and the program, if it is one.

A program is run where a person has named its file: as the PROBLEM, or beside a config by --program.
"""

from pathlib import Path

import msgspec

from unmask.lab.settings.config import Config, LabError, config_of, read_config
from unmask.lab.settings.shape import Shape
from unmask.lab.sweep.presets import SECONDS, STEPS, run_preset
from unmask.lab.tasks.algebra import REGULAR
from unmask.lab.tasks.task import PROGRAM
from unmask.lab.training.checkpoint import CONFIG
from unmask.problems.program import ProgramProblem, parse_program


def named_run(
    name: str, *, length: int | None = None, framework: str | None = None, program: Path | None = None
) -> tuple[Config, ProgramProblem | None]:
    path = Path(name)
    is_file = path.is_file() or path.suffix == ".json"
    if not is_file and name.startswith(tuple(f"{prefix}:" for prefix in REGULAR)):
        if program is not None:
            raise LabError(f"{name} is a problem of its own; leave --program out")
        return _run_of(name, length, framework or "tree"), None
    if name.startswith(PROGRAM):
        given = parse_program(name.removeprefix(PROGRAM))
        return _with(_run_of(given.name, length, framework or "program"), given), given
    if length is not None or framework is not None:
        raise LabError(f"--length and --framework belong to a PROBLEM, and {name} has its own; leave them out")
    config = read_config(path) if is_file else run_preset(name)
    if not config.problem.startswith(PROGRAM):
        if program is not None:
            raise LabError(f"{name} trains {config.problem}, which is no program; leave --program out")
        return config, None
    given = given_program(config, program)
    return _with(config, given), given


def given_program(config: Config, file: Path | None) -> ProgramProblem:
    """The program that a config names, from the file that a person names."""
    if file is None:
        raise LabError(f"{config.problem} is code, and a config does not run it; give its file with --program FILE.py")
    program = parse_program(str(file))
    if program.name != config.problem:
        raise LabError(f"the run is one of {config.problem}, and {file} is another file; give that one")
    return program


def given_for(folder: Path, file: Path | None) -> ProgramProblem | None:
    """The program of a folder of `train`, which does not hold it; None where it was trained on none."""
    path = folder / CONFIG
    config = read_config(path) if path.is_file() else None
    if config is None or not config.problem.startswith(PROGRAM):
        return None
    return given_program(config, file)


def _with(config: Config, program: ProgramProblem) -> Config:
    """With the hash of its file, so that another one is told apart; a config that has one keeps it."""
    return msgspec.structs.replace(config, sha256=config.sha256 or program.sha256)


def _run_of(problem: str, length: int | None, framework: str) -> Config:
    run = {"problem": problem, "framework": framework, "steps": STEPS, "cpu_seconds": SECONDS, "length": length or 16}
    shape = msgspec.to_builtins(Shape(aux=framework != "direct"))
    return config_of({**run, "shape": shape}, name="the run")
