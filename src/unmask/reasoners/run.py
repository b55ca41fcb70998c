"""Model × words → what happened: the loop of the model's kind, run to its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.budget import stage
from unmask.engines.engine import Continuing, Engine, Watch
from unmask.errors import AttendsToNothing, PlannerError
from unmask.numerics.array_types import Int
from unmask.reasoners.arrays import Arrays, planned_from_outside
from unmask.reasoners.cost import canvas_cost, foresee_run, not_kept, recorded_cost, run_cost, words_at_once
from unmask.reasoners.frame import Frame, Step
from unmask.reasoners.framework import canvases
from unmask.reasoners.masked_diffusion import masked_diffusion
from unmask.reasoners.planners import Planner
from unmask.reasoners.tape import Tape
from unmask.traces.trace import Trace
from unmask.weights.model import DIFFUSION, Model


def run(
    model: Model,
    word: Sequence[int],
    *,
    engine: Engine,
    tape: Tape | None = None,
    planner: Planner | None = None,
    record: bool = False,
    canvas: bool = True,
    watch: Watch | None = None,
) -> Trace:
    """One word, given as token ids.

    With `record`, attention and residual streams are kept as well, or shown to a `watch` that keeps what it wants;
    without `canvas`, only the last one is kept, and so are canvases that do not fit into the budget.
    """
    activations: dict[str, np.ndarray] = {}
    tokens = np.array([word], dtype=np.int64).reshape(1, model.length)
    frame = Frame(model, tokens, engine, tape, planner, activations.__setitem__ if record else watch)
    return _traces(frame, canvas, activations, record)[0]


def run_batch(
    model: Model,
    words: Int[np.ndarray, "batch length"],
    *,
    engine: Engine,
    tape: Tape | None = None,
    record: bool = False,
    canvas: bool = True,
) -> list[Trace]:
    """Many words at once; each trace is that of the word alone, under the same tape."""
    activations: dict[str, np.ndarray] = {}
    frame = Frame(model, words, engine, tape, watch=activations.__setitem__ if record else None)
    return _traces(frame, canvas, activations, record)


def _traces(frame: Frame, canvas: bool, activations: dict[str, np.ndarray], record: bool) -> list[Trace]:
    model = frame.model
    cost = run_cost(model, frame.engine, frame.batch, watched=frame.watch is not None)
    cost += frame.batch * recorded_cost(model) if record else 0
    foresee_run(model, cost, frame.batch)
    canvases = frame.batch * canvas_cost(model, planned=frame.planner is not None)
    left_out = not_kept(model, cost, canvases) if canvas else None
    kept: list[Step] = []
    taken = 0
    for step in stage("steps", steps(frame), None if frame.planner else 1 if model.kind == "plt" else model.steps):
        if not canvas or left_out:
            kept.clear()
        kept.append(step)
        taken += 1
    taken = model.steps if model.kind == "plt" else taken
    return [
        Trace.of(
            model,
            word,
            [s.canvas[i] for s in kept],
            [s.chosen[i] for s in kept],
            taken,
            {name: value[i] for name, value in activations.items()},
            left_out=left_out,
        )
        for i, word in enumerate(frame.tokens.tolist())
    ]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a batch of words led to: the final slots of each."""

    model: Model
    slots: Int[np.ndarray, "batch slots"]

    @property
    def accepted(self) -> np.ndarray:
        """1 accepted, 0 rejected, -1 neither."""
        token = self.model.token
        meaning = np.arange(len(token))
        for old, new in self.model.aliases.items():
            meaning[token[old]] = token[new]
        last = meaning[self.slots[:, -1]]
        accept, reject = token[self.model.accept], token[self.model.reject]
        return np.where(last == accept, 1, np.where(last == reject, 0, -1))


def answers(model: Model, words: Int[np.ndarray, "batch length"], *, engine: Engine) -> Answers:
    """Many words at once, deterministically; in parts, so that memory stays bounded."""
    part = words_at_once(model, engine)
    foresee_run(model, run_cost(model, engine, min(part, len(words))), min(part, len(words)))
    slots = []
    for first in range(0, max(1, len(words)), part):
        try:
            *_, last = steps(Frame(model, words[first : first + part], engine))
        except AttendsToNothing as error:
            error.word += first
            raise
        slots.append(last.canvas)
    return Answers(model, np.concatenate(slots))


def steps(frame: Frame) -> Iterator[Step]:
    """The steps of a run, as they happen."""
    kind, arrays = frame.model.kind, Arrays(frame)
    if kind in DIFFUSION:
        outside = None if frame.planner is None else planned_from_outside(frame, frame.planner)
        return (Step(canvas, chosen) for canvas, chosen in masked_diffusion(arrays, outside))
    if frame.planner is not None:
        raise PlannerError(
            f"a {kind} has no planner that could be replaced; use a model of kind {', '.join(DIFFUSION)}"
        )
    fresh = frame.model.answer_rows if kind == "plt" else frame.model.block or 1
    return _in_one_go(frame) or (Step(canvas, _last_slots(canvas, fresh)) for canvas in canvases(arrays))


def _in_one_go(frame: Frame) -> Iterator[Step] | None:
    """The steps of a chain, by an engine that needs no one to read it row after row."""
    if frame.model.kind != "cot" or frame.tape is not None or frame.watch is not None:
        return None
    session, steps = frame.session("model"), frame.model.steps
    if not isinstance(session, Continuing):
        return None
    symbols = session.continued(frame.before(frame.copies(None, 0)), steps)
    if symbols is None:
        return None
    last = _last_slots(symbols, 1)
    return (Step(symbols[:, : t + 1], last[:, steps - t - 1 :]) for t in range(steps))


def _last_slots(canvas: np.ndarray, count: int) -> np.ndarray:
    """Flags of the last slots, those that a chain has just written; of a looped model, its answers."""
    return np.broadcast_to(np.arange(canvas.shape[1]) >= canvas.shape[1] - count, canvas.shape)
