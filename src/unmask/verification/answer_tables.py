"""Model × many words → the last slots of each word, by tables that are extracted from the weights once.

    value_v = table_v[((value_a · |b| + value_b) · |c| + value_c) …]       for all words of a block at once

Symbolic execution (`verification/words`) extracts exactly what a run computes, for any weights. `AnswerTables` stores
an extraction as a list of flat tables, each indexed by earlier variables. The engine runs the model instead if there
are few words, if the extraction takes too long or has too many cases, with `--no-tables`, and in every method of
`verify`. The answers are the same in both cases.

Tables are tried only if they are likely to save time: an engine takes about a microsecond per row, and the extraction
may take a fixed share of the time that the engine would need for all words.
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
WORDS_AT_ONCE = 1 << 14  # so that a column of a block fits in the cache
ROWS_PER_SECOND = 1_000_000  # of the engine
LEAST_ROWS = 250_000  # fewer rows are left to the engine
LEAST_WORDS = 512  # the same for words: symbolic execution takes about a millisecond per row of one word
SHARE = 2  # an extraction may take 1/SHARE of the engine's time


@dataclass(frozen=True, eq=False)
class _TableVariable:
    """A variable with a flat table, whose index is computed from the values and sizes of its parents."""

    number: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    table: np.ndarray

    @classmethod
    def of(
        cls, network: Network, number: int, parents: tuple[int, ...], table: np.ndarray, kind: type = np.int64
    ) -> "_TableVariable":
        """Flatten a table; the values of variables are stored as int64, NumPy's type of indices."""
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
class _SwitchVariable:
    """A switch: the value of its first parent selects the branch for each word."""

    number: int
    variable: Variable

    def __call__(self, values: dict[int, np.ndarray], count: int) -> np.ndarray:
        del count
        return self.variable.of(values).astype(np.int64)


class AnswerTables:
    """The final slots of a model as tables, evaluated for many words at once."""

    def __init__(self, extraction: Extraction) -> None:
        network = extraction.network
        self._letters = list(network.letters)
        self._slots = [
            _TableVariable.of(network, -1, slot.cases.variables, slot.symbols[slot.cases.index], SYMBOL)
            for slot in extraction.slots
        ]
        self._failures = [
            _TableVariable.of(network, -1, f.cases.variables, f.labels[f.cases.index]) for f in extraction.failures
        ]
        needed = {u for table in (*self._slots, *self._failures) for u in table.parents}
        self._variables: list[_TableVariable | _SwitchVariable] = []
        for v in network.below(sorted(needed)):
            variable = network.variables[v]
            if variable.table is not None:
                self._variables.append(_TableVariable.of(network, v, variable.parents, variable.table))
            elif variable.letter is None:
                self._variables.append(_SwitchVariable(v, variable))

    def __call__(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (symbols [words, slots], whether the run fails) for words [words, N] of input symbols' numbers."""
        symbols = np.empty((len(self._slots), len(words)), dtype=SYMBOL)
        fails = np.zeros(len(words), dtype=bool)
        for first in range(0, len(words), WORDS_AT_ONCE):
            block = slice(first, first + WORDS_AT_ONCE)
            columns = np.ascontiguousarray(words[block].T, dtype=np.int64)
            count = columns.shape[1]
            values = dict(zip(self._letters, columns, strict=True))
            for variable in self._variables:
                values[variable.number] = variable(values, count)
            for i, variable in enumerate(self._slots):
                symbols[i, block] = variable(values, count)
            for variable in self._failures:
                fails[block] |= variable(values, count).astype(bool)
        return symbols.T, fails


_TABLES_OF_MODEL: "WeakKeyDictionary[Model, _ExtractedTables]" = WeakKeyDictionary()


@dataclass(eq=False)
class _ExtractedTables:
    """The tables of a model; None if they could not be extracted in the time allowed for `rows` rows."""

    tables: AnswerTables | None
    rows: int


@dataclass(frozen=True, eq=False)
class AnsweredWords:
    """The final slots of words. `by` is "tables" or "engine"; `failed` has the errors of words whose run fails."""

    answers: Answers
    by: str
    failed: dict[int, AttendsToNothing | EditsWrittenSlot]


def answer_many_words(
    model: Model,
    words: Int[np.ndarray, "batch length"],
    *,
    engine: Engine,
    tables: bool | None = None,
    expected: int = 0,
) -> AnsweredWords:
    """Return the final slots of every word.

    `tables` requires (True) or forbids (False) tables; None chooses by the estimated time. `expected` is the total
    number of words, if these are only some of them.
    """
    count = max(expected, len(words))
    extracted = None if tables is False else answer_tables_of(model, count, insist=tables is True)
    if extracted is None:
        return _answer_by_engine(model, words, engine)
    symbols, fails = extracted(input_numbers(model, words))
    failing = np.flatnonzero(fails)
    if not failing.size:
        return AnsweredWords(Answers(model, symbols), "tables", {})
    rerun = _answer_by_engine(model, words[failing], engine)
    symbols[failing] = rerun.answers.slots
    errors = {int(failing[i]): error for i, error in rerun.failed.items()}
    return AnsweredWords(Answers(model, symbols), "tables", errors)


def answer_tables_of(model: Model, words: int, *, insist: bool) -> AnswerTables | None:
    """Return the tables of a model, extracted once; None if they are not worth it for this number of words."""
    rows = words * model.rows * len(model.transformers)
    cached = _TABLES_OF_MODEL.get(model)
    if cached is not None and (cached.tables is not None or (not insist and rows < 2 * cached.rows)):
        return cached.tables
    if not insist and (rows < LEAST_ROWS or words < LEAST_WORDS):
        return None
    allowed = None if insist else rows / (ROWS_PER_SECOND * SHARE)
    try:
        with Budget(seconds=allowed):
            extracted = AnswerTables(extract(model))
    except (OutOfTime, TooLarge):
        if insist:
            raise
        extracted = None
    _TABLES_OF_MODEL[model] = _ExtractedTables(extracted, rows)
    return extracted


def _answer_by_engine(model: Model, words: np.ndarray, engine: Engine) -> AnsweredWords:
    """Run the engine on all words; if one fails, on each word. The slots of a failing word are 0, without meaning."""
    try:
        return AnsweredWords(by_engine(model, words, engine=engine), "engine", {})
    except (AttendsToNothing, EditsWrittenSlot):
        pass
    slots = np.zeros((len(words), model.symbols_written), dtype=np.int64)
    failed: dict[int, AttendsToNothing | EditsWrittenSlot] = {}
    for i in range(len(words)):
        try:
            slots[i] = by_engine(model, words[i : i + 1], engine=engine).slots[0]
        except (AttendsToNothing, EditsWrittenSlot) as error:
            failed[i] = error
    return AnsweredWords(Answers(model, slots), "engine", failed)
