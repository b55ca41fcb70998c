"""System → EveryPlan: the plan of every N at once, where groups of slots are boxes whose sides are expressions in N.

    rows    the letters, a box for every read over a range, a box for every group:
            each  first + (i - i₀)·J + (j - j₀);  first, i₀, J are expressions in N
    codes   the letters, the groups, the reads over ranges, before the answer is moved to the end

The regions are those that occur at a few lengths. At any other length, `fits` checks that the slots have the rows of
the plan and that no other region has a slot.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, cast

import numpy as np

from unmask.expressions import Expression, N, Range, choose, constant, lifted
from unmask.expressions import n as row
from unmask.programs.recurrences.regions import Evaluate, Ranged, Region, case_regions, finder_regions
from unmask.programs.recurrences.slot_rows import Arrays, Block, Draft, Finders, NoFormula, SlotRows, extended, formula
from unmask.programs.recurrences.system_plan import Symbols, SystemPlan
from unmask.recurrences.slots import Case, Over, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding


def affine_fit(columns: Sequence[Sequence[int]], values: Sequence[int]) -> list[int] | None:
    """The coefficients, 0 for a column that depends on earlier ones; None if there are none that are whole."""
    rows = [[Fraction(x) for x in (*line, value)] for *line, value in zip(*columns, values, strict=True)]
    pivots: list[int] = []
    for column in range(len(columns)):
        done = len(pivots)
        pivot = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [x / rows[done][column] for x in rows[done]]
        for r, other in enumerate(rows):
            if r != done and other[column]:
                rows[r] = [x - other[column] * y for x, y in zip(other, rows[done], strict=True)]
        pivots.append(column)
    if any(line[-1] for line in rows[len(pivots) :]):
        return None
    found = [Fraction(0)] * len(columns)
    for line, column in zip(rows, pivots, strict=False):
        found[column] = line[-1]
    return [int(c) for c in found] if all(c.denominator == 1 for c in found) else None


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
    """Rows of a group or of a read over a range: `place` is where a row stands in its box, `formulas` its indices."""

    first: Expression
    count: Expression
    place: Expression
    formulas: dict[str, Expression]
    box: EveryBox


class EveryPlan(SystemPlan):
    """The plan of a system whose slots are written once, for every N; raises `NoFormula` where there is none.

    Where a plan has numbers, this one has expressions in N: what makes programs of a plan takes both.
    """

    sides: dict[Slots, EveryBox]
    stretches: dict[Slots, EveryBlock]

    def __init__(self, system: System, symbols: Symbols, seen: Sequence[Unfolding], *, most_added: int) -> None:
        self.system, self._seen = system, seen
        self.left_out: list[tuple[Slots | Finders, Expression]] = []
        """Regions that no length had at which one looked."""
        if system.edits:
            raise NoFormula
        self._arrays = {group: _sampled(group.ranges, seen) for group in self.groups}
        self.sides = self._every_box()
        self.boxes = cast(Any, self.sides)
        self._make(symbols, most_added)

    @property
    def length(self) -> Any:  # Expression
        return N

    @property
    def rows(self) -> Any:  # Expression
        return in_length(plus(plus(N, self._finding), self._slots))

    @property
    def slots(self) -> Any:  # Expression
        return in_length(plus(self._finding, self._slots))

    @property
    def room(self) -> Any:  # Expression
        return self.rows

    @property
    def _slots(self) -> Expression:
        return sum_of([box.size for box in self.sides.values()])

    @property
    def _finding(self) -> Expression:
        """How many rows find."""
        return sum_of([every_block(found).box.size for found in self.finders])

    def _every_box(self) -> dict[Slots, EveryBox]:
        boxes: dict[Slots, EveryBox] = {}
        base: Expression = N
        for group in self.groups:
            boxes[group] = _box(group.ranges, base)
            base = plus(base, boxes[group].size)
        return boxes

    def _found(self, drafts: Sequence[Draft]) -> dict[tuple[int, int], Finders]:
        """One box for a read over a range, whichever region its slot is in: all slots of a group must have it."""
        self.finders = []
        made: dict[tuple[Slots, Over], Finders] = {}
        found: dict[tuple[int, int], Finders] = {}
        reads: dict[Slots, list[Over]] = {}
        for number, (group, _, region) in enumerate(drafts):
            listed = [leaf.over for leaf in region.leaves if isinstance(leaf, Ranged)]
            if reads.setdefault(group, listed) != listed or len(set(listed)) < len(listed):
                raise NoFormula
            for place, leaf in enumerate(region.leaves):
                if isinstance(leaf, Ranged):
                    if (group, leaf.over) not in made:
                        made[group, leaf.over] = self._every_finders(group, leaf.over)
                    found[number, place] = made[group, leaf.over]
        return found

    def _every_finders(self, group: Slots, over: Over) -> Finders:
        """The next rows: behind the letters and the rows that find already, with codes behind those of all slots."""
        before = self._finding
        box = _box((*group.ranges, over.range), plus(plus(N, self._slots), before))
        first = in_length(plus(N, before))
        place = row - first
        formulas = _digits([*group.ranges, over.range], box, place)
        block = EveryBlock(first, in_length(box.size), place, formulas, box)
        self.finders.append(Finders(cast(Any, block), self.own_code(group), group, over))
        return self.finders[-1]

    def _finder_regions(self, found: Finders) -> Iterator[Region]:
        left_out: list[Expression] = []
        yield from _cut_finders(found, self._seen, left_out)
        self.left_out += [(found, where) for where in left_out]

    def _check_reads_nothing(self, name: str) -> None:  # noqa: ARG002
        if any(u.length == 0 for u in self._seen):
            raise NoFormula

    def _first_target(self, channel: int) -> Expression:
        return self.sides[self.channels[channel].finders[0].group].base

    def here(self) -> Expression:
        """The code of every row: no two rows share one."""
        codes = [(found.block, every_block(found).box.code(_indices_of(found))) for found in self.finders]
        return self.declared([*codes, *((self.blocks[group], self.own_code(group)) for group in self.groups)], row)

    def _regions(self, group: Slots, cases: Sequence[Case]) -> Iterator[tuple[Case, Region]]:
        left_out: list[Expression] = []
        yield from _cut(cases, self._arrays[group], left_out)
        self.left_out += [(group, where) for where in left_out]

    def has_every_region(self, unfolding: Unfolding) -> bool:
        """Does every region of the plan have a slot at this length?"""
        left_out: list[Expression] = []
        for group in self.groups:
            for _ in _cut(group.rules, _sampled(group.ranges, [unfolding]), left_out):
                pass
        for found in self.finders:
            for _ in _cut_finders(found, [unfolding], left_out):
                pass
        return list(map(str, left_out)) == [str(where) for _, where in self.left_out]

    def _blocks(self) -> Any:
        self.stretches = {}
        for group in self.groups:
            box = self.sides[group]
            first = in_length(plus(box.base, self._finding))
            place = row - first
            if (swap := self._swap(group, box)) is not None:
                one, other = swap
                place = choose(place.equals(one), other, choose(place.equals(other), one, place))
            formulas = _digits(group.ranges, box, place)
            self.stretches[group] = EveryBlock(first, in_length(box.size), place, formulas, box)
        return self.stretches

    def _swap(self, group: Slots, box: EveryBox) -> tuple[Expression, Expression] | None:
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

    def declared(self, pieces: Sequence[Any], otherwise: Expression | int) -> Expression:
        """An expression for every block, another one elsewhere."""
        rest = otherwise if isinstance(otherwise, Expression) else constant(otherwise)
        given = dict(pieces)
        whole = rest
        for block in reversed([*map(every_block, self.finders), *self.stretches.values()]):
            part = formula(lifted(given[block]), block.formulas) if block in given else rest
            whole = part if whole is part else choose(row < block.first + block.count, part, whole)
        return rest if whole is rest else choose(row < N, rest, whole)

    def rows_at(self, unfolding: Unfolding) -> SlotRows:
        """The rows of one length, if the plan fits it."""
        return SlotRows.placed(unfolding, [(found.group, found.over) for found in self.finders])

    def fits(self, rows: SlotRows) -> bool:
        """Is this the plan of that length, too?"""
        if rows.slots != rows.unfolding.size:  # a slot reads over other ranges there
            return False
        listed = [(self.stretches[group], rows.blocks[group], group.ranges) for group in self.groups]
        for every, found in zip(self.finders, rows.finders, strict=True):
            listed.append((every_block(every), found.block, (*found.group.ranges, found.over.range)))
        if not all(_same_rows(*each, rows.length) for each in listed):
            return False
        finding = dict(zip(self.finders, rows.finders, strict=True))
        return not any(
            (finding[of].block if isinstance(of, Finders) else rows.blocks[of]).evaluate(where).any()
            for of, where in self.left_out
        )


def every_block(found: Finders) -> EveryBlock:
    """Where rows of an `EveryPlan` that find stand."""
    return cast(EveryBlock, found.block)


def _same_rows(every: EveryBlock, block: Block, ranges: Sequence[Range], length: int) -> bool:
    """Are the rows of a block those that the formulas say?"""
    first, count = every.first.at(length), every.count.at(length)
    if (first, count) != (block.first, block.count):
        return False
    positions = np.arange(first, first + count)
    found = [every.formulas[over.name].at_positions(length, positions) for over in ranges]
    return all(np.array_equal(a, block.indices[over.name]) for a, over in zip(found, ranges, strict=True))


def _box(ranges: Sequence[Range], base: Expression) -> EveryBox:
    if any((over.first.names | over.last.names) - {"N"} for over in ranges):
        raise NoFormula
    return EveryBox(base, tuple(over.first for over in ranges), tuple(minus(over.last, over.first) for over in ranges))


def _indices_of(found: Finders) -> list[Expression]:
    return [over.index for over in (*found.group.ranges, found.over.range)]


def _cut_finders(found: Finders, seen: Sequence[Unfolding], left_out: list[Expression]) -> Iterator[Region]:
    """The regions of rows that find that have a row at these lengths, and the conditions of those that have none."""
    arrays = _sampled((*found.group.ranges, found.over.range), seen)
    return finder_regions(found.over, _evaluating(arrays), left_out)


def _cut(cases: Sequence[Case], arrays: Arrays, left_out: list[Expression]) -> Iterator[tuple[Case, Region]]:
    """The regions of a group that have a slot among these, and the conditions of those that have none."""
    return case_regions(cases, arrays["N"].size, _evaluating(arrays), left_out)


def _evaluating(arrays: Arrays) -> Evaluate:
    return lambda expression: np.broadcast_to(np.asarray(expression.evaluate(arrays)), (arrays["N"].size,))


def _sampled(ranges: Sequence[Range], seen: Sequence[Unfolding]) -> Arrays:
    """All indices of these ranges at all lengths at which one looks, with N among them."""
    return extended({"N": np.array([u.length for u in seen], dtype=np.int64)}, ranges)


def _digits(ranges: Sequence[Range], box: EveryBox, place: Expression) -> dict[str, Expression]:
    """The indices of a row, from where it stands in its box."""
    found: dict[str, Expression] = {"N": N}
    for d, over in enumerate(ranges):
        stride = product(box.sizes[d + 1 :])
        digit = place if d == len(box.sizes) - 1 else place // in_length(stride)
        if d:
            digit = digit % in_length(box.sizes[d])
        first = box.firsts[d]
        found[over.name] = digit if is_constant(first, 0) else digit + in_length(first)
    return found


def in_length(expression: Expression) -> Expression:
    """An expression in N alone, as a formula."""
    return formula(expression, {"N": N})


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
