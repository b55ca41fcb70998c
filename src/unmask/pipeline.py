"""The whole story, one call per arrow.

Problem ──compile_problem──▶ Model ──run_word──▶ Trace
             save_model ─▶ folder ─▶ load_model
"""

from collections.abc import Sequence
from typing import Any

from unmask.engines.engine import Engine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, UnmaskError
from unmask.reasoners.planners import parse_planner
from unmask.reasoners.run import run
from unmask.reasoners.tape import Tape
from unmask.reasoners.words import read_word
from unmask.traces.trace import Trace
from unmask.weights.model import KINDS, Kind, Model
from unmask.weights.storage import load as load_model
from unmask.weights.storage import save as save_model

__all__ = ["ENGINES", "compile_problem", "generate", "load_model", "result", "run_word", "save_model"]

ENGINES: dict[str, type[Engine]] = {"reference": ReferenceEngine}


def compile_problem(problem: str, kind: Kind, *, length: int, precision: int = 2) -> Model:
    """PROBLEM → Model, for words of one length."""
    if kind not in KINDS:
        raise ProblemError(f"there is no kind {kind!r}; use one of {', '.join(KINDS)}")
    if length < 0:
        raise ProblemError(f"the length must be 0 or more, not {length}")
    prefix, _, rest = problem.partition(":")
    if prefix == "random":
        return _random(problem, rest, kind, length, precision)
    raise ProblemError(f"the problem {problem!r} is not understood; use random:SEED")


def run_word(
    model: Model,
    word: str | Sequence[str],
    *,
    engine: Engine | None = None,
    sample: bool = False,
    seed: int = 0,
    planner: str | None = None,
    record: bool = False,
    canvas: bool = True,
) -> Trace:
    """Run a model on a word. `sample` draws from the tape of `seed`; `planner` replaces the model's own by name.

    `record` keeps attention and registers, `canvas=False` keeps only the last canvas.
    """
    tokens = read_word(model, word)
    tape = tape_of(seed)
    chosen = None if planner is None else parse_planner(planner, tape)
    return run(
        model,
        tokens,
        engine=engine or ReferenceEngine(),
        tape=tape if sample else None,
        planner=chosen,
        record=record,
        canvas=canvas,
    )


def generate(model: Model, *, seed: int, engine: Engine | None = None) -> Trace:
    """One string drawn from a model that reads the empty input: a language model."""
    if model.length:
        raise UnmaskError(
            f"sampling starts from the empty input, but this model reads words of length {model.length}; "
            "compile it with --length 0, or use `run --sample`"
        )
    return run_word(model, [], engine=engine, sample=True, seed=seed)


def result(trace: Trace, *, canvas: bool = True) -> dict[str, Any]:
    """What `run --json` prints of a trace."""
    document: dict[str, Any] = {
        "accepted": trace.accepted,
        "steps": trace.steps_taken,
        "length": trace.length,
        "padding": trace.padding,
        "output": trace.output,
    }
    if canvas:
        document["canvas"] = trace.canvas_symbols
    return document


def tape_of(seed: int) -> Tape:
    try:
        return Tape(seed)
    except ValueError as error:
        raise UnmaskError(str(error)) from None


def _random(problem: str, seed: str, kind: Kind, length: int, precision: int) -> Model:
    from unmask.testing import random_model

    if not (seed.isascii() and seed.isdigit()) or len(seed) > 20:
        raise ProblemError(f"random:SEED needs a seed from 0 to 2^64 - 1, not {seed!r}")
    model = random_model(int(seed), kind, length, precision=precision)
    from dataclasses import replace

    return replace(model, problem={"problem": problem}, provenance=[{"compiled": problem, "to": kind}])
