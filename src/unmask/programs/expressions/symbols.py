"""The symbols of an expression's model: which may be read, fetched and written, and the table of its operations."""

from dataclasses import dataclass

import numpy as np

from unmask.problems.expression import ExpressionProblem
from unmask.problems.expressions.shape import PUNCTUATION, applied
from unmask.programs.language.builders import Columns
from unmask.programs.language.program import Program
from unmask.programs.language.vocabulary import Vocabulary, vocabulary_of


@dataclass(frozen=True, eq=False)
class Operations:
    """left[i] operator[i] right[i] = result[i], all of them tokens: every operation that can occur, once."""

    left: np.ndarray
    operator: np.ndarray
    right: np.ndarray
    result: np.ndarray


@dataclass(frozen=True, eq=False)
class ExpressionSymbols:
    """Tokens: `fetched` may be read from a slot or the input, `written` may be written, each in increasing order."""

    vocabulary: Vocabulary
    operations: Operations
    fetched: np.ndarray
    written: np.ndarray

    @property
    def classes(self) -> list[np.ndarray]:
        """The tokens of the input by what a place of the word may ask for: the numbers, then each other symbol."""
        numbers = self.vocabulary.letters - len(PUNCTUATION)
        return [np.arange(numbers), *np.arange(numbers, self.vocabulary.letters)[:, None]]

    def register(self, program: Program, name: str, tokens: np.ndarray) -> "SymbolColumns":
        """A register with a column for each of these tokens."""
        tokens = np.unique(tokens)
        return SymbolColumns(tokens, program.register(name, [self.vocabulary.symbols[t] for t in tokens]))


@dataclass(frozen=True, eq=False)
class SymbolColumns:
    """One-hot code of a symbol."""

    tokens: np.ndarray
    columns: Columns

    def of(self, tokens: np.ndarray) -> Columns:
        """The columns of these tokens."""
        return self.columns[np.searchsorted(self.tokens, tokens)]


def expression_symbols(problem: ExpressionProblem, roles: tuple[str, ...], *, copies: bool) -> ExpressionSymbols:
    """The numbers of the range, + - * ( ) =, the other values, and the special symbols.

    The value of the whole is written and never fetched; where slots copy, all else that is fetched is also written.
    """
    values = np.unique(np.concatenate(problem.values))
    numbers = np.arange(problem.operands[0], problem.operands[1] + 1)
    others = np.setdiff1d(values, numbers)
    vocabulary = vocabulary_of(
        (*problem.letters, *map(str, others)), len(problem.letters), (*roles, "reject", "accept")
    )
    marks = {symbol: numbers.size + i for i, symbol in enumerate(PUNCTUATION)}
    token = np.empty(values.size, dtype=np.int64)
    token[np.isin(values, numbers)] = np.arange(numbers.size)
    token[np.isin(values, others)] = vocabulary.letters + np.arange(others.size)

    def tokens_of(which: np.ndarray) -> np.ndarray:
        return token[np.searchsorted(values, which)]

    parts = []
    for symbol, left, right in _operations(problem):
        x, y = left.repeat(right.size), np.tile(right, left.size)
        operator = np.full(x.size, marks[symbol])
        parts.append(np.stack([tokens_of(x), operator, tokens_of(y), tokens_of(applied(symbol, x, y))]))
    operations = Operations(*np.unique(np.concatenate(parts, axis=1), axis=1))
    marked = np.array(sorted(marks.values()) if copies else np.unique(operations.operator))
    fetched = np.unique(np.concatenate([marked, *map(tokens_of, problem.values[:-1])]))
    written = np.unique(np.concatenate([operations.result, fetched] if copies else [operations.result]))
    return ExpressionSymbols(vocabulary, operations, fetched, written)


def _operations(problem: ExpressionProblem) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(operator, values of its left operand, of its right) of every operation."""
    sets = problem.values
    return [(x.symbol, sets[x.left], sets[x.right]) for x in problem.shape.operations]
