"""System × lengths → SlotRows: the rows of the slots, and the codes by which they are addressed.

    rows    the N letters, the rows of reads over a range, the groups of slots; the slots of the answer last
    codes   letter i has the code i; slot (i, j) of a group has the code  base + (i - i₀)·J + (j - j₀)

I × J is a box that contains the indices of the group. Its sides and the first rows are expressions in N. If the rows
are for every N, the box is the product of the ranges, which must depend on N alone. If N is one number, it is a
constant in all expressions, and the box is the smallest one that contains the indices. In both cases an address is a
formula in the indices of the row that reads. If a group fills its box, the indices of a row are a formula in n, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from unmask.expressions import Expression, N, Range, choose, constant, fold
from unmask.expressions import n as row
from unmask.programs.recurrences.regions import Evaluate, RangeLeaf, Region, case_regions
from unmask.recurrences.slots import Case, Over, Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding, slot_name


class NoFormula(Exception):
    """Raised for an expression without a positional formula, such as a table or a power of two."""


def position_formula(expression: Expression, indices: Mapping[str, Expression]) -> Expression:
    """Return the expression with a positional formula in place of every index; raise NoFormula if none exists."""

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
"""Indices by name, including N, with an entry for every row of a block at every sampled length."""


def plus(a: Expression, b: Expression) -> Expression:
    return b if a.is_constant(0) else a if b.is_constant(0) else a + b


def minus(a: Expression, b: Expression) -> Expression:
    return a if b.is_constant(0) else a - b


def times(a: Expression, b: Expression) -> Expression:
    return constant(0) if a.is_constant(0) else a * b


def product_of_sizes(sizes: Sequence[Expression]) -> Expression:
    return reduce(lambda a, b: a * b, sizes) if sizes else constant(1)


def in_length(expression: Expression) -> Expression:
    """Return an expression in N alone as a positional formula; raise NoFormula if none exists."""
    return position_formula(expression, {"N": N})


def constant_value(expression: Expression) -> int:
    """Return the value of an expression in a plan for one length."""
    assert expression.operator == "constant", f"{expression} depends on N"
    return expression.value


@dataclass(frozen=True, eq=False)
class Box:
    """Codes of a group: `base`, and the first index and the number of indices of every dimension."""

    base: Expression
    firsts: tuple[Expression, ...]
    sizes: tuple[Expression, ...]

    @property
    def size(self) -> Expression:
        return product_of_sizes(self.sizes)

    def offset(self, indices: Sequence[Expression]) -> Expression:
        """Return the offset in the box of the slot with these indices, row by row."""
        total = constant(0)
        for index, first, size in zip(indices, self.firsts, self.sizes, strict=True):
            total = plus(times(total, size), minus(index, first))
        return total

    def code(self, indices: Sequence[Expression]) -> Expression:
        """Return the code of the slot with these indices."""
        return plus(self.base, self.offset(indices))


@dataclass(frozen=True, eq=False)
class FullBox:
    """A box that a block of rows fills: `offset` is that of a row in the box, `formulas` are the indices of a row."""

    box: Box
    offset: Expression
    formulas: Mapping[str, Expression]


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows with their indices, which are formulas in the row if the block fills a box."""

    first: Expression
    count: Expression
    indices: Arrays
    full: FullBox | None

    @property
    def formulas(self) -> Mapping[str, Expression]:
        """The indices of a row; raise NoFormula if they are only listed."""
        if self.full is None:
            raise NoFormula
        return self.full.formulas

    @property
    def rows(self) -> slice:
        """The rows of the block in a plan for one length."""
        return slice(constant_value(self.first), constant_value(self.first) + constant_value(self.count))

    def tuples(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """Return these indices of every row."""
        if not names:
            return [()] * self.indices["N"].size
        return list(zip(*(self.indices[name].tolist() for name in names), strict=True))

    def evaluate(self, expression: Expression) -> np.ndarray:
        """Return the value of the expression in every row."""
        return evaluating(self.indices)(expression).astype(np.int64)


def evaluating(arrays: Arrays) -> Evaluate:
    """Return the function that evaluates an expression in every row."""
    return lambda expression: np.broadcast_to(np.asarray(expression.evaluate(arrays)), (arrays["N"].size,))


def sampled(ranges: Sequence[Range], unfoldings: Sequence[Unfolding]) -> Arrays:
    """Return all indices of these ranges at these lengths, in the order of nested loops."""
    return extended({"N": np.array([unfolding.length for unfolding in unfoldings], dtype=np.int64)}, ranges)


def extended(arrays: Arrays, ranges: Sequence[Range]) -> Arrays:
    """Return every row once for each index of the further ranges."""
    for over in ranges:
        rows = arrays["N"].size
        first, last = (
            np.broadcast_to(np.asarray(e.evaluate(arrays), dtype=np.int64), (rows,)) for e in (over.first, over.last)
        )
        counts = np.maximum(last - first, 0)
        repeated = {name: np.repeat(values, counts) for name, values in arrays.items()}
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        repeated[over.name] = np.repeat(first, counts) + np.arange(int(counts.sum())) - starts
        arrays = repeated
    return arrays


def selected_rows(indices: Arrays, rows: np.ndarray) -> Arrays:
    """Return some of the rows, in the given order."""
    return {name: values[rows] for name, values in indices.items()}


def depend_on_length_alone(ranges: Sequence[Range]) -> bool:
    """Return True if the ranges depend on N alone."""
    return not any((over.first.names | over.last.names) - {"N"} for over in ranges)


def range_box(ranges: Sequence[Range], base: Expression) -> Box:
    """Return the box of ranges that depend on N alone."""
    if not depend_on_length_alone(ranges):
        raise NoFormula
    return Box(base, tuple(over.first for over in ranges), tuple(minus(over.last, over.first) for over in ranges))


def least_box(ranges: Sequence[Range], indices: Arrays, base: Expression) -> Box:
    """Return the smallest box that contains the indices of a group at one length."""
    listed = [indices[over.name] for over in ranges]
    firsts = [int(values.min()) if values.size else 0 for values in listed]
    lasts = [int(values.max()) if values.size else -1 for values in listed]
    sizes = (constant(last - first + 1) for first, last in zip(firsts, lasts, strict=True))
    return Box(base, tuple(map(constant, firsts)), tuple(sizes))


def digits(ranges: Sequence[Range], box: Box, offset: Expression) -> dict[str, Expression]:
    """Return the indices of a row from its offset in the box, by division."""
    indices: dict[str, Expression] = {"N": N}
    for d, over in enumerate(ranges):
        stride = product_of_sizes(box.sizes[d + 1 :])
        digit = offset if d == len(box.sizes) - 1 else offset // in_length(stride)
        if d:
            digit = digit % in_length(box.sizes[d])
        first = box.firsts[d]
        indices[over.name] = digit if first.is_constant(0) else digit + in_length(first)
    return indices


Piece = tuple[Block, Expression]

Draft = tuple[Slots, Case, Region]
"""A region of a group, and the rule that holds there."""


@dataclass(frozen=True, eq=False)
class FinderRows:
    """The rows that evaluate a read over a range, one per index, for the slot of `group` with the code `target`."""

    block: Block
    code: Expression
    """The code of a finder row."""
    target: Expression
    group: Slots
    over: Over

    @property
    def ranges(self) -> tuple[Range, ...]:
        return (*self.group.ranges, self.over.range)

    @property
    def names(self) -> list[str]:
        """`cell[2,5] k=3` for each of the rows."""
        index = self.over.range.name
        listed = self.block.tuples([over.name for over in self.ranges])
        return [f"{slot_name((self.group.name, tuple(at)))} {index}={k}" for *at, k in listed]


class SlotRows:
    """The rows of a system: for every N, sampled at a few lengths, or for one N, which is then a constant."""

    blocks: dict[Slots, Block]
    finders: list[FinderRows]
    """The blocks, in the order of their rows."""

    def __init__(self, system: System, unfoldings: Sequence[Unfolding], length: Expression) -> None:
        self.system, self.unfoldings, self.length = system, unfoldings, length
        self.every_length = length is N
        self._indices = {group: sampled(group.ranges, unfoldings) for group in self.groups}
        self.finders = []
        self.boxes = self._boxes()

    @classmethod
    def placed(cls, unfolding: Unfolding, read: Sequence[tuple[Slots, Over]] = ()) -> "SlotRows":
        """Return the rows of one length if the slots of these groups have such reads over a range, and others none."""
        rows = cls(unfolding.system, [unfolding], constant(unfolding.length))
        for group, over in read:
            rows._add_finder_rows(group, over, rows._indices[group])
        rows.blocks = rows._blocks()
        return rows

    @property
    def unfolding(self) -> Unfolding:
        """The unfolding at the single length of a plan that is not for every N."""
        (unfolding,) = self.unfoldings
        return unfolding

    @cached_property
    def groups(self) -> list[Slots]:
        """All groups, that of the answer last."""
        return sorted(self.system.groups, key=lambda group: group is self.system.answer_group)

    def sized(self, expression: Expression) -> Expression:
        """Return an expression in N as a formula for every N, or as the constant of one length."""
        if self.every_length:
            return in_length(expression)
        return constant(int(expression.evaluate({"N": constant_value(self.length)})))

    @property
    def rows(self) -> Expression:
        return self.sized(plus(plus(self.length, self._finder_count), self._slot_count))

    @property
    def slots(self) -> Expression:
        """P: the number of slots and finder rows."""
        return self.sized(plus(self._finder_count, self._slot_count))

    @property
    def capacity(self) -> Expression:
        """The number of codes."""
        return self.sized(plus(plus(self.length, self._finder_count), self._code_count))

    @property
    def _slot_count(self) -> Expression:
        if self.every_length:
            return self._code_count
        return reduce(plus, (block.count for block in self.blocks.values()), constant(0))

    @property
    def _code_count(self) -> Expression:
        """The number of codes of slots."""
        return reduce(plus, (box.size for box in self.boxes.values()), constant(0))

    @property
    def _finder_count(self) -> Expression:
        """The number of finder rows."""
        blocks = [finders.block for finders in self.finders]
        sizes = (block.count if block.full is None else block.full.box.size for block in blocks)
        return reduce(plus, sizes, constant(0))

    @property
    def row_names(self) -> list[str]:
        """`cell[2,5]` for a slot, `cell[2,5] k=3` for a finder row of it, "" for a letter; at one length."""
        names = [""] * constant_value(self.rows)
        for finders in self.finders:
            names[finders.block.rows] = finders.names
        for group in self.groups:
            block = self.blocks[group]
            listed = block.tuples([over.name for over in group.ranges])
            names[block.rows] = [slot_name((group.name, at)) for at in listed]
        return names

    def own_code(self, group: Slots) -> Expression:
        """Return the code of a slot, in its own indices."""
        return self.boxes[group].code([over.index for over in group.ranges])

    def declared(self, pieces: Sequence[Piece], otherwise: Expression) -> Expression | np.ndarray:
        """Return a formula with an expression for every block and another expression elsewhere.

        A plan for one length uses a table instead if some block has no formula.
        """
        expressions = dict(pieces)
        try:
            return self._formula(expressions, otherwise)
        except NoFormula:
            if self.every_length:
                raise
        table = otherwise.at_positions(constant_value(self.length), np.arange(constant_value(self.rows))).copy()
        for block, expression in expressions.items():
            table[block.rows] = block.evaluate(expression)
        return table

    def _formula(self, expressions: Mapping[Block, Expression], rest: Expression) -> Expression:
        whole = rest
        for block in reversed([*(finders.block for finders in self.finders), *self.blocks.values()]):
            if block.count.is_constant(0):
                continue
            piece = position_formula(expressions[block], block.formulas) if block in expressions else rest
            whole = piece if whole is piece else choose(row < plus(block.first, block.count), piece, whole)
        return rest if whole is rest else choose(row < self.length, rest, whole)

    def _boxes(self) -> dict[Slots, Box]:
        boxes, base = {}, self.length
        for group in self.groups:
            boxes[group] = (
                range_box(group.ranges, base)
                if self.every_length
                else least_box(group.ranges, self._indices[group], base)
            )
            base = plus(base, boxes[group].size)
            base = base if self.every_length else self.sized(base)
        return boxes

    def _regions(self, group: Slots, cases: Sequence[Case]) -> Iterator[tuple[Case, Region]]:
        return case_regions(cases, self._indices[group]["N"].size, evaluating(self._indices[group]))

    def _finder_rows_of(self, drafts: Sequence[Draft]) -> dict[tuple[int, int], FinderRows]:
        """Return the rows of every read over a range, by the number of the region and the read.

        In a plan for one length, every region has its own rows. In a plan for every N, all slots of a group have the
        same reads over ranges, and each read has one box of rows for the whole group.
        """
        finders: dict[tuple[int, int], FinderRows] = {}
        shared: dict[tuple[Slots, Over], FinderRows] = {}
        reads: dict[Slots, list[Over]] = {}
        for number, (group, _, region) in enumerate(drafts):
            ranged = {index: leaf.over for index, leaf in enumerate(region.leaves) if isinstance(leaf, RangeLeaf)}
            if not self.every_length:
                slots = selected_rows(self._indices[group], np.flatnonzero(region.rows))
                finders |= {
                    (number, index): self._add_finder_rows(group, over, slots) for index, over in ranged.items()
                }
                continue
            listed = list(ranged.values())
            if reads.setdefault(group, listed) != listed or len(set(listed)) < len(listed):
                raise NoFormula
            for index, over in ranged.items():
                if (group, over) not in shared:
                    shared[group, over] = self._add_finder_rows(group, over, self._indices[group])
                finders[number, index] = shared[group, over]
        return finders

    def _add_finder_rows(self, group: Slots, over: Over, slots: Arrays) -> FinderRows:
        """Append the finder rows of these slots of a group, with codes after those of all slots."""
        before = self._finder_count
        first, indices = self.sized(plus(self.length, before)), extended(slots, [over.range])
        ranges = (*group.ranges, over.range)
        if self.every_length:
            box = range_box(ranges, plus(plus(N, self._code_count), before))
            block = self._full_block(first, ranges, box, indices, row - first)
            code = box.code([over_range.index for over_range in ranges])
        else:
            count = indices["N"].size
            block = Block(first, constant(count), {**indices, "n": constant_value(first) + np.arange(count)}, None)
            code = plus(row, self._code_count)
        self.finders.append(FinderRows(block, code, self.own_code(group), group, over))
        return self.finders[-1]

    def _full_block(
        self, first: Expression, ranges: Sequence[Range], box: Box, indices: Arrays, offset: Expression
    ) -> Block:
        return Block(first, self.sized(box.size), indices, FullBox(box, offset, digits(ranges, box, offset)))

    def _blocks(self) -> dict[Slots, Block]:
        blocks, first = {}, plus(self.length, self._finder_count)
        for group in self.groups:
            box = self.boxes[group]
            if self.every_length:
                first = plus(box.base, self._finder_count)
            blocks[group] = self._block(group, self.sized(first), box)
            if not self.every_length:
                first = plus(first, blocks[group].count)
        return blocks

    def _block(self, group: Slots, first: Expression, box: Box) -> Block:
        """Return the rows of a group, permuted so that the answers are last."""
        indices, offset = self._indices[group], row - first
        orders = [self._order(group, unfolding) for unfolding in self.unfoldings]
        permuted = any(order is not None for order in orders)
        if not self.every_length:
            (order,) = orders
            indices = indices if order is None else selected_rows(indices, order)
        answers = self.system.answers
        if permuted and (isinstance(answers, Slots) or len(answers) > 1):
            if self.every_length:
                raise NoFormula
            return Block(first, constant(indices["N"].size), indices, None)
        if not depend_on_length_alone(group.ranges):
            return Block(first, constant(indices["N"].size), indices, None)
        if permuted and not isinstance(answers, Slots):
            answer_offset, last_offset = (
                self.sized(box.offset(answers[0].indices)),
                self.sized(minus(box.size, constant(1))),
            )
            offset = choose(
                offset.equals(answer_offset), last_offset, choose(offset.equals(last_offset), answer_offset, offset)
            )
        return self._full_block(first, group.ranges, box, indices, offset)

    def _order(self, group: Slots, unfolding: Unfolding) -> np.ndarray | None:
        """Return the permutation of a group's slots that moves the answers to the end; None if none is needed."""
        if group is not self.system.answer_group:
            return None
        number_of = {at: i for i, at in enumerate(unfolding.slots[group.name])}
        answers = [number_of[at] for _, at in unfolding.answers]
        count = len(number_of)
        if answers == list(range(count - len(answers), count)):
            return None
        order = np.arange(count)
        if len(answers) == 1:
            swap = [answers[0], count - 1]
            order[swap] = order[swap[::-1]]
            return order
        return np.concatenate([np.setdiff1d(order, answers), answers])
