"""An arithmetic expression as text → its shape: where operands and operators are, and what each operator reads.

+ and - bind less tightly than *, all associate to the left, parentheses group. × and − may be written for * and -.
An operand is a name or a number. Either is only a placeholder: a name that occurs twice is two independent operands.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import ProblemError, TooLarge, shortened

BINDING = {"+": 1, "-": 1, "*": 2}
OPERATORS = tuple(BINDING)
PUNCTUATION = (*OPERATORS, "(", ")", "=")
MOST_TOKENS = 256

_SPELLINGS = str.maketrans("×−", "*-")
_TOKEN = re.compile(r"\s*(?:(?P<operand>[^\W\d]\w*|[0-9]+)|(?P<mark>[-+*()]))", re.ASCII)


@dataclass(frozen=True)
class ArithmeticOperation:
    """An operator, its index among the symbols, its column in the text, and the nodes that it reads.

    Nodes are the operands from left to right, then the operations. An operation on two operands has height 1.
    """

    symbol: str
    index: int
    column: int
    left: int
    right: int
    height: int


@dataclass(frozen=True)
class ExpressionShape:
    """The symbols of a word, None for an operand, `=` at the end; operations come after the nodes that they read."""

    symbols: tuple[str | None, ...]
    operations: tuple[ArithmeticOperation, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The indices of the operands among the symbols."""
        return tuple(i for i, symbol in enumerate(self.symbols) if symbol is None)

    @property
    def depth(self) -> int:
        return self.operations[-1].height

    def evaluate(self, operands: Sequence[int]) -> int:
        """The value of the whole, operation by operation."""
        values = list(operands)
        for operation in self.operations:
            values.append(apply_operator(operation.symbol, values[operation.left], values[operation.right]))
        return values[-1]


def apply_operator(symbol: str, left, right):
    """left ∘ right, for numbers or arrays of them."""
    if symbol == "*":
        return left * right
    return left + right if symbol == "+" else left - right


def with_ascii_operators(text: str) -> str:
    """The text with * for × and - for −."""
    return text.translate(_SPELLINGS)


def tokens_of(text: str) -> list[tuple[str, int]]:
    """(operand or mark, column) of an expression; a column counts from 1."""
    text, position, tokens = with_ascii_operators(text).rstrip(), 0, []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            raise _syntax_error(
                f"{text[position]!r} at column {position + 1} is not a name, number, + - * or parenthesis", text
            )
        tokens.append((match["operand"] or match["mark"], match.end() - len(match[0].lstrip()) + 1))
        if len(tokens) > MOST_TOKENS:
            raise _syntax_error(f"it has more than {MOST_TOKENS} symbols; use a shorter one", text)
        position = match.end()
    return tokens


def parse_shape(text: str) -> ExpressionShape:
    """Parse an expression with at least one operator into its shape."""
    tokens = tokens_of(text)
    parser = _ShapeParser(text, tokens)
    for index in range(len(tokens)):
        parser.read(index)
    operations = parser.finish()
    symbols = [token if token in PUNCTUATION else None for token, _ in tokens]
    return ExpressionShape((*symbols, "="), operations)


class _ShapeParser:
    """Operator-precedence parser with two stacks: pending operators and parentheses, and finished nodes."""

    def __init__(self, text: str, tokens: list[tuple[str, int]]) -> None:
        self.text, self.tokens = text, tokens
        self.operand_count = sum(token not in PUNCTUATION for token, _ in tokens)
        self.pending: list[int] = []  # indices of operators without a right operand, and of open parentheses
        self.nodes: list[tuple[int, int]] = []  # (node, height) of the subexpressions that no operator has joined yet
        self.operations: list[ArithmeticOperation] = []
        self.operands_read = 0
        self.after_operand = False

    def read(self, index: int) -> None:
        """Read the token with this index."""
        token, column = self.tokens[index]
        where = f"{token!r} at column {column}"
        if token in BINDING:
            self._read_operator(index, where)
        elif token == ")":
            self._read_closing(where)
        elif self.after_operand:
            raise _syntax_error(f"an operator is missing before {where}", self.text)
        elif token == "(":
            self.pending.append(index)
        else:
            self.nodes.append((self.operands_read, 0))
            self.operands_read += 1
        self.after_operand = token not in ("(", *BINDING)

    def _read_operator(self, index: int, where: str) -> None:
        if not self.after_operand:
            raise _syntax_error(f"{where} has no left operand; a sign belongs to a number of the word", self.text)
        self._join(BINDING[self.tokens[index][0]])
        self.pending.append(index)

    def _read_closing(self, where: str) -> None:
        if self.after_operand:
            self._join(0)
        if not self.after_operand or not self.pending:
            closed = "an empty place" if self.pending else "nothing"
            raise _syntax_error(f"{where} closes {closed}", self.text)
        self.pending.pop()

    def _join(self, binding: int) -> None:
        """Apply the pending operators, back to the last open parenthesis, that bind at least this strongly."""
        while self.pending:
            index = self.pending[-1]
            symbol, column = self.tokens[index]
            if symbol == "(" or BINDING[symbol] < binding:
                return
            self.pending.pop()
            (left, left_height), (right, right_height) = self.nodes[-2:]
            height = 1 + max(left_height, right_height)
            self.operations.append(ArithmeticOperation(symbol, index, column, left, right, height))
            self.nodes[-2:] = [(self.operand_count + len(self.operations) - 1, height)]

    def finish(self) -> tuple[ArithmeticOperation, ...]:
        """Return the operations of the whole expression, each after those that it reads."""
        if self.tokens and not self.after_operand:
            raise _syntax_error("it ends where an operand is missing", self.text)
        self._join(0)
        if self.pending:
            raise _syntax_error(
                f"the parenthesis at column {self.tokens[self.pending[-1]][1]} is never closed", self.text
            )
        if not self.operations:
            raise _syntax_error("it has no operator; write one such as a+b", self.text)
        return tuple(self.operations)


def _syntax_error(reason: str, text: str) -> ProblemError:
    return ProblemError(f"the expression {shortened(text)!r} cannot be read: {reason}")


# Shape × range of the operands → the values that every part of an expression can take, exactly.
#
# Each operand is any number of the range, independently of the others, so the values of an operation are exactly all
# values(left) ∘ values(right).


Range = tuple[int, int]
LARGEST_VALUE = 10**9
"""The largest absolute value of an operand or a result."""
MOST_VALUES = 4096
MOST_PAIRS = 1_000_000


def value_sets(shape: ExpressionShape, operands: Range, within: Range | None = None) -> list[np.ndarray]:
    """The values of every node in increasing order; raise if one may lie outside `within` or there are too many.

    Nodes are the operands from left to right, then the operations.
    """
    every = np.arange(operands[0], operands[1] + 1)
    sets = [every] * len(shape.operands)
    pairs = 0
    for operation in shape.operations:
        left, right = sets[operation.left], sets[operation.right]
        pairs += left.size * right.size
        if pairs > MOST_PAIRS:
            raise _too_many(operation, f"too many pairs of operands: {pairs:,} so far, more than {MOST_PAIRS:,}")
        values = np.unique(apply_operator(operation.symbol, left[:, None], right[None, :]))
        low, high = int(values[0]), int(values[-1])
        if within is not None and not within[0] <= low <= high <= within[1]:
            reached = high if high > within[1] else low
            raise ProblemError(
                f"the {operation.symbol} at column {operation.column} of the expression can give {reached}, outside of "
                f"{within[0]}..{within[1]}; widen `within` or narrow the operands with `in`"
            )
        if max(-low, high) > LARGEST_VALUE:
            raise _too_many(operation, f"values beyond ±{LARGEST_VALUE:,}")
        if values.size > MOST_VALUES:
            raise _too_many(operation, f"{values.size:,} values, more than {MOST_VALUES:,}")
        sets.append(values)
    return sets


def _too_many(operation: ArithmeticOperation, excess: str) -> TooLarge:
    return TooLarge(
        f"the {operation.symbol} at column {operation.column} of the expression has {excess}; "
        "narrow the operands with `in LOW..HIGH` or use a smaller expression"
    )
