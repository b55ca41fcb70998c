"""Model × words → traces or answers: run the loop of the model's kind to its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.engines.engine import Continuing, Engine, Footprint, Watch
from unmask.errors import AttendsToNothing, PlannerError, UnmaskError
from unmask.limits import current, foresee, in_words, stage
from unmask.numerics.array_types import Int
from unmask.reasoners.array_medium import Arrays, RunSetup, RunStep, planned_from_outside
from unmask.reasoners.decoding import Tape
from unmask.reasoners.loops import canvases, masked_diffusion
from unmask.reasoners.planners import Planner
from unmask.reasoners.typed_words import read_word
from unmask.traces.trace import Trace
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model

# An upper bound of the bytes of a run, from the declared sizes: the sessions of its engine, its tokens, its canvases.
#
# sessions    rows × columns, as the engine says (`engines/footprint`)
# tokens      rows × a few 64-bit numbers
# canvases    steps × slots × (a token and a flag), if they are kept


ROWS_AT_ONCE = 1 << 16
PER_ROW = 16 * 8  # tokens, canvases and decoded symbols that are alive at once
PER_LETTER = 120  # bytes per letter of the word, as text, symbols and Python's integers
PER_SLOT = 9  # bytes per slot of a kept canvas: a token and a flag
PER_STEP = 400  # further bytes of a kept canvas: two arrays and their step


def run_cost(model: Model, engine: Engine, batch: int, *, watched: bool = False) -> int:
    """Return the bytes of a run, without its canvases. `watched`: everything computed is recorded."""
    sessions = (engine.footprint(t, batch, watched=watched) for t in model.transformers.values())
    return Footprint.combined(sessions) + batch * (PER_ROW * model.rows + PER_LETTER * model.length)


def canvas_cost(model: Model, *, planned: bool = False) -> int:
    """Bytes of all canvases of one word. With an outside planner, a run may have as many steps as there are slots."""
    if model.kind == "plt":
        return PER_STEP + PER_SLOT * model.answer_rows
    steps = max(model.steps, model.padding) if planned else model.steps
    slots = model.padding if model.block is None and model.kind != "cot" else (model.padding + (model.block or 1)) // 2
    return steps * (PER_STEP + PER_SLOT * slots)


def recorded_cost(model: Model) -> int:
    """Bytes of everything that is computed, if all is kept: residual streams and attention weights."""
    return 8 * model.numbers_computed


def words_at_once(model: Model, engine: Engine, *, canvas: bool = False) -> int:
    """The number of words to run together so that memory stays within the budget; at least one."""
    most, memory = max(1, ROWS_AT_ONCE // model.rows), current().memory
    if memory is None or most == 1:
        return most
    kept = canvas_cost(model) if canvas else 0
    one, two = (run_cost(model, engine, batch) + batch * kept for batch in (1, 2))
    return max(1, min(most, 1 + (memory - one) // (two - one)))


def not_kept(model: Model, cost: int, canvases: int) -> str | None:
    """A message that says why only the last canvas is kept, or None if all canvases fit into memory."""
    memory = current().memory
    if memory is None or cost + canvases <= memory:
        return None
    return (
        f"only the last canvas is kept: those of {model.steps:,} steps with {model.padding:,} slots would take about "
        f"{in_words(canvases)} of memory beside the {in_words(cost)} of the run, beyond the limit of "
        f"{in_words(memory)}; lift it with --limit {cost + canvases}"
    )


def foresee_run(model: Model, cost: int, batch: int) -> None:
    """Raise TooLarge for a run that would exceed the memory limit."""
    words = "a run" if batch == 1 else f"a run of {batch:,} words"
    foresee(cost, f"{words} over {model.rows:,} rows")


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
    """Run one word, given as token ids.

    With `record`, attention and residual streams are kept as well, or passed to `watch`, which keeps what it needs.
    Without `canvas`, or if the canvases do not fit into the budget, only the last canvas is kept.
    """
    activations: dict[str, np.ndarray] = {}
    tokens = np.array([word], dtype=np.int64).reshape(1, model.length)
    frame = RunSetup(model, tokens, engine, tape, planner, activations.__setitem__ if record else watch)
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
    """Run many words at once. Each trace is the same as that of the word alone, under the same tape."""
    activations: dict[str, np.ndarray] = {}
    frame = RunSetup(model, words, engine, tape, watch=activations.__setitem__ if record else None)
    return _traces(frame, canvas, activations, record)


def _traces(frame: RunSetup, canvas: bool, activations: dict[str, np.ndarray], record: bool) -> list[Trace]:
    model = frame.model
    cost = run_cost(model, frame.engine, frame.batch, watched=frame.watch is not None)
    cost += frame.batch * recorded_cost(model) if record else 0
    foresee_run(model, cost, frame.batch)
    canvases = frame.batch * canvas_cost(model, planned=frame.planner is not None)
    left_out = not_kept(model, cost, canvases) if canvas else None
    kept: list[RunStep] = []
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
    """The final slots of each word of a batch."""

    model: Model
    slots: Int[np.ndarray, "batch slots"]

    @property
    def accepted(self) -> np.ndarray:
        """One number per word: 1 accepted, 0 rejected, -1 neither."""
        token = self.model.token
        meaning = np.arange(len(token))
        for old, new in self.model.aliases.items():
            meaning[token[old]] = token[new]
        last = meaning[self.slots[:, -1]]
        accept, reject = token[self.model.accept], token[self.model.reject]
        return np.where(last == accept, 1, np.where(last == reject, 0, -1))


def answers(model: Model, words: Int[np.ndarray, "batch length"], *, engine: Engine) -> Answers:
    """Run many words deterministically, in parts, so that memory stays bounded."""
    part = words_at_once(model, engine)
    foresee_run(model, run_cost(model, engine, min(part, len(words))), min(part, len(words)))
    slots = []
    for first in range(0, max(1, len(words)), part):
        try:
            *_, last = steps(RunSetup(model, words[first : first + part], engine))
        except AttendsToNothing as error:
            error.word += first
            raise
        slots.append(last.canvas)
    return Answers(model, np.concatenate(slots))


def steps(frame: RunSetup) -> Iterator[RunStep]:
    """Yield the steps of a run as they happen."""
    kind, arrays = frame.model.kind, Arrays(frame)
    if kind in DIFFUSION:
        outside = None if frame.planner is None else planned_from_outside(frame, frame.planner)
        return (RunStep(canvas, chosen) for canvas, chosen in masked_diffusion(arrays, outside))
    if frame.planner is not None:
        raise PlannerError(
            f"a {kind} has no planner that could be replaced; use a model of kind {', '.join(DIFFUSION)}"
        )
    fresh = frame.model.answer_rows if kind == "plt" else frame.model.block or 1
    return _in_one_go(frame) or (RunStep(canvas, _last_slots(canvas, fresh)) for canvas in canvases(arrays))


def _in_one_go(frame: RunSetup) -> Iterator[RunStep] | None:
    """The steps of a chain of thought, by an engine that computes the whole chain in one call."""
    if frame.model.kind != "cot" or frame.tape is not None or frame.watch is not None:
        return None
    session, steps = frame.session("model"), frame.model.steps
    if not isinstance(session, Continuing):
        return None
    symbols = session.continued(frame.before(frame.copies(None, 0)), steps)
    if symbols is None:
        return None
    last = _last_slots(symbols, 1)
    return (RunStep(symbols[:, : t + 1], last[:, steps - t - 1 :]) for t in range(steps))


def _last_slots(canvas: np.ndarray, count: int) -> np.ndarray:
    """Flags of the last slots: the new symbols of a chain of thought, or the answers of a looped model."""
    return np.broadcast_to(np.arange(canvas.shape[1]) >= canvas.shape[1] - count, canvas.shape)


# Model × many words → for each word its Trace or its error.


def run_each(
    model: Model, words: Sequence[str], *, engine: Engine, tape: Tape | None, canvas: bool
) -> list[Trace | UnmaskError]:
    """Run all words in one batch; if this fails, one by one."""
    results: dict[int, Trace | UnmaskError] = {}
    readable: dict[int, list[int]] = {}
    for i, word in enumerate(words):
        try:
            readable[i] = read_word(model, word)
        except UnmaskError as error:
            results[i] = error
    tokens = np.array(list(readable.values()), dtype=np.int64).reshape(len(readable), model.length)
    try:
        traces = run_batch(model, tokens, engine=engine, tape=tape, canvas=canvas) if readable else []
        results |= dict(zip(readable, traces, strict=True))
    except UnmaskError:  # one of them fails: run them one by one
        for i, word in readable.items():
            try:
                results[i] = run(model, word, engine=engine, tape=tape, canvas=canvas)
            except UnmaskError as error:
                results[i] = error
    return [results[i] for i in range(len(words))]
