"""Model × words → traces or answers: run the loop of the model's kind to its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.engines.engine import Continuing, Engine, Footprint, Watch
from unmask.errors import AttendsToNothing, PlannerError, UnmaskError
from unmask.limits import check_memory, current_budget, size_text, stage
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
# sessions    rows × columns, as estimated by the engine (`engines/footprint`)
# tokens      rows × a few 64-bit numbers
# canvases    steps × slots × (a token and a flag), if they are recorded


ROWS_AT_ONCE = 1 << 16
PER_ROW = 16 * 8  # tokens, canvases and decoded symbols that are in memory at the same time
PER_LETTER = 120  # bytes per letter of the word, as text, symbols and Python's integers
PER_SLOT = 9  # bytes per slot of a recorded canvas: a token and a flag
PER_STEP = 400  # further bytes of a recorded canvas: two arrays and their step


def run_cost(model: Model, engine: Engine, batch: int, *, watched: bool = False) -> int:
    """Return the bytes of a run, without its canvases. `watched`: everything computed is recorded."""
    sessions = (engine.footprint(t, batch, watched=watched) for t in model.transformers.values())
    return Footprint.combined(sessions) + batch * (PER_ROW * model.rows + PER_LETTER * model.length)


def canvas_cost(model: Model, *, planned: bool = False) -> int:
    """Return the bytes of all canvases of a word. With an outside planner, a run may have as many steps as slots."""
    if model.kind == "plt":
        return PER_STEP + PER_SLOT * model.answer_rows
    steps = max(model.steps, model.padding) if planned else model.steps
    slots = model.padding if model.block is None and model.kind != "cot" else (model.padding + (model.block or 1)) // 2
    return steps * (PER_STEP + PER_SLOT * slots)


def recorded_cost(model: Model) -> int:
    """Return the bytes of everything that a recorded run contains: residual streams and attention weights."""
    return 8 * model.numbers_computed


def words_at_once(model: Model, engine: Engine, *, canvas: bool = False) -> int:
    """Return the number of words that can run together within the memory budget; at least one."""
    most, memory = max(1, ROWS_AT_ONCE // model.rows), current_budget().memory
    if memory is None or most == 1:
        return most
    canvases = canvas_cost(model) if canvas else 0
    single, double = (run_cost(model, engine, batch) + batch * canvases for batch in (1, 2))
    return max(1, min(most, 1 + (memory - single) // (double - single)))


def omission_message(model: Model, cost: int, canvases: int) -> str | None:
    """Return a message that says why only the last canvas is recorded, or None if all canvases fit into memory."""
    memory = current_budget().memory
    if memory is None or cost + canvases <= memory:
        return None
    return (
        f"only the last canvas is kept: those of {model.steps:,} steps with {model.padding:,} slots would take about "
        f"{size_text(canvases)} of memory beside the {size_text(cost)} of the run, beyond the limit of "
        f"{size_text(memory)}; lift it with --limit {cost + canvases}"
    )


def foresee_run(model: Model, cost: int, batch: int) -> None:
    """Raise TooLarge for a run that would exceed the memory limit."""
    words = "a run" if batch == 1 else f"a run of {batch:,} words"
    check_memory(cost, f"{words} over {model.rows:,} rows")


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

    With `record`, the trace also contains attention weights and residual streams. Otherwise they are passed to `watch`.
    Without `canvas`, or if the canvases do not fit into the memory budget, only the last canvas is recorded.
    """
    activations: dict[str, np.ndarray] = {}
    tokens = np.array([word], dtype=np.int64).reshape(1, model.length)
    setup = RunSetup(model, tokens, engine, tape, planner, activations.__setitem__ if record else watch)
    return _traces(setup, canvas, activations, record)[0]


def run_batch(
    model: Model,
    words: Int[np.ndarray, "batch length"],
    *,
    engine: Engine,
    tape: Tape | None = None,
    record: bool = False,
    canvas: bool = True,
) -> list[Trace]:
    """Run many words at once. Each trace is the same as that of a run of this word alone with the same tape."""
    activations: dict[str, np.ndarray] = {}
    setup = RunSetup(model, words, engine, tape, watch=activations.__setitem__ if record else None)
    return _traces(setup, canvas, activations, record)


def _traces(setup: RunSetup, canvas: bool, activations: dict[str, np.ndarray], record: bool) -> list[Trace]:
    model = setup.model
    cost = run_cost(model, setup.engine, setup.batch, watched=setup.watch is not None)
    cost += setup.batch * recorded_cost(model) if record else 0
    foresee_run(model, cost, setup.batch)
    canvases = setup.batch * canvas_cost(model, planned=setup.planner is not None)
    left_out = omission_message(model, cost, canvases) if canvas else None
    recorded: list[RunStep] = []
    steps_taken = 0
    for step in stage("steps", steps(setup), None if setup.planner else 1 if model.kind == "plt" else model.steps):
        if not canvas or left_out:
            recorded.clear()
        recorded.append(step)
        steps_taken += 1
    steps_taken = model.steps if model.kind == "plt" else steps_taken
    return [
        Trace.of(
            model,
            word,
            [s.canvas[i] for s in recorded],
            [s.chosen[i] for s in recorded],
            steps_taken,
            {name: value[i] for name, value in activations.items()},
            left_out=left_out,
        )
        for i, word in enumerate(setup.tokens.tolist())
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
    """Run many words deterministically, in batches that bound the memory."""
    words_at_a_time = words_at_once(model, engine)
    foresee_run(model, run_cost(model, engine, min(words_at_a_time, len(words))), min(words_at_a_time, len(words)))
    slots = []
    for first in range(0, max(1, len(words)), words_at_a_time):
        try:
            *_, last = steps(RunSetup(model, words[first : first + words_at_a_time], engine))
        except AttendsToNothing as error:
            error.word += first
            raise
        slots.append(last.canvas)
    return Answers(model, np.concatenate(slots))


def steps(setup: RunSetup) -> Iterator[RunStep]:
    """Yield the steps of a run as they happen."""
    kind, arrays = setup.model.kind, Arrays(setup)
    if kind in DIFFUSION:
        outside = None if setup.planner is None else planned_from_outside(setup, setup.planner)
        return (RunStep(canvas, chosen) for canvas, chosen in masked_diffusion(arrays, outside))
    if setup.planner is not None:
        raise PlannerError(
            f"a {kind} has no planner that could be replaced; use a model of kind {', '.join(DIFFUSION)}"
        )
    fresh = setup.model.answer_rows if kind == "plt" else setup.model.block or 1
    return _chain_at_once(setup) or (RunStep(canvas, _last_slots(canvas, fresh)) for canvas in canvases(arrays))


def _chain_at_once(setup: RunSetup) -> Iterator[RunStep] | None:
    """Return the steps of a chain of thought if the engine computes the whole chain in one call, else None."""
    if setup.model.kind != "cot" or setup.tape is not None or setup.watch is not None:
        return None
    session, steps = setup.session("model"), setup.model.steps
    if not isinstance(session, Continuing):
        return None
    symbols = session.continued(setup.before(setup.copies(None, 0)), steps)
    if symbols is None:
        return None
    last = _last_slots(symbols, 1)
    return (RunStep(symbols[:, : t + 1], last[:, steps - t - 1 :]) for t in range(steps))


def _last_slots(canvas: np.ndarray, count: int) -> np.ndarray:
    """Return flags of the last slots: the new symbols of a chain of thought, or the answers of a looped model."""
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
