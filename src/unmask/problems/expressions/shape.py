"""An arithmetic expression as text → its shape: where operands and operators stand, and what each operator reads.

+ and - bind less than *, all of them associate to the left, parentheses group. × and − may be written for * and -.
An operand is a name or a number; either only marks a place, so that a name used twice marks two places.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unmask.errors import ProblemError, shortened

BINDING = {"+": 1, "-": 1, "*": 2}
OPERATORS = tuple(BINDING)
PUNCTUATION = (*OPERATORS, "(", ")", "=")
MOST_TOKENS = 256

_SPELLINGS = str.maketrans("×−", "*-")
_TOKEN = re.compile(r"\s*(?:(?P<operand>[^\W\d]\w*|[0-9]+)|(?P<mark>[-+*()]))", re.ASCII)


@dataclass(frozen=True)
class Operation:
    """An operator, its place among the symbols and its column in the text, and the nodes that it reads.

    Nodes are the operands from left to right, then the operations. An operation on two operands has height 1.
    """

    symbol: str
    place: int
    column: int
    left: int
    right: int
    height: int


@dataclass(frozen=True)
class Shape:
    """The symbols of a word, None for an operand, `=` at the end; operations come after what they read."""

    symbols: tuple[str | None, ...]
    operations: tuple[Operation, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The places of the operands."""
        return tuple(i for i, symbol in enumerate(self.symbols) if symbol is None)

    @property
    def depth(self) -> int:
        return self.operations[-1].height

    def evaluate(self, operands: Sequence[int]) -> int:
        """The value of the whole, operation by operation."""
        values = list(operands)
        for operation in self.operations:
            values.append(applied(operation.symbol, values[operation.left], values[operation.right]))
        return values[-1]


def applied(symbol: str, left, right):
    """left ∘ right, for numbers or arrays of them."""
    if symbol == "*":
        return left * right
    return left + right if symbol == "+" else left - right


def plain(text: str) -> str:
    """The text with * for × and - for −."""
    return text.translate(_SPELLINGS)


def tokens_of(text: str) -> list[tuple[str, int]]:
    """(operand or mark, column) of an expression; a column counts from 1."""
    text, at, tokens = plain(text).rstrip(), 0, []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _wrong(f"{text[at]!r} at column {at + 1} is not a name, number, + - * or parenthesis", text)
        tokens.append((match["operand"] or match["mark"], match.end() - len(match[0].lstrip()) + 1))
        if len(tokens) > MOST_TOKENS:
            raise _wrong(f"it has more than {MOST_TOKENS} symbols; use a shorter one", text)
        at = match.end()
    return tokens


def parse_shape(text: str) -> Shape:
    """The shape of an expression with at least one operator (operator precedence, two stacks)."""
    tokens = tokens_of(text)
    operands = sum(token not in PUNCTUATION for token, _ in tokens)
    waiting: list[int] = []  # tokens: operators without a right operand, and open parentheses
    nodes: list[tuple[int, int]] = []  # (node, height) without an operator above them
    operations: list[Operation] = []
    seen = 0

    def reduce_to(binding: int) -> None:
        while waiting and tokens[waiting[-1]][0] != "(" and BINDING[tokens[waiting[-1]][0]] >= binding:
            place = waiting.pop()
            (left, below_left), (right, below_right) = nodes[-2:]
            height = 1 + max(below_left, below_right)
            operations.append(Operation(tokens[place][0], place, tokens[place][1], left, right, height))
            nodes[-2:] = [(operands + len(operations) - 1, height)]

    after_operand = False
    for place, (token, column) in enumerate(tokens):
        where = f"{token!r} at column {column}"
        if token in BINDING:
            if not after_operand:
                raise _wrong(f"{where} has no left operand; a sign belongs to a number of the word", text)
            reduce_to(BINDING[token])
            waiting.append(place)
        elif token == ")":
            if after_operand:
                reduce_to(0)
            if not after_operand or not waiting:
                raise _wrong(f"{where} closes {'nothing' if not waiting else 'an empty place'}", text)
            waiting.pop()
        elif after_operand:
            raise _wrong(f"an operator is missing before {where}", text)
        elif token == "(":
            waiting.append(place)
        else:
            nodes.append((seen, 0))
            seen += 1
        after_operand = token not in ("(", *BINDING)
    if tokens and not after_operand:
        raise _wrong("it ends where an operand is missing", text)
    reduce_to(0)
    if waiting:
        raise _wrong(f"the parenthesis at column {tokens[waiting[-1]][1]} is never closed", text)
    if not operations:
        raise _wrong("it has no operator; write one such as a+b", text)
    symbols = [token if token in PUNCTUATION else None for token, _ in tokens]
    return Shape((*symbols, "="), tuple(operations))


def _wrong(reason: str, text: str) -> ProblemError:
    return ProblemError(f"the expression {shortened(text)!r} cannot be read: {reason}")
