"""System × N → Rows: which rows the slots have, and by which codes they are addressed.

Rows that find, of reads over a range, stand between the letters and the slots.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.programs.language.positions import Expression as Formula
from unmask.programs.recurrences.layout import (
    Arrays,
    Block,
    Box,
    Piece,
    box_formulas,
    box_of,
    extended,
    index_arrays,
    piecewise,
    taken,
)
from unmask.programs.recurrences.regions import Ranged, Region, case_regions
from unmask.recurrences.expressions import Expression
from unmask.recurrences.slots import Case, Over, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding, slot_name

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


class Rows:
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
    def placed(cls, unfolding: Unfolding, read: Sequence[tuple[Slots, Over]] = ()) -> "Rows":
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

    def declared(self, pieces: Sequence[Piece], otherwise: Formula | int) -> Formula | np.ndarray:
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
