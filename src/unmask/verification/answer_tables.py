"""Model × many words → the last slots of each, by tables that are extracted from the weights once.

value_v = table_v[((value_a · |b| + value_b) · |c| + value_c) …]           for all words of a block at once

Symbolic execution (`verification/words`) extracts exactly what a run computes, for any weights. `LookUps` is an
extraction as a list of flat tables, each indexed by variables that come before it. The engine runs the model instead
if there are too few words, if the extraction takes too long or finds too many cases, with `--no-tables`, and in every
method of `verify`. The answers are the same either way.

Whether tables pay is estimated: an engine takes about a microsecond per row, and an extraction may take a share of the
time that the engine would take for all words.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, OutOfTime, TooLarge
from unmask.limits import Budget
from unmask.numerics.array_types import Int
from unmask.reasoners.run_words import Answers
from unmask.reasoners.run_words import answers as by_engine
from unmask.verification.words.extraction import Extraction, extract, input_numbers
from unmask.verification.words.network import Network, Variable
from unmask.weights.model import Model

SYMBOL = np.int32
AT_ONCE = 1 << 14  # words of a block: a column of it stays in the cache
ROWS_PER_SECOND = 1_000_000
LEAST_ROWS = 250_000  # of the engine, from which an extraction is tried
LEAST_WORDS = 512  # for symbolic execution takes about a millisecond for a row of one word
SHARE = 2  # the engine's time over what an extraction may take of it


@dataclass(frozen=True, eq=False)
class _LookUp:
    """One variable: table[index], the index made of its parents' values and sizes."""

    number: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    table: np.ndarray

    @classmethod
    def of(
        cls, network: Network, number: int, parents: tuple[int, ...], table: np.ndarray, kind: type = np.int64
    ) -> "_LookUp":
        """Values of variables are indices, which NumPy wants in its own type."""
        sizes = tuple(network.variables[u].size for u in parents)
        return cls(number, parents, sizes, np.ascontiguousarray(table.reshape(-1), dtype=kind))

    def __call__(self, values: dict[int, np.ndarray], count: int) -> np.ndarray:
        if not self.parents:
            return np.broadcast_to(self.table, (count,))
        index = values[self.parents[0]]
        for u, size in zip(self.parents[1:], self.sizes[1:], strict=True):
            index = index * size
            index += values[u]
        return self.table.take(index)


@dataclass(frozen=True, eq=False)
class _Switch:
    """One variable that its first parent chooses: of each branch, the words for which it is chosen."""

    number: int
    variable: Variable

    def __call__(self, values: dict[int, np.ndarray], count: int) -> np.ndarray:
        del count
        return self.variable.of(values).astype(np.int64)


class LookUps:
    """What the slots hold at the end, or some of them, for many words at once."""

    def __init__(self, extraction: Extraction, *, last: int | None = None) -> None:
        """`last`: the number of slots at the end that are needed."""
        network = extraction.network
        slots = extraction.slots if last is None else extraction.slots[-last:]
        self._letters = list(network.letters)
        self._slots = [_LookUp.of(network, -1, t.cases.variables, t.symbols[t.cases.index], SYMBOL) for t in slots]
        self._failures = [
            _LookUp.of(network, -1, f.cases.variables, f.labels[f.cases.index]) for f in extraction.failures
        ]
        wanted = {u for part in (*self._slots, *self._failures) for u in part.parents}
        self._variables: list[_LookUp | _Switch] = []
        for v in network.below(sorted(wanted)):
            variable = network.variables[v]
            if variable.table is not None:
                self._variables.append(_LookUp.of(network, v, variable.parents, variable.table))
            elif variable.letter is None:
                self._variables.append(_Switch(v, variable))

    def __call__(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(symbols [words, slots], does the run fail) of words [words, N] of input symbols' numbers."""
        symbols = np.empty((len(self._slots), len(words)), dtype=SYMBOL)
        fails = np.zeros(len(words), dtype=bool)
        for first in range(0, len(words), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            columns = np.ascontiguousarray(words[part].T, dtype=np.int64)
            count = columns.shape[1]
            values = dict(zip(self._letters, columns, strict=True))
            for look_up in self._variables:
                values[look_up.number] = look_up(values, count)
            for i, look_up in enumerate(self._slots):
                symbols[i, part] = look_up(values, count)
            for look_up in self._failures:
                fails[part] |= look_up(values, count).astype(bool)
        return symbols.T, fails


_EXTRACTED: "WeakKeyDictionary[Model, _Tables]" = WeakKeyDictionary()


@dataclass(eq=False)
class _Tables:
    """What is known of a model: its look-ups; or for how many rows none could be made in time."""

    look_ups: LookUps | None
    rows: int


@dataclass(frozen=True, eq=False)
class Tabled:
    """What words led to; `by` is "tables" or "engine", `failed` are the words whose run fails, with the reason."""

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
    """The look-ups of a model if they pay for this number of words, extracted once."""
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
