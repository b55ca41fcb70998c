"""What a run takes at most, in bytes, from the declared sizes: the sessions of its engine, its tokens, its canvases.

sessions    rows × columns, as the engine says (`engines/footprint`)
tokens      rows × a few 64-bit numbers
canvases    steps × slots × (a token and a flag), where they are kept
"""

from unmask.budget import current, foresee, in_words
from unmask.engines.engine import Engine, Footprint
from unmask.weights.model import Model

ROWS_AT_ONCE = 1 << 16
PER_ROW = 16 * 8  # tokens, canvases and decoded symbols that are alive at once
PER_LETTER = 120  # of the word, as text, symbols and Python's integers
PER_SLOT = 9  # of a kept canvas: a token and a flag
PER_STEP = 400  # of a kept canvas: two arrays and the step around them


def run_cost(model: Model, engine: Engine, batch: int, *, watched: bool = False) -> int:
    """Bytes of a run of so many words, without its canvases; `watched` if someone is shown all that is computed."""
    sessions = (engine.footprint(t, batch, watched=watched) for t in model.transformers.values())
    return Footprint.together(sessions) + batch * (PER_ROW * model.rows + PER_LETTER * model.length)


def canvas_cost(model: Model, *, planned: bool = False) -> int:
    """Bytes of all canvases of one word; a planner from outside may take as many steps as there are slots."""
    if model.kind == "plt":
        return PER_STEP + PER_SLOT * model.answer_rows
    steps = max(model.steps, model.padding) if planned else model.steps
    slots = model.padding if model.block is None and model.kind != "cot" else (model.padding + (model.block or 1)) // 2
    return steps * (PER_STEP + PER_SLOT * slots)


def recorded_cost(model: Model) -> int:
    """Bytes of all that is computed, where all of it is kept: residual streams and attention weights."""
    return 8 * model.numbers_computed


def words_at_once(model: Model, engine: Engine, *, canvas: bool = False) -> int:
    """How many words to run together, so that memory stays within the budget; at least one."""
    most, memory = max(1, ROWS_AT_ONCE // model.rows), current().memory
    if memory is None or most == 1:
        return most
    kept = canvas_cost(model) if canvas else 0
    one, two = (run_cost(model, engine, batch) + batch * kept for batch in (1, 2))
    return max(1, min(most, 1 + (memory - one) // (two - one)))


def not_kept(model: Model, cost: int, canvases: int) -> str | None:
    """Why canvases beyond the last are not kept, or None where they fit beside the run."""
    memory = current().memory
    if memory is None or cost + canvases <= memory:
        return None
    return (
        f"only the last canvas is kept: those of {model.steps:,} steps with {model.padding:,} slots would take about "
        f"{in_words(canvases)} of memory beside the {in_words(cost)} of the run, beyond the limit of "
        f"{in_words(memory)}; lift it with --limit {cost + canvases}"
    )


def foresee_run(model: Model, cost: int, batch: int) -> None:
    """Refuse a run that would take more memory than there may be."""
    words = "a run" if batch == 1 else f"a run of {batch:,} words"
    foresee(cost, f"{words} over {model.rows:,} rows")
