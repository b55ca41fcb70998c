"""System × N → SlotRows: which rows the slots have, and by which codes they are addressed.

    rows    the N letters, the rows of reads over a range, the groups of slots; the slots of the answer last
    codes   letter i has the code i; slot (i, j) of a group has the code  base + (i - i₀)·J + (j - j₀)

I × J is the least box that holds the indices of the group. So an address is a formula in the indices of the row that
reads, whether or not the group fills its box. If it does, the indices of a row are a formula in n, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unmask.expressions import Expression, N, Range, choose, constant, fold, lifted
from unmask.expressions import n as row
from unmask.programs.recurrences.regions import Ranged, Region, case_regions
from unmask.recurrences.slots import Case, Over, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding, slot_name


class NoFormula(Exception):
    """A table or a power of two: positions list its values instead."""


def formula(expression: Expression, indices: Mapping[str, Expression]) -> Expression:
    """Return the expression with a positional formula in place of every index; raise NoFormula if there is none."""

    def positional(node: Expression, parts: list[Expression]) -> Expression:
        if node.operator == "variable":
            return indices[node.name]
        if node.operator in ("table", "2^"):
            raise NoFormula
        if node.operator == "≠":
            return choose(parts[0].equals(parts[1]), 0, 1)
        return replace(node, operands=tuple(parts)) if parts else node

    return fold(expression, positional)


Arrays = dict[str, np.ndarray]
"""Indices by name, an entry for every row of a block; N among them."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that stand one after the other, with their indices; `formulas` gives these for a row, where there are."""

    first: int
    indices: Arrays
    formulas: Mapping[str, Expression] | None

    @property
    def count(self) -> int:
        return self.indices["N"].size

    def tuples(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """These indices of every row."""
        return list(zip(*(self.indices[name].tolist() for name in names), strict=True)) if names else [()] * self.count

    def evaluate(self, expression: Expression) -> np.ndarray:
        """The expression in every row."""
        return np.broadcast_to(np.asarray(expression.evaluate(self.indices), dtype=np.int64), (self.count,))


@dataclass(frozen=True, eq=False)
class Box:
    """Codes of a group: `base`, and the first index and the stride of every dimension."""

    base: int
    firsts: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64))

    def code(self, places: Sequence[Expression]) -> Expression:
        """The code of the slot at these places."""
        total: Expression = constant(0)
        for place, first, size in zip(places, self.firsts, self.sizes, strict=True):
            total = total * size + (place - first if first else place)
        return total + self.base


def index_arrays(ranges: Sequence[Range], length: int) -> Arrays:
    """All indices of a group, in the order of nested loops."""
    return extended({"N": np.full(1, length, dtype=np.int64)}, ranges)


def extended(known: Arrays, ranges: Sequence[Range]) -> Arrays:
    """Every row once for each index of the further ranges."""
    for over in ranges:
        rows = known["N"].size
        first, last = (
            np.broadcast_to(np.asarray(e.evaluate(known), dtype=np.int64), (rows,)) for e in (over.first, over.last)
        )
        counts = np.maximum(last - first, 0)
        repeated = {name: np.repeat(values, counts) for name, values in known.items()}
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        repeated[over.name] = np.repeat(first, counts) + np.arange(int(counts.sum())) - starts
        known = repeated
    return known


def box_of(ranges: Sequence[Range], indices: Arrays, base: int) -> Box:
    """The least box around the indices of a group."""
    listed = [indices[over.name] for over in ranges]
    firsts = tuple(int(values.min()) if values.size else 0 for values in listed)
    lasts = tuple(int(values.max()) if values.size else -1 for values in listed)
    return Box(base, firsts, tuple(last - first + 1 for first, last in zip(firsts, lasts, strict=True)))


def taken(indices: Arrays, rows: np.ndarray) -> Arrays:
    """Some of the rows, in the given order."""
    return {name: values[rows] for name, values in indices.items()}


def box_formulas(
    ranges: Sequence[Range], first: int, box: Box, swap: tuple[int, int] | None
) -> dict[str, Expression] | None:
    """The indices of the rows of a full box, by division; `swap` exchanges two of its rows."""
    if any(over.first.names - {"N"} or over.last.names - {"N"} for over in ranges):
        return None
    place = row - first
    if swap is not None:
        one, other = swap
        place = choose(place.equals(one), other, choose(place.equals(other), one, place))
    found: dict[str, Expression] = {"N": N}
    for d, over in enumerate(ranges):
        stride = int(np.prod(box.sizes[d + 1 :], dtype=np.int64))
        digit = place if stride == 1 else place // stride
        if d and box.sizes[d]:
            digit = digit % box.sizes[d]
        found[over.name] = digit + box.firsts[d] if box.firsts[d] else digit
    return found


Piece = tuple[Block, Expression | int]


def piecewise(pieces: Sequence[Piece], rows: int, otherwise: Expression | int) -> Expression | np.ndarray:
    """An expression for every block, another one elsewhere: as a formula where every block has one, else as a table."""
    pieces = sorted((p for p in pieces if p[0].count), key=lambda piece: piece[0].first)
    rest = otherwise if isinstance(otherwise, Expression) else constant(otherwise)
    try:
        parts: list[tuple[int, Expression]] = []  # (end, formula): the formula holds from the end before on
        for block, expression in pieces:
            if block.formulas is None:
                raise NoFormula
            if block.first > (parts[-1][0] if parts else 0):
                parts.append((block.first, rest))
            parts.append((block.first + block.count, formula(lifted(expression), block.formulas)))
        if not parts or parts[-1][0] < rows:
            parts.append((rows, rest))
        whole = parts[-1][1]
        for end, part in reversed(parts[:-1]):
            whole = choose(row < end, part, whole)
    except NoFormula:
        length = int(pieces[0][0].indices["N"][0])
        table = rest.at_positions(length, np.arange(rows)).copy()
        for block, expression in pieces:
            table[block.first : block.first + block.count] = block.evaluate(lifted(expression))
        return table
    return whole


Draft = tuple[Slots, Case, Region]
"""A region of a group, and the rule that holds there."""


@dataclass(frozen=True, eq=False)
class Finders:
    """The rows of a read over a range: they find for the slot of `group` with this code."""

    block: Block
    code: Expression
    group: Slots
    over: Over

    @property
    def names(self) -> list[str]:
        """`cell[2,5] k=3` for each of them."""
        index = self.over.range.name
        listed = self.block.tuples([*(part.name for part in self.group.ranges), index])
        return [f"{slot_name((self.group.name, tuple(at)))} {index}={k}" for *at, k in listed]


class SlotRows:
    """The rows of a system at one length."""

    blocks: dict[Slots, Block]
    finders: list[Finders]
    """In the order of their rows."""

    def __init__(self, unfolding: Unfolding) -> None:
        self.unfolding = unfolding
        self.system: System = unfolding.system
        self.length = unfolding.length
        self._indices = {group: index_arrays(group.ranges, self.length) for group in self.groups}
        self.boxes = self._boxes()
        self._codes = self.length + sum(box.size for box in self.boxes.values())

    @classmethod
    def placed(cls, unfolding: Unfolding, read: Sequence[tuple[Slots, Over]] = ()) -> "SlotRows":
        """The rows alone, where the slots of these groups have such reads over a range, and others none."""
        rows = cls(unfolding)
        rows.finders = []
        for group, over in read:
            rows._find(group, over, rows._indices[group])
        rows.blocks = rows._blocks()
        return rows

    @cached_property
    def groups(self) -> list[Slots]:
        """That of the answer last."""
        return sorted(self.system.groups, key=lambda group: group is self.system.answer_group)

    @property
    def rows(self) -> int:
        last = self.blocks[self.groups[-1]]
        return last.first + last.count

    @property
    def slots(self) -> int:
        """P: slots, and rows that find."""
        return self.rows - self.length

    @property
    def row_names(self) -> list[str]:
        """`cell[2,5]` for a slot, `cell[2,5] k=3` for a row that finds for it, "" for a letter."""
        names = [""] * self.rows
        for found in self.finders:
            names[found.block.first : found.block.first + found.block.count] = found.names
        for group in self.groups:
            block, over = self.blocks[group], [part.name for part in group.ranges]
            for place, at in enumerate(block.tuples(over)):
                names[block.first + place] = slot_name((group.name, at))
        return names

    def own_code(self, group: Slots) -> Expression:
        """The code of a slot, in its own indices."""
        return self.boxes[group].code([over.index for over in group.ranges])

    def declared(self, pieces: Sequence[Piece], otherwise: Expression | int) -> Expression | np.ndarray:
        return piecewise(pieces, self.rows, otherwise)

    def _boxes(self) -> dict[Slots, Box]:
        boxes, base = {}, self.length
        for group in self.groups:
            boxes[group] = box_of(group.ranges, self._indices[group], base)
            base += boxes[group].size
        return boxes

    def _regions(self, group: Slots, cases: Sequence[Case]) -> Iterator[tuple[Case, Region]]:
        indices = self._indices[group]
        count = indices["N"].size

        def evaluate(expression: Expression) -> np.ndarray:
            return np.broadcast_to(np.asarray(expression.evaluate(indices)), (count,))

        return case_regions(cases, count, evaluate)

    def _drafts(self) -> list[Draft]:
        return [(group, case, region) for group in self.groups for case, region in self._regions(group, group.rules)]

    def _found(self, drafts: Sequence[Draft]) -> dict[tuple[int, int], Finders]:
        """The rows of every read over a range, by the number of the region and the read."""
        self.finders = []
        found = {}
        for number, (group, _, region) in enumerate(drafts):
            for place, leaf in enumerate(region.leaves):
                if isinstance(leaf, Ranged):
                    slots = taken(self._indices[group], np.flatnonzero(region.rows))
                    found[number, place] = self._find(group, leaf.over, slots)
        return found

    def _find(self, group: Slots, over: Over, slots: Arrays) -> Finders:
        """The next rows: those that find for these slots of a group."""
        first = self.length + sum(found.block.count for found in self.finders)
        self.finders.append(
            Finders(Block(first, extended(slots, [over.range]), None), self.own_code(group), group, over)
        )
        return self.finders[-1]

    def _blocks(self) -> dict[Slots, Block]:
        blocks, first = {}, self.length + sum(found.block.count for found in self.finders)
        for group in self.groups:
            indices, box = self._indices[group], self.boxes[group]
            count = indices["N"].size
            order, swap = self._order(group, count)
            formulas = box_formulas(group.ranges, first, box, swap) if order is None or swap is not None else None
            blocks[group] = Block(first, indices if order is None else taken(indices, order), formulas)
            first += count
        return blocks

    def _order(self, group: Slots, count: int) -> tuple[np.ndarray | None, tuple[int, int] | None]:
        """How the rows of a group are permuted, so that the answers stand last: (None, None) if they are not."""
        if group is not self.system.answer_group:
            return None, None
        place = {at: i for i, at in enumerate(self.unfolding.slots[group.name])}
        answers = [place[at] for _, at in self.unfolding.answers]
        if answers == list(range(count - len(answers), count)):
            return None, None
        if len(answers) == 1:
            swap = answers[0], count - 1
            order = np.arange(count)
            order[list(swap)] = order[list(reversed(swap))]
            return order, swap
        return np.concatenate([np.setdiff1d(np.arange(count), answers), answers]), None
