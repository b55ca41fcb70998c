"""expr:EXPRESSION [in LOW..HIGH] [within LOW..HIGH] [compact]: the value of an arithmetic expression.

    in       the range of the operands, 0..9 unless it is given
    within   a range that no result may leave; an expression that can leave it is refused before compilation
    compact  one slot per operator, instead of writing the whole expression after every step

A word is an expression of the same shape: (2+3)*(4+1)-6= for (a+b)*(c+d)-e. Any other word has no value.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.problems.expression_shapes import (
    LARGEST_VALUE,
    MOST_VALUES,
    PUNCTUATION,
    ExpressionShape,
    Range,
    parse_shape,
    value_sets,
    with_ascii_operators,
)
from unmask.problems.problem import REJECTED, Outcome, Problem, Stored, Word, Words

DIGITS = (0, 9)
_RANGE = r"(-?[0-9]+)\s*\.\.\s*(-?[0-9]+)"
_SPEC = re.compile(rf"(.*?)(?:\s+in\s+{_RANGE})?(?:\s+within\s+{_RANGE})?(\s+compact)?", re.ASCII | re.DOTALL)
_SYMBOL = re.compile(r"\s*([0-9]+|[-+*()=])", re.ASCII)
LONGEST_SPEC = 10_000


@dataclass(frozen=True)
class ExpressionProblem(Problem):
    """What does the expression evaluate to? Oracle: Python's integers, operation by operation."""

    spec: str

    def __post_init__(self) -> None:
        _ = self.shape, self.values  # raises if the specification is wrong

    @cached_property
    def _parts(self) -> tuple[str, Range, Range | None, bool]:
        if len(self.spec) > LONGEST_SPEC:
            raise ProblemError(f"an expression of {len(self.spec):,} characters is too long; use a shorter one")
        match = _SPEC.fullmatch(with_ascii_operators(self.spec).strip())
        assert match is not None, "the pattern matches every text"
        text, *bounds, compact = match.groups()
        operands, within = _range(bounds[:2]) or DIGITS, _range(bounds[2:])
        if operands[1] - operands[0] >= MOST_VALUES:
            raise TooLarge(f"the range {operands[0]}..{operands[1]} has more than {MOST_VALUES:,} numbers; narrow it")
        return text, operands, within, compact is not None

    @property
    def name(self) -> str:
        return f"expr:{with_ascii_operators(self.spec).strip()}"

    @cached_property
    def shape(self) -> ExpressionShape:
        return parse_shape(self._parts[0])

    @property
    def operands(self) -> Range:
        """The least and the greatest operand of a word."""
        return self._parts[1]

    @property
    def compact(self) -> bool:
        return self._parts[3]

    @cached_property
    def values(self) -> list[np.ndarray]:
        """The values of every operand and operation."""
        return value_sets(self.shape, self.operands, self._parts[2])

    @property
    def length(self) -> int:
        return len(self.shape.symbols)

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The input symbols: the numbers of the range, then + - * ( ) =."""
        return (*(str(v) for v in range(self.operands[0], self.operands[1] + 1)), *PUNCTUATION)

    def outcome(self, word: Word) -> Outcome:
        """The value of a word; a word that is not an expression of this shape is rejected."""
        operands = self._operands_of(word)
        return REJECTED if operands is None else Outcome(value=str(self.shape.evaluate(operands)))

    def _operands_of(self, word: Word) -> list[int] | None:
        symbols = self._spelled(word) if isinstance(word, str) else list(word)
        if len(symbols) != self.length:
            return None
        operands = []
        for symbol, expected in zip(symbols, self.shape.symbols, strict=True):
            if (symbol if symbol in PUNCTUATION else None) != expected or symbol not in self.letters:
                return None
            if expected is None:
                operands.append(int(symbol))
        return operands

    def _spelled(self, word: str) -> list[str]:
        """Return the symbols of a word, which is separated by blanks or an expression as typed; `=` is optional."""
        pieces = with_ascii_operators(word).split()
        if len(pieces) == self.length and all(piece in self.letters for piece in pieces):
            return pieces
        symbols: list[str] = []
        sign = ""
        text, position = with_ascii_operators(word).rstrip(), 0
        while position < len(text):
            match = _SYMBOL.match(text, position)
            if match is None:
                return []
            position, symbol = match.end(), match[1]
            signs = not symbols or symbols[-1] in ("+", "-", "*", "(")
            if symbol == "-" and signs and not sign and text[position : position + 1].isdigit():
                sign = "-"
                continue
            symbols.append(sign + symbol)
            sign = ""
        return symbols if symbols[-1:] == ["="] else [*symbols, "="]

    def word_of(self, operands: Sequence[int]) -> str:
        """The word with these operands."""
        numbers = iter(operands)
        return "".join(str(next(numbers)) if symbol is None else symbol for symbol in self.shape.symbols)

    def every_word(self, length: int) -> Words:  # noqa: ARG002
        """All words of this shape, then the words that differ from the least of them in at most one symbol."""
        numbers = self.operands[1] - self.operands[0] + 1
        count = numbers ** len(self.shape.operands) + self.length * len(self.letters)
        return Words(count, self._every_word())

    def _every_word(self) -> Iterator[str]:
        numbers = range(self.operands[0], self.operands[1] + 1)
        for operands in product(numbers, repeat=len(self.shape.operands)):
            yield self.word_of(operands)
        least = [symbol or self.letters[0] for symbol in self.shape.symbols]
        for index, letter in product(range(self.length), self.letters):
            yield " ".join([*least[:index], letter, *least[index + 1 :]])

    def words(self, length: int, rng: random.Random) -> Iterator[str]:  # noqa: ARG002
        """Repeatedly, three words of the shape and one word that only has its length."""
        while True:
            for _ in range(3):
                yield self.random_word(rng)
            yield self.misshapen_word(rng)

    def random_word(self, rng: random.Random) -> str:
        return self.word_of([rng.randint(*self.operands) for _ in self.shape.operands])

    def misshapen_word(self, rng: random.Random) -> str:
        """Return a word of the same length: with one wrong symbol, or with random symbols only."""
        symbols = list(self.shape.symbols)
        if not rng.getrandbits(1):
            return " ".join(rng.choice(self.letters) for _ in symbols)
        index = rng.randrange(self.length)
        replacements = [s for s in PUNCTUATION if s != symbols[index]] + ([] if symbols[index] is None else [""])
        symbols[index] = rng.choice(replacements)
        return " ".join(symbol or str(rng.randint(*self.operands)) for symbol in symbols)

    def specification(self, length: int) -> ExpressionShape:  # noqa: ARG002
        return self.shape

    def stored(self) -> Stored:
        return StoredExpression(with_ascii_operators(self.spec).strip())


class StoredExpression(Stored, frozen=True, tag="expression"):
    """What a model folder stores of an expression problem: its specification."""

    spec: str

    def problem(self) -> ExpressionProblem:
        return ExpressionProblem(self.spec)


def _range(bounds: Sequence[str | None]) -> Range | None:
    """LOW..HIGH."""
    low, high = bounds
    if low is None or high is None:
        return None
    if max(len(low), len(high)) > 12 or max(abs(int(low)), abs(int(high))) > LARGEST_VALUE:
        raise ProblemError(f"the range {shortened(low)}..{shortened(high)} exceeds ±{LARGEST_VALUE:,}; narrow it")
    if int(low) > int(high):
        raise ProblemError(f"the range {low}..{high} is empty; write the smaller number first")
    return int(low), int(high)
