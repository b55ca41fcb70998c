"""The positions of a plan's rows in a string that grows: one slot after the other, or a block for every step.

    chain     the slots in an order in which each comes after its reads; row n computes the slot in row n + 1
    levels    block t has the slots of depth t, each after its finder rows; the remaining rows are empty

The answers are last, so a slot that another slot reads cannot be an answer: `with_copied_answers` adds slots
that repeat the answers.
"""

from dataclasses import dataclass

import numpy as np

from unmask.errors import ProblemError
from unmask.expressions import Expression, Index
from unmask.programs.recurrences.slot_rows import constant_value
from unmask.programs.recurrences.system_plan import SystemPlan
from unmask.recurrences.slots import Read, Slots, pick
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Key, Unfolding


@dataclass(frozen=True, eq=False)
class Placement:
    """Row r of the plan is row of[r] of the string; the row that computes it is `ahead` rows before it."""

    plan: SystemPlan
    of: np.ndarray
    rows: int
    ahead: int = 0
    block: int | None = None
    begin: bool = False

    @property
    def length(self) -> int:
        return self.plan.unfolding.length

    @property
    def steps(self) -> int:
        behind = self.rows - self.length - self.begin
        return behind if self.block is None else behind // self.block

    @property
    def unused_code(self) -> int:
        """A target code without results: only the first row has it, as a finder row that finds nothing."""
        return constant_value(self.plan.capacity) + self.rows - self.of.size

    @property
    def codes(self) -> int:
        """The number of codes, including `nowhere` if there are finder rows."""
        return self.unused_code + bool(self.plan.channels)

    @property
    def names(self) -> list[str]:
        """The name of every row; "" if it is empty."""
        names = [""] * self.rows
        for row, name in zip(self.of.tolist(), self.plan.row_names, strict=True):
            names[row] = name
        return names

    def row_codes(self) -> np.ndarray:
        """Return the codes of the rows, including empty ones."""
        codes = np.zeros(self.rows, dtype=np.int64)
        empty = np.setdiff1d(np.arange(self.rows), self.of)
        codes[empty] = constant_value(self.plan.capacity) + np.arange(empty.size)
        codes[self.of] = self._values(self.plan.row_codes())
        return codes

    def in_computing_rows(self, declared: Expression | np.ndarray, fill: int) -> np.ndarray:
        """Return the value in the plan row that each row computes; `fill` in rows that compute nothing."""
        table = np.full(self.rows, fill, dtype=np.int64)
        acting = np.arange(self.length, self.of.size)
        table[self.of[acting] - self.ahead] = self._values(declared)[acting]
        return table

    def _values(self, declared: Expression | np.ndarray) -> np.ndarray:
        if isinstance(declared, Expression):
            return declared.at_positions(self.length, np.arange(self.of.size))
        return declared


def one_slot_per_step(plan: SystemPlan, order: list[Key] | None = None) -> Placement:
    """Every row of the plan in a separate step; `order` lists the slots, each after its reads."""
    length, count = plan.unfolding.length, constant_value(plan.rows)
    begin = length <= 1
    _check_first_row(plan, "cot")
    rows = _in_order(plan, plan.unfolding.order if order is None else order)
    of = np.empty(count, dtype=np.int64)
    of[:length] = begin + np.arange(length)
    of[rows] = begin + length + np.arange(len(rows))
    return Placement(plan, of, begin + count, ahead=1, begin=begin)


def one_level_per_step(plan: SystemPlan) -> Placement:
    """A block for every step, as wide as the widest level."""
    _check_first_row(plan, "pcot")
    unfolding = plan.unfolding
    steps, answers = max(unfolding.depth.values()), set(unfolding.answers)
    keys: list[list[Key]] = [[] for _ in range(steps)]
    for key in unfolding.keys:
        keys[(steps if key in answers else unfolding.depth[key]) - 1].append(key)
    blocks = [_in_order(plan, listed) for listed in keys]
    width = max(map(len, blocks))
    length = unfolding.length
    of = np.empty(constant_value(plan.rows), dtype=np.int64)
    of[:length] = np.arange(length)
    for t, block in enumerate(blocks):
        of[block] = length + (t + 1) * width - len(block) + np.arange(len(block))
    return Placement(plan, of, length + steps * width, block=width)


def with_copied_answers(system: System, unfolding: Unfolding) -> System:
    """The same system if no slot reads an answer, else one with slots that repeat the answers."""
    answers = set(unfolding.answers)
    if not any(child in answers for key in unfolding.keys for child in unfolding.read_slots(key)):
        return system
    group = system.answer_group
    name = f"{group.name}'"
    while name in unfolding.groups:
        name += "'"
    if isinstance(system.answers, Slots):
        copies = Slots(name, group.ranges, group.values)
        copies.rule(group[tuple(over.index for over in group.ranges)], lambda value: value)
        return System(system.letters, [*system.groups, copies], copies, name=system.name)
    number = Index("number")
    read: Read = system.answers[-1]
    for i, slot in reversed(list(enumerate(system.answers[:-1]))):
        read = pick(number.equals(i), slot, read)
    copies = Slots(name, number.range(len(system.answers)), group.values)
    copies.rule(read, lambda value: value)
    return System(system.letters, [*system.groups, copies], copies, name=system.name)


def _check_first_row(plan: SystemPlan, kind: str) -> None:
    """Check that the first row computes nothing if there are finder rows."""
    if plan.channels and not plan.unfolding.length:
        raise ProblemError(
            f"a program with reads over a range does not compile to {kind} for the empty word; "
            f"compile to mdm, then `unmask convert --to {kind}`"
        )


def _in_order(plan: SystemPlan, keys: list[Key]) -> list[int]:
    """Return the rows of these slots, each after its finder rows; answers after everything else."""
    finder_rows, own_row = _rows(plan)
    listed, last = set(keys), set(plan.unfolding.answers)
    answers = [key for key in plan.unfolding.answers if key in listed]
    inner_slots = [key for key in keys if key not in last]
    before = [row for key in inner_slots for row in (*finder_rows[key], own_row[key])]
    return [*before, *(row for key in answers for row in finder_rows[key]), *(own_row[key] for key in answers)]


def _rows(plan: SystemPlan) -> tuple[dict[Key, list[int]], dict[Key, int]]:
    """Return (finder rows, own row) of every slot."""
    slots: dict[int, Key] = {}
    own_row: dict[Key, int] = {}
    for group in plan.groups:
        block = plan.blocks[group]
        tuples = block.tuples([over.name for over in group.ranges])
        for row, (code, at) in enumerate(zip(block.evaluate(plan.own_code(group)).tolist(), tuples, strict=True)):
            slots[code], own_row[group.name, at] = (group.name, at), constant_value(block.first) + row
    finder_rows: dict[Key, list[int]] = {key: [] for key in own_row}
    for channel in plan.channels:
        for finders in channel.finders:
            for row, slot in enumerate(finders.block.evaluate(finders.target).tolist()):
                finder_rows[slots[slot]].append(constant_value(finders.block.first) + row)
    return finder_rows, own_row
