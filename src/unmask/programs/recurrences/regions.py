"""Group × rule → regions: parts of a group in which every read exists, so that one table holds the rule.

A read with `or_else` is a constant if the slot does not exist, `pick` is one read or the other, and the result of a
read over an empty range is known. Each of these cuts a group in two. In a region a read is one of three leaves.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmask.expressions import Expression, N, both, choose, constant, substituted
from unmask.recurrences.interpreter import apply_map, range_result
from unmask.recurrences.slots import (
    Case,
    Choice,
    Each,
    Letter,
    Mapped,
    Number,
    Over,
    Read,
    ReadVisitor,
    Slot,
    Slots,
    has_default,
)


@dataclass(frozen=True, eq=False)
class FetchLeaf:
    """A letter (`source` is None) or a slot, with these indices, and a function that is applied to its value."""

    source: Slots | None
    indices: tuple[Expression, ...]
    mapping: Callable[[Any], Any] | None = None
    each: bool = False
    name: str = ""  # for a read with a function, and its line

    def value(self, contents: Any) -> Any:
        return contents if self.mapping is None else self.mapping(contents)


@dataclass(frozen=True, eq=False)
class ConstantLeaf:
    """A constant."""

    value: Any
    each: bool = False


@dataclass(frozen=True, eq=False)
class RangeLeaf:
    """A read over a range that is not empty."""

    over: Over


Leaf = FetchLeaf | ConstantLeaf | RangeLeaf


@dataclass(frozen=True, eq=False)
class Region:
    """The rows of a block that satisfy a condition, with the leaf for each read of a rule."""

    where: Expression
    rows: np.ndarray  # flags
    leaves: tuple[Leaf, ...]


Evaluate = Callable[[Expression], np.ndarray]


def case_regions(
    cases: Sequence[Case], count: int, evaluate: Evaluate, left_out: list[Expression] | None = None
) -> Iterator[tuple[Case, Region]]:
    """Yield the regions of a group with `count` slots, rule by rule; `left_out` as in `regions`."""
    rest, before = np.ones(count, dtype=bool), constant(1)
    for case in cases:
        condition = constant(1) if case.where is None else case.where
        holds = rest & (evaluate(condition) != 0)
        where = _and(before, condition)
        for region in regions(case.reads, where, holds, evaluate, left_out):
            yield case, region
        rest = rest & ~holds
        before = _and(before, _not(condition))


def regions(
    reads: Sequence[Read],
    where: Expression,
    rows: np.ndarray,
    evaluate: Evaluate,
    left_out: list[Expression] | None = None,
) -> Iterator[Region]:
    """Yield the regions of one rule within some rows.

    If the rows are only a sample of all lengths, `left_out` collects the conditions that hold in no row. Without
    `left_out`, a condition that holds in all rows is dropped.
    """
    if not rows.any():
        if left_out is not None:
            left_out.append(where)
        return
    if not reads:
        yield Region(where, rows, ())
        return
    for conditions, leaf in _LeavesOfRead().visit(reads[0], None):
        remaining, condition = rows, where
        for further in conditions:
            remaining = remaining & (evaluate(further) != 0)
            condition = _and(condition, further)
        if left_out is None and np.array_equal(remaining, rows):
            condition = where
        for rest in regions(reads[1:], condition, remaining, evaluate, left_out):
            yield replace(rest, leaves=(leaf, *rest.leaves))


def finder_regions(over: Over, evaluate: Evaluate, left_out: list[Expression] | None = None) -> Iterator[Region]:
    """Return the regions of finder rows; `left_out` as in `regions`."""
    where = constant(1) if over.where is None else over.where
    return regions(over.reads, where, evaluate(where) != 0, evaluate, left_out)


PossibleLeaves = list[tuple[tuple[Expression, ...], Leaf]]
"""The possible leaves for a read, each with its conditions."""


class _LeavesOfRead(ReadVisitor[None, PossibleLeaves]):
    """Read → its possible leaves. Without `or_else` a letter or slot exists; the unfolding checks this."""

    def letter(self, read: Letter, context: None) -> PossibleLeaves:  # noqa: ARG002
        return self._existing(read, [read.at >= 0, read.at < N], FetchLeaf(None, (read.at,)))

    def slot(self, read: Slot, context: None) -> PossibleLeaves:  # noqa: ARG002
        return self._existing(read, _in_range(read), FetchLeaf(read.group, read.indices))

    def _existing(self, read: Letter | Slot, conditions: list[Expression], fetch: FetchLeaf) -> PossibleLeaves:
        if not has_default(read) or not conditions:
            return [((), fetch)]
        exists = both(*conditions)
        return [((exists,), fetch), ((_not(exists),), ConstantLeaf(read.default))]

    def number(self, read: Number, context: None) -> PossibleLeaves:  # noqa: ARG002
        return [((read.expression.equals(value),), ConstantLeaf(value)) for value in read.among]

    def choice(self, read: Choice, context: None) -> PossibleLeaves:
        branches = ((read.condition, read.then), (_not(read.condition), read.otherwise))
        return [
            ((holds, *conditions), leaf)
            for holds, branch in branches
            for conditions, leaf in self.visit(branch, context)
        ]

    def mapped(self, read: Mapped, context: None) -> PossibleLeaves:
        return [(conditions, _mapped(leaf, read)) for conditions, leaf in self.visit(read.read, context)]

    def each(self, read: Each, context: None) -> PossibleLeaves:
        inner = self.visit(read.read, context)
        return [(c, replace(leaf, each=True)) for c, leaf in inner if not isinstance(leaf, RangeLeaf)]

    def over(self, read: Over, context: None) -> PossibleLeaves:  # noqa: ARG002
        empty = read.range.last <= read.range.first
        return [((_not(empty),), RangeLeaf(read)), ((empty,), ConstantLeaf(range_result(read, frozenset())))]


def _in_range(read: Slot) -> list[Expression]:
    """Return the conditions under which the slot exists."""
    conditions: list[Expression] = []
    earlier: dict[str, Expression] = {}
    for over, index in zip(read.group.ranges, read.indices, strict=True):
        conditions += [index >= substituted(over.first, earlier), index < substituted(over.last, earlier)]
        earlier[over.name] = index
    return conditions


def _mapped(leaf: Leaf, read: Mapped) -> Leaf:
    def apply(value: Any) -> Any:
        return apply_map(read, value)

    if isinstance(leaf, ConstantLeaf):
        return replace(leaf, value=apply(leaf.value))
    assert isinstance(leaf, FetchLeaf), "a read over a range has a function of its own"
    inner = leaf.mapping
    name = f"{read} ({read.line})" if read.line else str(read)
    return replace(leaf, mapping=apply if inner is None else lambda value: apply(inner(value)), name=name)


def _and(left: Expression, right: Expression) -> Expression:
    if left.operator == "constant" and left.value:
        return right
    return left if right.operator == "constant" and right.value else both(left, right)


def _not(condition: Expression) -> Expression:
    if condition.operator == "constant":
        return constant(0 if condition.value else 1)
    return choose(condition, 0, 1)
