"""Model × words → what happened: the loop of the model's kind, run to its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from unmask.engines.engine import Engine, Watch
from unmask.errors import AttendsToNothing, PlannerError
from unmask.reasoners.chain_of_thought import chain_of_thought
from unmask.reasoners.frame import Frame, Step
from unmask.reasoners.looped import looped
from unmask.reasoners.masked_diffusion import masked_diffusion
from unmask.reasoners.planners import Planner
from unmask.reasoners.tape import Tape
from unmask.traces.trace import Trace
from unmask.weights.model import DIFFUSION, Model

ROWS_AT_ONCE = 1 << 16


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
    without `canvas`, only the last one is kept.
    """
    activations: dict[str, np.ndarray] = {}

    def keep(name: str, value: np.ndarray) -> None:
        activations[name] = value[0]

    tokens = np.array([word], dtype=np.int64).reshape(1, model.length)
    frame = Frame(model, tokens, engine, tape, planner, keep if record else watch)
    return _traces(frame, canvas, activations)[0]


def run_batch(
    model: Model,
    words: Int[np.ndarray, "batch length"],
    *,
    engine: Engine,
    tape: Tape | None = None,
    canvas: bool = True,
) -> list[Trace]:
    """Many words at once; each trace is that of the word alone, under the same tape."""
    return _traces(Frame(model, words, engine, tape), canvas, {})


def _traces(frame: Frame, canvas: bool, activations: dict[str, np.ndarray]) -> list[Trace]:
    model = frame.model
    kept: list[Step] = []
    taken = 0
    for step in steps(frame):
        if not canvas:
            kept.clear()
        kept.append(step)
        taken += 1
    taken = model.steps if model.kind == "plt" else taken
    return [
        Trace.of(model, word, [s.canvas[i] for s in kept], [s.chosen[i] for s in kept], taken, activations)
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
    part = max(1, ROWS_AT_ONCE // model.rows)
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
    kind = frame.model.kind
    if kind in DIFFUSION:
        return masked_diffusion(frame)
    if frame.planner is not None:
        raise PlannerError(
            f"a {kind} has no planner that could be replaced; use a model of kind {', '.join(DIFFUSION)}"
        )
    return looped(frame) if kind == "plt" else chain_of_thought(frame)
