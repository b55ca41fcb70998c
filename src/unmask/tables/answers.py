"""Model × many words → the last slots of each, by tables where they pay.

Whether they pay is guessed: an engine takes about a microsecond for a row, an extraction may take a part of the time
that the engine would take for all words. One that takes longer, or finds too many cases, is given up, and the engine
does the work. What comes out does not depend on it.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from unmask.budget import Budget
from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, OutOfTime, TooLarge
from unmask.numerics.array_types import Int
from unmask.reasoners.run_words import Answers
from unmask.reasoners.run_words import answers as by_engine
from unmask.tables.compiled import LookUps
from unmask.verification.words.extraction import extract, input_numbers
from unmask.weights.model import Model

ROWS_PER_SECOND = 1_000_000
LEAST_ROWS = 250_000  # of the engine, from which an extraction is tried
LEAST_WORDS = 512  # for symbolic execution takes about a millisecond for a row of one word
SHARE = 2  # the engine's time over what an extraction may take of it

_EXTRACTED: "WeakKeyDictionary[Model, _Tables]" = WeakKeyDictionary()


@dataclass(eq=False)
class _Tables:
    """What is known of a model: its look-ups; or for how many rows none could be made in time."""

    look_ups: LookUps | None
    rows: int


@dataclass(frozen=True, eq=False)
class Tabled:
    """What words led to; `by` is "tables" or "engine", `failed` are the words whose run is no run, and why."""

    answers: Answers
    by: str
    failed: dict[int, AttendsToNothing | EditsWrittenSlot]


def tabled_answers(
    model: Model,
    words: Int[np.ndarray, "batch length"],
    *,
    engine: Engine,
    tables: bool | None = None,
    expected: int = 0,
) -> Tabled:
    """The last slots of every word; `tables` True or False decides what else is guessed.

    `expected`: how many words there are or have been, where these are only some of them.
    """
    count = max(expected, len(words))
    look_ups = None if tables is False else look_ups_of(model, count, insist=tables is True)
    if look_ups is None:
        return _by_engine(model, words, engine)
    symbols, fails = look_ups(input_numbers(model, words))
    unsure = np.flatnonzero(fails)
    if not unsure.size:
        return Tabled(Answers(model, symbols), "tables", {})
    redone = _by_engine(model, words[unsure], engine)
    symbols[unsure] = redone.answers.slots
    return Tabled(Answers(model, symbols), "tables", {int(unsure[i]): error for i, error in redone.failed.items()})


def look_ups_of(model: Model, words: int, *, insist: bool) -> LookUps | None:
    """The look-ups of a model if they pay for so many words, extracted once."""
    rows = words * model.rows * len(model.transformers)
    known = _EXTRACTED.get(model)
    if known is not None and (known.look_ups is not None or (not insist and rows < 2 * known.rows)):
        return known.look_ups
    if not insist and (rows < LEAST_ROWS or words < LEAST_WORDS):
        return None
    allowed = None if insist else rows / (ROWS_PER_SECOND * SHARE)
    try:
        with Budget(seconds=allowed):
            look_ups = LookUps(extract(model))
    except (OutOfTime, TooLarge):
        if insist:
            raise
        look_ups = None
    _EXTRACTED[model] = _Tables(look_ups, rows)
    return look_ups


def _by_engine(model: Model, words: np.ndarray, engine: Engine) -> Tabled:
    """The engine on all words; if one fails, on each. The slots of a word that fails are 0 and mean nothing."""
    try:
        return Tabled(by_engine(model, words, engine=engine), "engine", {})
    except (AttendsToNothing, EditsWrittenSlot):
        pass
    slots = np.zeros((len(words), model.symbols_written), dtype=np.int64)
    failed: dict[int, AttendsToNothing | EditsWrittenSlot] = {}
    for i in range(len(words)):
        try:
            slots[i] = by_engine(model, words[i : i + 1], engine=engine).slots[0]
        except (AttendsToNothing, EditsWrittenSlot) as error:
            failed[i] = error
    return Tabled(Answers(model, slots), "engine", failed)
