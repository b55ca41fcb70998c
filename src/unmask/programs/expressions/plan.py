"""Where the slots of an expression stand and what each of them reads, as tables for the positional encodings.

    (a+b)*(c+d)-e=            the input, N = 14 rows
    s*t-e=  u-e=  v           figure layout: what is left of it after every step, P = 6 + 4 + 1
    s t u v                   compact layout: a slot per operator, by height, P = 4

A slot reads three rows, left operand, operator and right operand, or copies one row, named three times. A step of
the figure layout replaces every operation on two numbers by its value and drops parentheses around a number; the last
one writes the value alone. So both layouts take as many steps as the tree of operations is high.
"""

from dataclasses import dataclass, replace

import numpy as np

from unmask.problems.expressions.shape import Shape


@dataclass(frozen=True, eq=False)
class ExpressionPlan:
    """Per slot: the rows it reads, whether it copies, whether it holds nothing, and the step that writes it."""

    length: int
    sources: np.ndarray  # [slots, 3]
    copies: np.ndarray
    fills: np.ndarray
    step: np.ndarray

    @property
    def slots(self) -> int:
        return len(self.sources)

    @property
    def rows(self) -> int:
        return self.length + self.slots

    @property
    def steps(self) -> int:
        return int(self.step[-1]) + 1

    @property
    def writes(self) -> tuple[int, ...]:
        """How many slots each step writes."""
        return tuple(np.bincount(self.step).tolist())

    def in_blocks(self) -> "ExpressionPlan":
        """The same with as many slots for every step: those of a step stand last among its block."""
        widest = max(self.writes)
        ends = np.cumsum(self.writes)[self.step]
        places = widest * (self.step + 1) - (ends - np.arange(self.slots))
        rows = np.concatenate([np.arange(self.length), self.length + places])
        blocks = widest * self.steps
        sources = self.length + np.repeat(np.arange(blocks)[:, None], 3, axis=1)
        sources[places] = rows[self.sources]
        copies, fills = np.zeros(blocks, dtype=bool), np.ones(blocks, dtype=bool)
        copies[places], fills[places] = self.copies, False
        return replace(self, sources=sources, copies=copies, fills=fills, step=np.arange(blocks) // widest)


def _plan(length: int, sources: list[tuple[int, int, int]], step: list[int]) -> ExpressionPlan:
    table = np.array(sources, dtype=np.int64)
    copies = table[:, 0] == table[:, 1]
    return ExpressionPlan(length, table, copies, np.zeros(len(table), dtype=bool), np.array(step))


def compact_plan(shape: Shape) -> ExpressionPlan:
    """A slot per operation, the lower ones first."""
    length = len(shape.symbols)
    row_of = dict(enumerate(shape.operands))
    order = sorted(range(len(shape.operations)), key=lambda k: (shape.operations[k].height, k))
    row_of |= {len(shape.operands) + k: length + place for place, k in enumerate(order)}
    operations = [shape.operations[k] for k in order]
    sources = [(row_of[x.left], x.place, row_of[x.right]) for x in operations]
    return _plan(length, sources, [x.height - 1 for x in operations])


@dataclass(frozen=True)
class _Written:
    """A symbol of an expression that is evaluated in part: None for a number, its place for an operator."""

    symbol: str | None
    place: int
    row: int
    reads: tuple[int, int, int]


def figure_plan(shape: Shape) -> ExpressionPlan:
    """The whole expression again after every step."""
    height_at = {operation.place: operation.height for operation in shape.operations}
    text = [_Written(symbol, i, i, (i, i, i)) for i, symbol in enumerate(shape.symbols)]
    sources: list[tuple[int, int, int]] = []
    steps: list[int] = []
    for height in range(1, shape.depth + 1):
        reduced = _reduced(_without_parentheses(text), height_at, height)
        if height == shape.depth:
            reduced = reduced[:1]  # the value, without its =
        first = len(shape.symbols) + len(sources)
        text = [replace(item, row=first + i) for i, item in enumerate(reduced)]
        sources += [item.reads for item in reduced]
        steps += [height - 1] * len(reduced)
    return _plan(len(shape.symbols), sources, steps)


def _reduced(text: list[_Written], height_at: dict[int, int], height: int) -> list[_Written]:
    """The text in which every operation of this height is a number, and everything else a copy."""
    made: list[_Written] = []
    rest = iter(text)
    for item in rest:
        if height_at.get(item.place) == height:
            left, right = made.pop(), next(rest)
            assert left.symbol is None is right.symbol, "an operation of the next height stands between numbers"
            made.append(_Written(None, -1, -1, (left.row, item.row, right.row)))
        else:
            made.append(replace(item, reads=(item.row,) * 3))
    return _without_parentheses(made)


def _without_parentheses(text: list[_Written]) -> list[_Written]:
    """The text without parentheses that hold a number alone."""
    remaining: list[_Written] = []
    for item in text:
        remaining.append(item)
        while [x.symbol for x in remaining[-3:]] == ["(", None, ")"]:
            remaining[-3:] = [remaining[-2]]
    return remaining
