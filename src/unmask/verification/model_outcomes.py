"""Model × words → outcomes: run words, and interpret the last symbols of each run as an answer.

A proof does not depend on this module: it runs a word only to confirm a refutation.
"""

from collections.abc import Sequence

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, WordError
from unmask.problems.problem import Outcome
from unmask.reasoners import run_words
from unmask.reasoners.typed_words import is_value, read_word
from unmask.weights.model import Model


def outcomes(
    model: Model, words: Sequence[str], engine: Engine, *, outputs: int = 1, answers: frozenset[str] = frozenset()
) -> list[Outcome]:
    """Return the model's outcome for each word. An error of the run, or in reading the word, is an outcome too."""
    try:
        tokens = np.array([read_word(model, word) for word in words], dtype=np.int64).reshape(len(words), model.length)
    except WordError as error:
        if len(words) == 1:
            return [Outcome(error=str(error))]
        one_by_one = (outcomes(model, [word], engine, outputs=outputs, answers=answers) for word in words)
        return [outcome for (outcome,) in one_by_one]
    return _outcomes(model, tokens, engine, outputs, answers)


def _outcomes(model: Model, tokens: np.ndarray, engine: Engine, outputs: int, symbols: frozenset[str]) -> list[Outcome]:
    try:
        slots = run_words.answers(model, tokens, engine=engine).slots[:, -outputs:]
    except (AttendsToNothing, EditsWrittenSlot) as error:
        if len(tokens) == 1:
            return [Outcome(error=str(error))]
        middle = len(tokens) // 2
        halves = tokens[:middle], tokens[middle:]
        return [outcome for half in halves for outcome in _outcomes(model, half, engine, outputs, symbols)]
    return [outcome_of_symbols(model, model.symbols(row), symbols) for row in slots]


def outcome_of_symbols(model: Model, symbols: list[str], answers: frozenset[str] = frozenset()) -> Outcome:
    """Return the outcome of a run that ends in these symbols.

    It is a list of bits, the value of an expression, or a list of symbols from `answers`; otherwise it is undecided.
    In a list of symbols, accept and reject are written 1 and 0.
    """
    meaning = {model.accept: True, model.reject: False}
    symbols = model.plain(symbols)
    if answers and all(symbol in meaning or symbol in answers for symbol in symbols):
        return Outcome(value=" ".join(str(int(meaning[s])) if s in meaning else s for s in symbols))
    bits = [meaning[symbol] for symbol in symbols if symbol in meaning]
    if len(bits) == len(symbols):
        return Outcome.of_bits(bits)
    if len(symbols) == 1 and is_value(symbols[0], model.vocabulary):
        return Outcome(value=symbols[0])
    return Outcome(undecided=" ".join(symbols))
