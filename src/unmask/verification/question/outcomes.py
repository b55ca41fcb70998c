"""Model × words → Outcome of each: what its runs say, in the same terms as a problem says what is right."""

from collections.abc import Sequence

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, WordError
from unmask.problems.problem import Outcome
from unmask.reasoners.run_words import answers
from unmask.reasoners.typed_words import is_value, read_word
from unmask.weights.model import Model


def outcomes(
    model: Model, words: Sequence[str], engine: Engine, *, outputs: int = 1, answers: frozenset[str] = frozenset()
) -> list[Outcome]:
    """What the model says of each word; an error of the run is an outcome too, and so is a word that it cannot read."""
    try:
        tokens = np.array([read_word(model, word) for word in words], dtype=np.int64).reshape(len(words), model.length)
    except WordError as error:
        if len(words) == 1:
            return [Outcome(error=str(error))]
        return [said for word in words for said in outcomes(model, [word], engine, outputs=outputs, answers=answers)]
    return _outcomes(model, tokens, engine, outputs, answers)


def outcome_of_symbols(model: Model, symbols: list[str], answers: frozenset[str] = frozenset()) -> Outcome:
    """What the last symbols of a run say: bits, the value of an expression, `answers` asked for, or neither.

    Where truth values stand among other answers, they are written 0 and 1.
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


def _outcomes(model: Model, tokens: np.ndarray, engine: Engine, outputs: int, symbols: frozenset[str]) -> list[Outcome]:
    try:
        slots = answers(model, tokens, engine=engine).slots[:, -outputs:]
    except (AttendsToNothing, EditsWrittenSlot) as error:
        if len(tokens) == 1:
            return [Outcome(error=str(error))]
        half = len(tokens) // 2
        parts = tokens[:half], tokens[half:]
        return [outcome for part in parts for outcome in _outcomes(model, part, engine, outputs, symbols)]
    return [outcome_of_symbols(model, model.symbols(row), symbols) for row in slots]
