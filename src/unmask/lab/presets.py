"""The runs of the lab: one cell of a table (`SweepCell`), the named presets, and the names that users give to runs."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from os.path import isfile
from pathlib import Path
from typing import Any

import msgspec

from unmask.errors import ProblemError, shortened
from unmask.files import path_exists, read_file
from unmask.lab.settings import Config, LabError, Shape, check_hash, read_run_config, run_config_of
from unmask.lab.task_sources import REGULAR
from unmask.lab.tasks import FRAMEWORKS, PROGRAM
from unmask.problems.program_problems import MOST_BYTES, ProgramProblem, parse_program, sha256_of

LONGER_WORDS, PLANNED_WORDS = 100, 200
SIGNAL_BATCHES = 32


class SweepCell(msgspec.Struct, frozen=True):
    """One cell: `table` says where it is shown; `measures` are among longer, operands, planners and signal.

    longer     accuracy at two and four times the length it was trained at
    operands   how much attention goes to the right operands, and of a tree, whether its planner waits for them and
               which of its levels are right
    planners   every planner on the trained predictor
    signal     the pull on attention that was kept uniform for the steps of the config; nothing else is measured then
    """

    table: str
    config: Config
    measures: tuple[str, ...] = ("operands",)

    @property
    def key(self) -> str:
        """Return a readable name, made unique by a hash."""
        config = self.config
        digest = hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:10]
        problem = "".join(c if c.isalnum() else "-" for c in config.problem.removeprefix("group:"))[:24]
        return f"{self.table}-{problem}-{config.length}-{config.framework}-s{config.seed}-{digest}"

    def to_json(self) -> dict[str, Any]:
        return {"table": self.table, "config": settings(self.config), "measures": list(self.measures)}


def settings(config: Config) -> dict[str, Any]:
    """Return the settings that differ from the defaults, and those that name the run."""
    always_listed = {name: getattr(config, name) for name in ("problem", "length", "framework", "seed")}
    shape = {
        name: value for name, value in msgspec.to_builtins(config.shape).items() if value != getattr(Shape(), name)
    }
    plain = Config()
    changed = {
        name: getattr(config, name)
        for name in config.__struct_fields__
        if name != "shape" and getattr(config, name) != getattr(plain, name)
    }
    return {**always_listed, **changed, "cpu_seconds": config.cpu_seconds, "shape": shape}


def run_cell(cell: SweepCell, folder: Path | None = None) -> dict[str, Any]:
    """Train, measure, and drop the weights; a folder keeps checkpoints until the cell is done."""
    import torch

    torch.set_num_threads(1)
    if "signal" in cell.measures:
        return _signal(cell)
    from unmask.lab.training import train

    run = train(cell.config, folder)
    result = run.to_json()
    history = result.pop("history")
    result["curve"] = [[moment["step"], moment["right"]] for moment in history]
    measured = _measured(cell, run)
    if folder is not None:
        from unmask.lab.checkpoints import remove_run

        remove_run(folder)
    return {**result, **measured}


def _measured(cell: SweepCell, run: Any) -> dict[str, Any]:
    from unmask.lab.network_measures import measure_waiting, operand_attention, right_by_level
    from unmask.lab.task_layouts import MOST_ROWS
    from unmask.lab.task_sources import Stream
    from unmask.lab.trained_model import accuracy
    from unmask.lab.trained_sampling import measure_samplers

    trained, measured = run.trained, {}
    if "operands" in cell.measures:
        attention = operand_attention(trained, seed=cell.config.seed)
        if attention is not None:
            measured["operands"] = {
                "best": attention.best,
                "uniform": attention.uniform,
                "mass": attention.mass.round(4).tolist(),
            }
        planner_waiting = measure_waiting(trained, seed=cell.config.seed)
        if planner_waiting is not None:
            measured["waiting"] = asdict(planner_waiting)
            measured["levels"] = right_by_level(trained, seed=cell.config.seed)
    if "longer" in cell.measures and run.progress.ended == "converged":
        measured["longer"] = {}
        for length in (2 * trained.length, 4 * trained.length):
            resized = trained.at_length(length)
            if resized.task.rows <= MOST_ROWS:
                longer_accuracy = accuracy(resized, LONGER_WORDS, seed=cell.config.seed, stream=Stream.judging)
                measured["longer"][str(length)] = longer_accuracy.right
    if "planners" in cell.measures:
        measured["planners"] = measure_samplers(trained, count=PLANNED_WORDS, seed=cell.config.seed)
    return measured


def _signal(cell: SweepCell) -> dict[str, Any]:
    from unmask.lab.network_measures import pull_on_uniform_attention
    from unmask.lab.training import library_versions

    pull = pull_on_uniform_attention(cell.config, batches=SIGNAL_BATCHES)
    return {"signal": asdict(pull), "made_by": library_versions()}


# Presets: names → cells, the most informative first, seed by seed, so that a part of a table is useful by itself.
#
# quick       Z2 and S3 at N = 8, the five frameworks
# paper       the main table
# rows        beside it: β, the supervisions of a loop, learning rates where a framework fails, more seeds
# planners    predictors trained by random masking, under every planner
# questions   controls for the open questions


GROUPS = ("S3", "A5", "Z2", "Z60")
CHEAP_FIRST = ("cot", "scan", "tree", "looped", "direct")
SEEDS = (0, 1, 2)
MORE_SEEDS = (3, 4)
LARGE = ("A5", "Z60")
RATES = (1e-3, 4e-3)  # in addition to that of the table, 2e-3
FAILING_SEEDS = {  # the first seed in which a configuration of the table fails, if it is not seed 0
    ("A5", 16, "cot", False): 2,
    ("Z60", 16, "cot", False): 1,
    ("A5", 32, "cot", False): 2,
    ("S3", 16, "tree", False): 1,
}
LEARNED_LOOPS = (("Z2", 16, True), ("Z2", 16, False), ("Z2", 32, True), ("S3", 16, True))  # in every seed
CHAIN_FACTORS, SCAN_FACTORS = (2, 3, 4, 5), (2, 3, 4)  # at N = 16: 16, 8, 6, 4 symbols; 5, 4, 3 steps
STEPS = 2000  # batches after which a run is stopped
BRIEF_STEPS = {"large": 600, "small": 1500}  # batches of a loop at N = 32, where STEPS take eight minutes
MASKED_STEPS = 1000
SECONDS = 600.0  # of CPU, a safeguard; the number of steps has the same effect on every machine, however busy
A5_MASKED = {"batch": 128, "steps": 2000, "cpu_seconds": 3 * SECONDS}  # from batches of 32 it learned nothing


def group_scale(group: str) -> str:
    return "large" if group in LARGE else "small"


def shape_for_group(group: str, **switches: Any) -> Shape:
    """Return a shape of width 128 for the groups of 60 elements, 64 for the others."""
    width = 128 if group in LARGE else 64
    settings: dict[str, Any] = {"width": width, "hidden": 2 * width, **switches}
    return Shape(**settings)


def config_of_group(group: str, length: int, framework: str, seed: int, shape: Shape, **more: Any) -> Config:
    """Return a config that stops after its STEPS: at most two minutes of an idle core at N = 16, three at N = 32."""
    steps = BRIEF_STEPS[group_scale(group)] if (framework, length) == ("looped", 32) else STEPS
    settings: dict[str, Any] = {"framework": framework, "steps": steps, "cpu_seconds": SECONDS, **more}
    return Config(problem=f"group:{group}", length=length, seed=seed, shape=shape, **settings)


def quick() -> Iterator[SweepCell]:
    for seed in (0, 1):
        for group in ("S3", "Z2"):
            for framework in CHEAP_FIRST:
                config = config_of_group(group, 8, framework, seed, shape_for_group(group, aux=True), steps=600)
                yield SweepCell("main", config)


def paper() -> Iterator[SweepCell]:
    """Yield every cell at one seed, then at the next, except cells that take long."""
    for seed in SEEDS:
        yield from (cell for cell in main_cells(seed) if not takes_long(cell))


def main_cells(seed: int) -> Iterator[SweepCell]:
    for length in (16, 32):
        for aux in (True, False):
            yield from main_rows(length, seed, aux=aux)


def takes_long(cell: SweepCell) -> bool:
    """Return whether a cell takes long: at N = 32, loops (minutes) and Z60 (as long as A5), which belong to `rows`."""
    return cell.config.length > 16 and (cell.config.problem == "group:Z60" or cell.config.framework == "looped")


def rows() -> Iterator[SweepCell]:
    yield from beta_rows()
    yield from loop_rows()
    for seed in MORE_SEEDS:
        yield from main_rows(16, seed, aux=True, groups=("S3", "Z2"))
    for seed in SEEDS:
        yield from filter(takes_long, main_cells(seed))
    yield from rate_rows()


def main_rows(length: int, seed: int, *, aux: bool, groups: tuple[str, ...] = GROUPS) -> Iterator[SweepCell]:
    """Yield five frameworks with one network and encoding; a direct answer fetches nothing, so aux does not apply."""
    for framework in CHEAP_FIRST:
        for group in groups if aux or framework != "direct" else ():
            config = config_of_group(group, length, framework, seed, shape_for_group(group, aux=aux))
            yield SweepCell("main", config, ("operands", "longer"))


def beta_rows() -> Iterator[SweepCell]:
    """Yield runs of one layer whose attention is given the operands, and the sweep of β for a tree."""
    for seed in SEEDS:
        for group in ("S3", "A5"):
            for framework, encoding in (("cot", "bits"), ("scan", "bits"), ("tree", "none")):
                shape = shape_for_group(group, layers=1, beta=4.0, encoding=encoding)
                yield SweepCell("beta", config_of_group(group, 16, framework, seed, shape), ("operands", "longer"))
        for beta in (0.0, 1.0, 2.0, 8.0):
            shape = shape_for_group("S3", layers=1, beta=beta, encoding="none")
            yield SweepCell("beta", config_of_group("S3", 16, "tree", seed, shape))


def loop_rows() -> Iterator[SweepCell]:
    """Yield loops of one tied layer under three supervisions."""
    for seed in SEEDS:
        for length in (16, 8):
            for supervision in ("tokens", "each", "end"):
                shape = shape_for_group("S3", layers=1, beta=4.0, encoding="none")
                more = {"supervision": supervision, "steps": BRIEF_STEPS["small"]}
                yield SweepCell("loop", config_of_group("S3", length, "looped", seed, shape, **more))


def rate_rows() -> Iterator[SweepCell]:
    """Yield configurations that fail in the main table at other learning rates, three in all; slow loops run longer."""
    failing = (("direct", True), ("looped", True), ("looped", False), ("tree", False), ("cot", False))
    for length in (16, 32):
        for framework, aux in failing:
            for group in GROUPS:
                kind = group, length, framework, aux
                if not is_learned(*kind):
                    yield from other_rates(*kind, seed=FAILING_SEEDS.get(kind, 0))
    for group in LARGE:
        longer = {"steps": 2 * STEPS, "cpu_seconds": 2 * SECONDS}
        yield SweepCell("rates", config_of_group(group, 16, "looped", 0, shape_for_group(group, aux=True), **longer))


def is_learned(group: str, length: int, framework: str, aux: bool) -> bool:
    """Return whether every seed converges in the main table, for a configuration that fails for another group."""
    if framework == "looped":
        return (group, length, aux) in LEARNED_LOOPS
    if framework == "cot":
        return (group, length, framework, aux) not in FAILING_SEEDS
    return (group, length, framework) == ("Z2", 16, "tree")


def other_rates(group: str, length: int, framework: str, aux: bool, *, seed: int) -> Iterator[SweepCell]:
    """Yield other learning rates; a loop without aux stays at chance for all groups but Z2 and gets few steps."""
    shape = shape_for_group(group, aux=aux)
    brief = {"steps": BRIEF_STEPS[group_scale(group)]} if (framework, aux) == ("looped", False) else {}
    for rate in RATES:
        yield SweepCell("rates", config_of_group(group, length, framework, seed, shape, rate=rate, **brief))


def planners() -> Iterator[SweepCell]:
    """Yield runs with random masking and given operands, to compare orders.

    They do not stop early, so that they also learn where to be unsure.
    """
    for seed in SEEDS:
        for group in ("S3", "Z2"):
            for layers in (1, 2, 4):
                yield predictor_cell(group, 16, layers, seed)
        for length in (4, 8, 32):
            for layers in (1, 2, 4):
                yield predictor_cell("S3", length, layers, seed)
        yield predictor_cell("Z2", 4, 1, seed)
        for objective in ("masking-uniform", "masking-1/t"):
            yield predictor_cell("S3", 16, 2, seed, objective=objective)
    for seed in SEEDS:
        for layers in (1, 2, 4):
            yield predictor_cell("A5", 16, layers, seed, **A5_MASKED)


def predictor_cell(group: str, length: int, layers: int, seed: int, **more: Any) -> SweepCell:
    shape = shape_for_group(group, layers=layers, beta=4.0, encoding="none")
    settings = {"objective": "masking", "converged": None, "steps": MASKED_STEPS, **more}
    return SweepCell(
        "planners", config_of_group(group, length, "tree", seed, shape, **settings), ("operands", "planners")
    )


def questions() -> Iterator[SweepCell]:
    yield from signal_rows()
    for group in ("S3", "A5"):
        for seed in SEEDS:
            yield from bits_and_beta(group, seed)
            yield from gates(group, seed)
            yield from one_layer(group, seed)
            if group == "S3":
                yield from one_operand_handed(seed)
    yield from step_budgets("S3", 16, seed=0)


def signal_rows() -> Iterator[SweepCell]:
    """Yield runs that measure the pull on uniform attention over N, for one operand and for two."""
    for seed in SEEDS:
        for framework in ("cot", "scan", "tree"):
            for length in (4, 8, 16, 32):
                config = config_of_group("S3", length, framework, seed, shape_for_group("S3", layers=1), steps=400)
                yield SweepCell("signal", config, ("signal",))


def one_operand_handed(seed: int) -> Iterator[SweepCell]:
    """Yield trees that are given none, one or both of their operands, and bits to find the others."""
    for handed in (0, 1, None):
        for length in (8, 16):
            shape = shape_for_group("S3", layers=1, beta=4.0, handed=handed, encoding="bits")
            yield SweepCell("handed", config_of_group("S3", length, "tree", seed, shape))


def one_layer(group: str, seed: int) -> Iterator[SweepCell]:
    """Yield runs as in the main table without aux, but with one layer instead of two."""
    for framework in ("cot", "scan", "tree"):
        yield SweepCell("depth", config_of_group(group, 16, framework, seed, shape_for_group(group, layers=1)))


def step_budgets(group: str, length: int, seed: int) -> Iterator[SweepCell]:
    """Yield runs with fewer steps of more factors; chain and scan are tuned alike: three rates, aux off and on."""
    for framework, factors in (*(("cot", c) for c in CHAIN_FACTORS), *(("scan", c) for c in SCAN_FACTORS)):
        for aux in (True, False):
            for rate in (*RATES, 2e-3):
                shape = shape_for_group(group, aux=aux)
                config = config_of_group(group, length, framework, seed, shape, factors=factors, rate=rate)
                yield SweepCell("budgets", config, ())


def bits_and_beta(group: str, seed: int) -> Iterator[SweepCell]:
    """Yield runs that show which part of the code breaks β: own place, operands' places, or the scale of either."""
    for encoding, scale, beta in (
        ("none", 1.0, 4.0),
        ("positions", 1.0, 4.0),
        ("learned", 1.0, 4.0),
        ("bits", 1.0, 4.0),
        ("bits", 0.25, 4.0),
        ("bits", 1.0, 8.0),
        ("positions", 0.25, 4.0),
        ("learned", 16.0, 4.0),  # as large as full bits: a single entry of 256 is drawn 16 times smaller than bits
    ):
        shape = shape_for_group(group, layers=1, beta=beta, encoding=encoding, code_scale=scale)
        yield SweepCell("bits", config_of_group(group, 16, "tree", seed, shape))


def gates(group: str, seed: int) -> Iterator[SweepCell]:
    """Yield runs with GELU and as many weights: 1.5 times as many hidden units."""
    plain = shape_for_group(group, aux=True)
    shape = shape_for_group(group, aux=True, mlp="gelu", hidden=plain.hidden * 3 // 2)
    for framework in ("cot", "scan", "tree"):
        yield SweepCell("gelu", config_of_group(group, 16, framework, seed, shape))


PRESETS: dict[str, Callable[[], Iterator[SweepCell]]] = {
    "quick": quick,
    "paper": paper,
    "rows": rows,
    "planners": planners,
    "questions": questions,
}


def preset(name: str) -> list[SweepCell]:
    if name not in PRESETS:
        raise LabError(f"unknown preset {name!r}; use one of {', '.join(PRESETS)}")
    return list(PRESETS[name]())


def run_preset(name: str) -> Config:
    """Return the run of the main table named `S3-tree` or `A5-scan-32`: with aux, seed 0; N is 16 by default."""
    group, _, rest = name.partition("-")
    framework, _, length = rest.partition("-")
    if group not in GROUPS or framework not in FRAMEWORKS or length not in ("", "8", "16", "32"):
        raise LabError(
            f"{name!r} is neither a file nor a preset; give a config.json, or GROUP-FRAMEWORK[-N] with a group among "
            f"{', '.join(GROUPS)}, a framework among {', '.join(FRAMEWORKS)} and N 8, 16 or 32, such as S3-tree"
        )
    return config_of_group(group, int(length or 16), framework, 0, shape_for_group(group, aux=True))


# The argument of `lab train` → one run: a JSON file, a preset such as S3-tree, or a PROBLEM; and its program, if any.
#
# A program file is executed only if the user names it: as the PROBLEM, or by --program with a config.


DEFAULT_LENGTH = 16


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
        program_problem = parse_program(name.removeprefix(PROGRAM))
        return _with(_run_of(program_problem.name, length, framework or "program"), program_problem), program_problem
    if length is not None or framework is not None:
        raise LabError(f"--length and --framework are only for a PROBLEM, and {name} sets both; leave them out")
    config = read_run_config(Path(name)) if is_file else run_preset(name)
    program_problem = program_of_config(config, program)
    return (config if program_problem is None else _with(config, program_problem)), program_problem


def program_of_config(config: Config, file: Path | None) -> ProgramProblem | None:
    """Return the program that a config names, from the user's file, which is not executed if its hash differs."""
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


def program_of_folder(folder: Path, file: Path | None) -> ProgramProblem | None:
    """Return the program of a folder of `train`, from the user's file; None if it was not trained on a program."""
    from unmask.lab.checkpoints import CONFIG

    path = folder / CONFIG
    return program_of_config(read_run_config(path), file) if path_exists(path) else None


def _with(config: Config, program: ProgramProblem) -> Config:
    """Add the hash of the program's file, so that programs are distinguished; a config that has one keeps it."""
    return msgspec.structs.replace(config, sha256=config.sha256 or program.sha256)


def _run_of(problem: str, length: int | None, framework: str) -> Config:
    run = {"problem": problem, "framework": framework, "steps": STEPS, "cpu_seconds": SECONDS}
    run["length"] = DEFAULT_LENGTH if length is None else length
    shape = msgspec.to_builtins(Shape(aux=framework != "direct"))
    return run_config_of({**run, "shape": shape}, name="the run")
