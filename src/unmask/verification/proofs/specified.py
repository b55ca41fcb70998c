"""Specification × letters → Side: what a proof holds a model against, ready to become gates.

| specification   | side                                         |
|-----------------|----------------------------------------------|
| Automaton       | state by state                               |
| LetteredCircuit | gate by gate                                 |
| Shape           | operation by operation, a literal per value  |
| Recurrences     | slot by slot, a literal per value            |
| Grammar         | span by span, from the rules as written      |
| DecisionGraph   | level by level, a literal per node           |
| Model           | extracted from its weights                   |
"""

from collections.abc import Sequence

import numpy as np

from unmask.errors import WordError, shortened
from unmask.problems.automata.automaton import Automaton
from unmask.problems.context_free_grammars import Grammar
from unmask.problems.problem import DecisionGraph, LetteredCircuit, Recurrences, Specification
from unmask.verification.proofs.grammar_side import GrammarSide
from unmask.verification.proofs.recurrence_side import RecurrenceSide
from unmask.verification.proofs.sides import AutomatonSide, CircuitSide, ExpressionSide, GraphSide, ModelSide, Side
from unmask.verification.question.letters import symbol_of
from unmask.verification.symbolic.extract import extract
from unmask.weights.model import Model


def side_of(specification: Specification | Model, letters: Sequence[str], outputs: int) -> Side:
    """The specification over these letters, as they are typed; its last `outputs` count."""
    if isinstance(specification, Model):
        return ModelSide(extract(specification), symbol_numbers(specification, letters).tolist(), outputs)
    if isinstance(specification, Automaton):
        return AutomatonSide(specification, token_numbers(specification, letters).tolist())
    if isinstance(specification, LetteredCircuit):
        bits = [specification.letters.index(letter) for letter in letters]
        return CircuitSide(specification.circuit, bits, outputs)
    if isinstance(specification, Recurrences):
        return RecurrenceSide(specification.interpreter, letters, outputs)
    if isinstance(specification, DecisionGraph):
        return GraphSide(specification)
    if isinstance(specification, Grammar):
        return GrammarSide(specification, letters)
    return ExpressionSide(specification, letters)


def symbol_numbers(model: Model, letters: Sequence[str]) -> np.ndarray:
    """The number of the input symbol that a model reads for each letter."""
    numbers = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    symbols = [symbol_of(model, letter) for letter in letters]
    for letter, symbol in zip(letters, symbols, strict=True):
        if symbol is None:  # `Question.unread` comes first
            raise WordError(f"the letter {shortened(letter)!r} occurs on only one side; compare over common letters")
    return np.array([numbers[symbol] for symbol in symbols if symbol is not None], dtype=np.int64)


def token_numbers(automaton: Automaton, letters: Sequence[str]) -> np.ndarray:
    return np.array([int(automaton.token_ids([letter])[0]) for letter in letters])
