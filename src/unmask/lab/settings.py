"""JSON → Config: everything that a training run depends on, including the shape of its network.

A wrong setting gives an error message that names its key. The folder of a run stores the config beside the weights, and
a cell of a table is named by its hash.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unmask.errors import UnmaskError
from unmask.files import DocumentErrors, distinct_keys, must_be, read_document, read_file
from unmask.lab.task_layouts import MOST_FETCHES
from unmask.lab.tasks import FACTORS, LabTask
from unmask.problems.program_problems import ProgramProblem

EncodingName = Literal["bits", "positions", "learned", "none"]
MlpName = Literal["bilinear", "gelu"]
Count = Annotated[int, msgspec.Meta(ge=1, le=4096), must_be("an integer from 1 to 4096")]


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shape of a network.

    encoding   bits: own place and the places of the operands in binary; positions: own place in binary; learned: a
               vector per place; none
    beta       a learned bias on the scores of the operands' places, one operand per head, with initial value beta: it
               tells the attention where its operands are. None: no such bias
    handed     the number of operands for which beta is used; None: all
    code_scale the initial scale of the map of codes, relative to torch's default
    aux        a second read-out learns the symbol of every operand; it is not used when the model is run
    """

    width: Count = 64
    hidden: Count = 128
    layers: Count = 2
    heads: Count = 4
    mlp: Annotated[MlpName, must_be("bilinear or gelu")] = "bilinear"
    encoding: Annotated[EncodingName, must_be("bits, positions, learned or none")] = "bits"
    beta: Annotated[
        Annotated[float, msgspec.Meta(ge=-1000, le=1000)] | None, must_be("a number from -1000 to 1000, or null")
    ] = None
    handed: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=MOST_FETCHES)] | None, must_be("an integer from 0 to 8, or null: all")
    ] = None
    code_scale: Annotated[float, msgspec.Meta(ge=0, le=100), must_be("a number from 0 on")] = 1.0
    aux: Annotated[bool, must_be("true or false")] = False


LARGEST_CONFIG = 1 << 20  # bytes of a config
LARGEST_SEED = 1 << 32
Objective = Literal["canvas", "masking", "masking-uniform", "masking-1/t"]
Supervision = Literal["each", "end", "tokens"]


class LabError(UnmaskError):
    """Raised if a config, a preset or a folder of the lab cannot be used."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The config of one run.

    objective     canvas: the true canvas before a step is given, and the one after it is the target. masking: a random
                  share t of the last canvas is masked, one slot at least, and is the target, with equal weights;
                  masking-uniform: every masked slot alike; masking-1/t: every masked slot by 1/t, which is the bound of
                  masked diffusion
    factors       how many factors a step of a chain or of a scan multiplies: with more of them it takes fewer steps
    sha256        the hash of the file of a program; the problem contains only its name
    supervision   for a looped model: each: its stream is read out after every loop; end: only after the last; tokens:
                  loops pass symbols, and the true ones are given
    cpu_seconds   limit after which it is stopped; steps: likewise, but the same on every machine
    converged     the share of right answers at which it stops; null: it runs until a limit
    """

    problem: Annotated[str, must_be("a PROBLEM such as group:S3")] = "group:S3"
    length: Annotated[int, msgspec.Meta(ge=2, le=128), must_be("an integer from 2 to 128")] = 16
    framework: Annotated[
        Literal["direct", "cot", "tree", "scan", "looped", "program"],
        must_be("direct, cot, tree, scan, looped or, of a program, program"),
    ] = "tree"
    factors: Annotated[int, msgspec.Meta(ge=2, le=128), must_be("an integer from 2 to 128")] = FACTORS
    sha256: Annotated[str, must_be("the SHA-256 of the file of a program")] = ""
    shape: Annotated[Shape, must_be("an object with the switches of the network")] = Shape()
    objective: Annotated[Objective, must_be("canvas, masking, masking-uniform or masking-1/t")] = "canvas"
    supervision: Annotated[Supervision, must_be("each, end or tokens")] = "each"
    seed: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_SEED), must_be("an integer from 0 to 2^32")] = 0
    batch: Count = 32
    rate: Annotated[float, msgspec.Meta(gt=0, le=1), must_be("a number above 0 and at most 1")] = 2e-3
    warmup: Annotated[int, msgspec.Meta(ge=0, le=10**9), must_be("an integer from 0 to 10^9")] = 100
    decay: Annotated[int, msgspec.Meta(ge=1, le=10**9), must_be("an integer from 1 to 10^9")] = 300
    steps: Annotated[int, msgspec.Meta(ge=1, le=10**9), must_be("a positive integer")] = 1_000_000
    cpu_seconds: Annotated[float, msgspec.Meta(gt=0, le=1e9), must_be("a number above 0 and at most 10^9")] = 60.0
    converged: Annotated[
        Annotated[float, msgspec.Meta(gt=0, le=1)] | None, must_be("a share of correct answers, or null")
    ] = 0.995
    evaluate_every: Count = 100

    @property
    def task(self) -> LabTask:
        return self.task_of()

    def task_of(self, program: ProgramProblem | None = None) -> LabTask:
        """Return the task of a config. A program must be passed in: a config only names it and never runs it."""
        if program is not None:
            check_hash(self, program.sha256)
        return LabTask.of(self.problem, self.length, self.framework, self.factors, program=program)

    @property
    def latent(self) -> bool:
        """Return whether passes are connected by a stream instead of symbols."""
        return self.framework == "looped" and self.supervision != "tokens"

    @property
    def name(self) -> str:
        return f"{self.problem} N = {self.length} {self.framework}"


def check_hash(config: Config, sha256: str) -> None:
    if sha256 != config.sha256:
        raise LabError(f"{config.problem} is not the file of this run: its SHA-256 differs; give the original file")


ERRORS = DocumentErrors(
    no_object='{name} must be a JSON object, such as {{"problem": "group:S3"}}; docs/lab/tables.md has the settings',
    unknown="{name} has no setting {key!r}; remove it",
    missing="{name} lacks the setting {key!r}",
    wrong="{name}: its {key} must be {expected}, not {value}",
    error=LabError,
)


def run_config_of(document: Any, *, name: str = "a config of the lab") -> Config:
    """Return the config of a JSON object; missing settings have their defaults."""
    if isinstance(document, dict) and isinstance(document.get("shape"), dict):  # raises its own messages
        read_document(document["shape"], Shape, ERRORS, name=f"the shape of {name}")
    config = read_document(document, Config, ERRORS, name=name)
    if config.shape.width % config.shape.heads:
        raise LabError(f"{name}: its width must be a multiple of its heads, {config.shape.heads}")
    if config.objective != "canvas" and config.framework not in ("tree", "program"):
        raise LabError(f"{name}: random masking needs slots that are written once; use the framework tree")
    return config


def read_run_config(path: Path) -> Config:
    content = read_file(path, str(path), most=LARGEST_CONFIG, error=LabError)
    try:
        document = json.loads(content, object_pairs_hook=distinct_keys(LabError, f" in {path}"))
    except (ValueError, RecursionError):
        raise LabError(f"{path} is not JSON; write a config such as " + '{"problem": "group:S3"}') from None
    return run_config_of(document, name=str(path))
