"""Extract: a model of any kind → the network of finite variables that it computes, exactly, from its weights alone.

    Model ──symbolic execution──▶ Network: letters → … → the symbol in each slot after T steps

The loops are those of `reasoners`, over the tables of `medium`: for every word the network has the value that the model
computes. Registers, problem and provenance are not read.

`failures` are the cases in which a run is no run: a row attends to nothing, or a planner edits a written slot of an
smdm. On such words the rest of the network means nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from unmask.errors import UnmaskError
from unmask.limits import foresee, stage
from unmask.reasoners.loops import canvases
from unmask.verification.symbolic.embedding import Token
from unmask.verification.symbolic.medium import Failure, Tables
from unmask.verification.symbolic.network import Cases, Network, TooManyCases
from unmask.weights.model import Model

ACCEPT, REJECT = "accept", "reject"
PER_ROW = 600  # bytes of a row that is embedded


@dataclass(frozen=True, eq=False)
class Extraction:
    """The network, the letters' symbols, the final slots, and where a run fails."""

    model: Model
    network: Network
    slots: list[Token]
    failures: list[Failure]
    steps: list[list[Token]] = field(default_factory=list)
    """The slots after every step; the last ones are missing where nothing changes any more."""
    cut_rows: dict[tuple[bool, int, int], Cases] = field(default_factory=dict)
    """In a loop: (as far as scores go, number of the layer, row) → the cases of the row after it."""

    def answer(self, slot: int = -1) -> tuple[Cases, np.ndarray]:
        """(cases, the answer in each) of a slot: accept, reject, or another symbol; aliases applied."""
        model, token = self.model, self.slots[slot]
        meaning = {model.accept: ACCEPT, model.reject: REJECT}
        names = [meaning.get(s, f"symbol {s}") for s in model.plain(model.symbols(token.symbols))]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        labels = np.array([numbers[name] for name in names])
        cases, order = self.network.cases(token.cases.variables, labels[token.cases.index])
        return cases, np.array(list(numbers))[order]

    def outcomes(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(symbols of the slots [batch, slots], does the run fail) on words [batch, N] of input symbols' numbers."""
        wanted = {v for part in (*self.slots, *self.failures) for v in part.cases.variables}
        values = self.network.evaluate(words, sorted(wanted))

        def case(cases: Cases) -> np.ndarray:
            return np.broadcast_to(cases.index[tuple(values[v] for v in cases.variables)], (len(words),))

        slots = np.stack([token.symbols[case(token.cases)] for token in self.slots], axis=1)
        fails = np.zeros(len(words), dtype=bool)
        for failure in self.failures:
            fails |= failure.labels[case(failure.cases)].astype(bool)
        return slots, fails


def extract(model: Model) -> Extraction:
    """Execute a model on all words of its length at once; what it takes at least is foreseen, the rest is measured."""
    foresee(_least_cost(model), f"the tables of {model.rows:,} rows")
    tables = Tables(model)
    try:
        unrolled = stage("extracting steps", canvases(tables), 1 if model.kind == "plt" else model.steps)
        steps = _until_settled(unrolled)
    except TooManyCases as error:
        raise TooManyCases(f"the model does not decompose into small tables: it would need {error}") from None
    return Extraction(model, tables.network, steps[-1], tables.failures(), steps, tables.cut_rows)


def _least_cost(model: Model) -> int:
    """Bytes that no extraction stays below: every row is embedded, and every row stands at every layer of a pass."""
    total = 0
    for transformer in model.transformers.values():
        first, last = transformer.loop or (0, 0)
        layers = len(transformer.layers) + (last - first) * max(0, model.steps - 1)
        total += model.rows * (PER_ROW + transformer.width + 8 * layers)
    return total + model.length * model.length // 16  # a letter is a bit of the numbers that stand for sets of them


def _until_settled(steps: Iterator[list[Token]]) -> list[list[Token]]:
    """What the slots hold after every step; once no slot changes, none ever will."""
    held = [next(steps)]
    for after in steps:
        before = held[-1]
        held.append(after)
        if len(after) == len(before) and all(old is new for old, new in zip(before, after, strict=True)):
            break
    return held


def input_numbers(model: Model, tokens: np.ndarray) -> np.ndarray:
    """Token ids of words → numbers of input symbols, the values of the network's letters."""
    size = len(model.vocabulary)
    number = np.full(size, -1, dtype=np.min_scalar_type(-size))  # words are many: a byte for each letter, if it can be
    number[[model.token[s] for s in model.input_symbols]] = np.arange(len(model.input_symbols))
    numbers = number.take(tokens)
    if numbers.min(initial=0) < 0:
        raise UnmaskError("a word contains a symbol that is not an input symbol")
    return numbers
