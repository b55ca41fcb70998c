"""Model × word → View: the run of the model, next to runs of other frameworks on the same word."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmask.api import compile_again, compile_problem, convert_model, problem_name, run_word
from unmask.engines.engine import Engine
from unmask.engines.fast import FastEngine
from unmask.errors import ProblemError, UnmaskError
from unmask.limits import check_memory, fits_memory
from unmask.problems.catalogue import parse_problem
from unmask.reasoners.run_words import canvas_cost, run_cost
from unmask.viewer.html_page import View
from unmask.viewer.panel import Panel
from unmask.viewer.run_recording import MOST_REGISTERS, MOST_WEIGHTS, Recording
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

MOST_WATCHED = 2_000_000_000
PAGE_OVER_CANVAS = 32  # bytes that building a view takes per byte of its canvases
PER_WEIGHT = 32  # bytes of a stored attention weight


def view_of(
    model: Model, word: str | Sequence[str], compare: Sequence[Kind], *, program: str | None = None, **options: Any
) -> View:
    """Return the run of the model, then runs in other kinds; `options` of `run_word` apply only to the first run.

    Other frameworks are compiled from the problem that the folder names, or from the file `program`. If there is
    neither, the model is converted, and the panel names the theorems.
    """
    panels, remarks = [panel_of(model, word, **options)], []
    if not model.problem and compare:
        remarks.append("The folder names no problem, so other frameworks come from conversions of the model itself.")
    for kind in compare:
        try:
            other, theorems = _as_kind(model, kind, program)
            panels.append(replace(panel_of(other, word), converted_by=theorems))
        except UnmaskError as error:
            remarks.append(f"No {kind} is shown for comparison: {error}.")
    answers = {panel.trace.accepted for panel in panels}
    if len(answers) > 1:
        remarks.append("These runs do not agree: a model here does not do what the others do.")
    text = word if isinstance(word, str) else " ".join(word)
    return View(problem_name(model) or "", text, tuple(panels), tuple(remarks))


def panel_of(
    model: Model,
    word: str | Sequence[str],
    *,
    engine: Engine | None = None,
    planner: str | None = None,
    sample: bool = False,
    seed: int = 0,
) -> Panel:
    """Run the model and record its attention, registers and logits; if the run is too large, record only the canvas."""
    sessions = {name: FastEngine().session(t, name=name) for name, t in model.transformers.items()}

    def logits(name: str, rows: np.ndarray) -> np.ndarray:
        return sessions[name].logits(rows[None])[0]

    recording = Recording.of_model(model, logits)
    page_bytes = PAGE_OVER_CANVAS * canvas_cost(model, planned=planner is not None)
    check_memory(page_bytes, f"a view of {model.steps:,} steps with {model.padding:,} slots")
    is_watched = model.numbers_computed <= MOST_WATCHED and fits_memory(
        _watching(model, engine or FastEngine()) + page_bytes
    )
    if not is_watched:
        recording.dropped.extend(["attention", "registers"])
    trace = run_word(
        model,
        word,
        engine=engine,
        planner=planner,
        sample=sample,
        seed=seed,
        watch=recording if is_watched else None,
    )
    return Panel.of(model, trace, recording, planner=planner, sampled=sample)


def _watching(model: Model, engine: Engine) -> int:
    """Return the bytes of a recorded run, including all that a recording holds before it drops values."""
    return run_cost(model, engine, 1, watched=True) + MOST_REGISTERS + PER_WEIGHT * MOST_WEIGHTS


def default_comparison(model: Model) -> tuple[Kind, ...]:
    """Return chain of thought, or masked diffusion for a chain of thought; nothing if the folder names no problem."""
    if problem_name(model) is None:
        return ()
    return ("mdm",) if model.kind == "cot" else ("cot",)


def check_program(model: Model, file: str) -> str:
    """Return the PROBLEM string of the file, if it is the program that the model was compiled from."""
    match model.problem:
        case {"kind": "program", "sha256": stored}:
            problem = f"program:{file}"
        case _:
            raise UnmaskError("this model was not compiled from a program; leave out --program")
    if parse_problem(problem).to_json().get("sha256") != stored:
        raise UnmaskError(
            f"{file} is not the program that this model was compiled from (its SHA-256 differs); give that file"
        )
    return problem


def _as_kind(model: Model, kind: Kind, program: str | None) -> tuple[Model, tuple[str, ...]]:
    """Return the model in another kind, and the theorems by which it was converted: () if it was compiled."""
    try:
        if program is not None:
            return compile_problem(program, kind, length=model.length, precision=model.precision.p), ()
        if problem_name(model) is not None:
            return compile_again(model, kind), ()
    except ProblemError:
        pass  # this kind is only reached by conversion
    theorems = []
    for theorem, conversion in convert_model(model, kind):
        theorems.append(theorem.stem)
        model = conversion.model
    return model, tuple(theorems)
