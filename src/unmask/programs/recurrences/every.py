"""System → EveryPlan: the plan of every N at once, where slots stand in boxes whose sides are expressions in N.

    rows    the letters, then the groups, each  first + (i - i₀)·J + (j - j₀);  first, i₀, J are expressions in N
    codes   those of the rows, before the answer is moved to the end

Which regions there are is seen at a few lengths. At any other, `fits` says whether the plan is that of the length:
whether its slots stand where the plan says, and no other region has a slot.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import numpy as np

from unmask.programs.language.positions import Expression as Formula
from unmask.programs.language.positions import N as LENGTH
from unmask.programs.language.positions import choose as choose_formula
from unmask.programs.language.positions import constant as constant_formula
from unmask.programs.language.positions import n as row
from unmask.programs.recurrences.formulas import NoFormula, formula
from unmask.programs.recurrences.layout import Arrays, extended
from unmask.programs.recurrences.plan import Plan
from unmask.programs.recurrences.regions import Ranged, Region, case_regions
from unmask.programs.recurrences.rows import Rows
from unmask.programs.recurrences.symbols import Symbols
from unmask.recurrences.expressions import Expression, N, constant, lifted
from unmask.recurrences.slots import Case, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding


@dataclass(frozen=True, eq=False)
class EveryBox:
    """Codes of a group, for every N."""

    base: Expression
    firsts: tuple[Expression, ...]
    sizes: tuple[Expression, ...]

    @property
    def size(self) -> Expression:
        return product(self.sizes)

    def place(self, places: Sequence[Expression]) -> Expression:
        """Where the slot at these places stands in its box."""
        total = constant(0)
        for place, first, size in zip(places, self.firsts, self.sizes, strict=True):
            total = plus(times(total, size), minus(place, first))
        return total

    def code(self, places: Sequence[Expression]) -> Expression:
        """The code of the slot at these places."""
        return plus(self.base, self.place(places))


@dataclass(frozen=True, eq=False)
class EveryBlock:
    """The rows of a group: `place` is where a row stands in the box, `formulas` gives the indices."""

    first: Formula
    count: Formula
    place: Formula
    formulas: dict[str, Formula]


class EveryPlan(Plan):
    """The plan of a system whose slots are written once, for every N; raises `NoFormula` where there is none.

    Where a plan has numbers, this one has expressions in N: what makes programs of a plan takes both.
    """

    sides: dict[Slots, EveryBox]
    stretches: dict[Slots, EveryBlock]

    def __init__(self, system: System, symbols: Symbols, seen: Sequence[Unfolding], *, most_added: int) -> None:
        self.system, self._seen = system, seen
        self.left_out: list[tuple[Slots, Expression]] = []
        """Regions that no length had at which one looked."""
        if system.edits:
            raise NoFormula
        self._arrays = {group: _sampled(group, seen) for group in self.groups}
        self.sides = self._every_box()
        self.boxes = cast(Any, self.sides)
        self.stretches = self._every_block()
        self._make(symbols, most_added)

    @property
    def length(self) -> Any:  # Formula
        return LENGTH

    @property
    def rows(self) -> Any:  # Formula
        return in_length(plus(N, sum_of([box.size for box in self.sides.values()])))

    @property
    def slots(self) -> Any:  # Formula
        return in_length(sum_of([box.size for box in self.sides.values()]))

    @property
    def room(self) -> Any:  # Formula
        return self.rows

    def _every_box(self) -> dict[Slots, EveryBox]:
        boxes: dict[Slots, EveryBox] = {}
        base: Expression = N
        for group in self.groups:
            if any((over.first.names | over.last.names) - {"N"} for over in group.ranges):
                raise NoFormula
            firsts = tuple(over.first for over in group.ranges)
            sizes = tuple(minus(over.last, over.first) for over in group.ranges)
            boxes[group] = EveryBox(base, firsts, sizes)
            base = plus(base, boxes[group].size)
        return boxes

    def _regions(self, group: Slots, cases: Sequence[Case]) -> Iterator[tuple[Case, Region]]:
        left_out: list[Expression] = []
        for case, region in _cut(cases, self._arrays[group], left_out):
            if any(isinstance(leaf, Ranged) for leaf in region.leaves):
                raise NoFormula
            yield case, region
        self.left_out += [(group, where) for where in left_out]

    def has_every_region(self, unfolding: Unfolding) -> bool:
        """Does every region of the plan have a slot at this length?"""
        left_out: list[Expression] = []
        for group in self.groups:
            for _ in _cut(group.rules, _sampled(group, [unfolding]), left_out):
                pass
        return list(map(str, left_out)) == [str(where) for _, where in self.left_out]

    def _blocks(self, finders: int) -> Any:
        assert not finders
        return self.stretches

    def _every_block(self) -> dict[Slots, EveryBlock]:
        blocks: dict[Slots, EveryBlock] = {}
        for group in self.groups:
            box = self.sides[group]
            place = row - in_length(box.base)
            if (swap := self._swap(group, box)) is not None:
                one, other = swap
                place = choose_formula(place.equals(one), other, choose_formula(place.equals(other), one, place))
            blocks[group] = EveryBlock(in_length(box.base), in_length(box.size), place, _digits(group, box, place))
        return blocks

    def _swap(self, group: Slots, box: EveryBox) -> tuple[Formula, Formula] | None:
        """Which two rows of a group change places, so that the answer stands last."""
        if group is not self.system.answer_group or isinstance(self.system.answers, Slots):
            return None
        answers = self.system.answers
        last = minus(box.size, constant(1))
        for k, slot in enumerate(reversed(answers)):
            ends = [
                box.place(slot.places).evaluate({"N": u.length}) == last.evaluate({"N": u.length}) - k
                for u in self._seen
            ]
            if not all(ends):
                if len(answers) > 1:
                    raise NoFormula
                return in_length(box.place(slot.places)), in_length(last)
        return None

    def declared(self, pieces: Sequence[Any], otherwise: Formula | int) -> Formula:
        """An expression for every block, another one elsewhere."""
        rest = otherwise if isinstance(otherwise, Formula) else constant_formula(otherwise)
        given = dict(pieces)
        whole = rest
        for group in reversed(self.groups):
            block = self.stretches[group]
            part = formula(lifted(given[block]), block.formulas) if block in given else rest
            whole = part if whole is part else choose_formula(row < block.first + block.count, part, whole)
        return rest if whole is rest else choose_formula(row < LENGTH, rest, whole)

    def fits(self, rows: Rows) -> bool:
        """Is this the plan of that length, too?"""
        length = rows.length
        blocks = rows.blocks
        for group, every in self.stretches.items():
            first, count = every.first.at(length), every.count.at(length)
            if (first, count) != (blocks[group].first, blocks[group].count):
                return False
            positions = np.arange(first, first + count)
            for over in group.ranges:
                found = every.formulas[over.name].evaluate(length, positions)
                if not np.array_equal(found, blocks[group].indices[over.name]):
                    return False
        return not any(blocks[group].evaluate(where).any() for group, where in self.left_out)


def _cut(cases: Sequence[Case], arrays: Arrays, left_out: list[Expression]) -> Iterator[tuple[Case, Region]]:
    """The regions of a group that have a slot among these, and the conditions of those that have none."""
    count = arrays["N"].size

    def evaluate(expression: Expression) -> np.ndarray:
        return np.broadcast_to(np.asarray(expression.evaluate(arrays)), (count,))

    return case_regions(cases, count, evaluate, left_out)


def _sampled(group: Slots, seen: Sequence[Unfolding]) -> Arrays:
    """All indices of a group at all lengths at which one looks, with N among them."""
    return extended({"N": np.array([u.length for u in seen], dtype=np.int64)}, group.ranges)


def _digits(group: Slots, box: EveryBox, place: Formula) -> dict[str, Formula]:
    """The indices of a row, from where it stands in its box."""
    found: dict[str, Formula] = {"N": LENGTH}
    for d, over in enumerate(group.ranges):
        stride = product(box.sizes[d + 1 :])
        digit = place if d == len(box.sizes) - 1 else place // in_length(stride)
        if d:
            digit = digit % in_length(box.sizes[d])
        first = box.firsts[d]
        found[over.name] = digit if is_constant(first, 0) else digit + in_length(first)
    return found


def in_length(expression: Expression) -> Formula:
    """An expression in N alone, as a formula."""
    return formula(expression, {"N": LENGTH})


def is_constant(expression: Expression, value: int) -> bool:
    return expression.operator == "constant" and expression.value == value


def plus(a: Expression, b: Expression) -> Expression:
    return b if is_constant(a, 0) else a if is_constant(b, 0) else a + b


def minus(a: Expression, b: Expression) -> Expression:
    return a if is_constant(b, 0) else a - b


def times(a: Expression, b: Expression) -> Expression:
    return constant(0) if is_constant(a, 0) else a * b


def product(sizes: Sequence[Expression]) -> Expression:
    return reduce(lambda a, b: a * b, sizes) if sizes else constant(1)


def sum_of(parts: Sequence[Expression]) -> Expression:
    return reduce(plus, parts, constant(0))
