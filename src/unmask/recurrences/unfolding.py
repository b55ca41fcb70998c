"""System × N → every slot with its reads: the recurrence written out, with errors reported.

A slot is named by its group and its indices. Its operands are letters, slots, constants, or lists of operands for every
index of a range. A read of something that does not exist at this N is reported with N and the indices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from unmask.errors import ProblemError, TooLarge, UnmaskError
from unmask.expressions import Range
from unmask.recurrences.rule_functions import at_line
from unmask.recurrences.slots import (
    Case,
    Choice,
    Each,
    Letter,
    Mapped,
    Number,
    Over,
    ReadVisitor,
    Slot,
    Slots,
    has_default,
)
from unmask.recurrences.system import System

MOST_SLOTS = 1 << 20
MOST_ROWS = 1 << 22

Key = tuple[str, tuple[int, ...]]
"""(group, indices)."""


@dataclass(frozen=True)
class LetterOperand:
    """An operand that is the letter at a position of the word."""

    position: int


@dataclass(frozen=True)
class SlotOperand:
    """An operand that is the value of a slot."""

    key: Key


@dataclass(frozen=True)
class ConstantOperand:
    """An operand that is always the same value."""

    value: Any


@dataclass(frozen=True, eq=False)
class MappedOperand:
    """An operand of `.map` or each(…): a function of it, or its members."""

    operand: "Operand"
    read: Mapped | Each


@dataclass(frozen=True, eq=False)
class RangeOperand:
    """The operands of a read over a range: a tuple for each index at which its condition holds.

    `span` is the number of all indices of the range.
    """

    over: Over
    operands: tuple[tuple["Operand", ...], ...]
    span: int


Operand = LetterOperand | SlotOperand | ConstantOperand | MappedOperand | RangeOperand


@dataclass(frozen=True, eq=False)
class SlotStep:
    """How a slot is computed: a rule and its operands."""

    case: Case
    operands: tuple[Operand, ...]


def slot_name(key: Key) -> str:
    """`cell[2,5]`, or only the name of the group if it has no index."""
    group, at = key
    return f"{group}[{','.join(map(str, at))}]" if at else group


class Unfolding:
    """A system at one length: every slot, with its rule and its operands."""

    def __init__(self, system: System, length: int) -> None:
        self.system, self.length = system, length
        self._rows = 0  # the number of indices of reads over a range so far
        self.groups = {group.name: group for group in system.groups}
        self.slots: dict[str, list[tuple[int, ...]]] = {}
        for group in system.groups:
            self.slots[group.name] = list(self._tuples(group.ranges, {"N": length}, group.name))
            if sum(map(len, self.slots.values())) > MOST_SLOTS:
                raise TooLarge(
                    f"{system.name} has more than {MOST_SLOTS:,} slots at N = {length}; use a shorter length"
                )
        self._exists = {name: set(listed) for name, listed in self.slots.items()}
        self._operand = _OperandOf(self)

    @property
    def keys(self) -> list[Key]:
        """Every slot, group by group."""
        return [(name, at) for name, listed in self.slots.items() for at in listed]

    @cached_property
    def rules(self) -> dict[Key, SlotStep]:
        """The rule and operands of every slot."""
        return {key: self._step(key, self.groups[key[0]].rules) for key in self.keys}

    @cached_property
    def starts(self) -> dict[Key, SlotStep]:
        """The rule and operands of every slot before the first step."""
        return {key: self._step(key, self.groups[key[0]].starts) for key in self.keys}

    @cached_property
    def answers(self) -> list[Key]:
        """The slots of the answer, in their order."""
        if isinstance(self.system.answers, Slots):
            keys = [(self.system.answers.name, at) for at in self.slots[self.system.answers.name]]
        else:
            keys = [self._answer(slot) for slot in self.system.answers]
        if not keys:
            raise self._system_error(f"has no answer at N = {self.length}: {self.system.answer_group} is empty")
        if len(set(keys)) < len(keys):
            raise self._system_error(f"names one slot twice as its answer at N = {self.length}; name it once")
        return keys

    @cached_property
    def steps(self) -> int:
        """The stated number of steps of a system that edits."""
        assert self.system.steps is not None
        steps = int(self.system.steps.evaluate({"N": self.length}))
        if steps < 1:
            raise self._system_error(f"takes {steps} steps at N = {self.length}; it must take at least 1")
        return steps

    def read_slots(self, key: Key) -> Iterator[Key]:
        """The slots that a slot reads."""
        return (leaf.key for leaf in leaves_in(self.rules[key].operands) if isinstance(leaf, SlotOperand))

    @cached_property
    def unread_letters(self) -> list[int]:
        """The positions of the word that no slot reads, counted from 0."""
        steps = [*self.rules.values(), *(self.starts.values() if self.system.edits else ())]
        read = {leaf.position for step in steps for leaf in leaves_in(step.operands) if isinstance(leaf, LetterOperand)}
        return [position for position in range(self.length) if position not in read]

    @cached_property
    def order(self) -> list[Key]:
        """All slots, each after those that it reads; raise if a slot depends on itself."""
        finished: dict[Key, bool] = {}
        order: list[Key] = []
        for root in self.keys:
            path: list[tuple[Key, Iterator[Key]]] = [(root, self.read_slots(root))] if root not in finished else []
            if path:
                finished[root] = False
            while path:
                key, rest = path[-1]
                child = next(rest, None)
                if child is None:
                    finished[key] = True
                    order.append(key)
                    path.pop()
                elif child not in finished:
                    finished[child] = False
                    path.append((child, self.read_slots(child)))
                elif not finished[child]:
                    self._raise_cycle([k for k, _ in path], child)
        return order

    @cached_property
    def depth(self) -> dict[Key, int]:
        """The step in which each slot can be written: one after the last slot that it reads."""
        depth: dict[Key, int] = {}
        for key in self.order:
            depth[key] = 1 + max((depth[child] for child in self.read_slots(key)), default=0)
        return depth

    @cached_property
    def size(self) -> int:
        """The number of slots, plus that of indices of reads over a range."""
        return sum(map(self.weight, self.keys))

    @cached_property
    def widest(self) -> int:
        """The largest size of the slots of one depth; answers count among the deepest."""
        steps, answers = max(self.depth.values()), set(self.answers)
        sizes = [0] * steps
        for key in self.keys:
            sizes[(steps if key in answers else self.depth[key]) - 1] += self.weight(key)
        return max(sizes)

    def weight(self, key: Key) -> int:
        """1, plus the number of indices of its reads over a range, including those that a condition excludes."""
        return 1 + sum(operand.span for operand in self.rules[key].operands if isinstance(operand, RangeOperand))

    def _raise_cycle(self, path: list[Key], again: Key) -> None:
        cycle = [*path[path.index(again) :], again]
        listed = cycle if len(cycle) <= 5 else [*cycle[:3], *cycle[-2:]]
        arrows = " reads ".join(map(slot_name, listed[:3])) + (" reads … reads " if len(cycle) > 5 else "")
        arrows += "".join(f" reads {slot_name(k)}" for k in listed[3:]) if len(cycle) <= 5 else slot_name(listed[-1])
        error = ProblemError(
            f"at N = {self.length} {slot_name(again)} depends on itself: {arrows}; "
            "correct an index, or give the System steps if its slots are to be rewritten"
        )
        raise at_line(self.rules[again].case.line, error)

    def _tuples(self, ranges: Sequence[Range], values: dict[str, int], name: str) -> Iterator[tuple[int, ...]]:
        if not ranges:
            yield ()
            return
        over, *rest = ranges
        first, last = int(over.first.evaluate(values)), int(over.last.evaluate(values))
        if last - first > MOST_SLOTS:
            raise TooLarge(f"{name} has more than {MOST_SLOTS:,} slots at N = {self.length}; use a shorter length")
        for value in range(first, last):
            for further in self._tuples(rest, {**values, over.name: value}, name):
                yield (value, *further)

    def _values(self, key: Key) -> dict[str, int]:
        names = (over.name for over in self.groups[key[0]].ranges)
        return {"N": self.length, **dict(zip(names, key[1], strict=True))}

    def _step(self, key: Key, cases: Sequence[Case]) -> SlotStep:
        values = self._values(key)
        for case in cases:
            if case.where is None or case.where.evaluate(values):
                return SlotStep(case, self._operands(case, values, key))
        written = "rule" if cases is self.groups[key[0]].rules else "start"
        error = ProblemError(
            f"no rule writes {slot_name(key)} at N = {self.length}: no condition of its {written}s holds there; "
            f"add {key[0]}.{written}(…) without a condition, for everywhere else"
        )
        raise at_line(cases[-1].line, error)

    def _operands(self, case: Case, values: dict[str, int], key: Key) -> tuple[Operand, ...]:
        try:
            return tuple(self._operand.visit(read, _SlotIndices(key, values)) for read in case.reads)
        except UnmaskError as error:
            raise at_line(case.line, error) from error

    def exists(self, key: Key) -> bool:
        return key[1] in self._exists[key[0]]

    def count_indices(self, count: int) -> None:
        """Add the indices of a read over a range; raise TooLarge beyond the limit."""
        self._rows += count
        if self._rows > MOST_ROWS:
            raise TooLarge(
                f"the reads over a range of {self.system.name} run through more than {MOST_ROWS:,} indices "
                f"at N = {self.length}; use a shorter length"
            )

    def _answer(self, slot: Slot) -> Key:
        key = (slot.group.name, tuple(int(index.evaluate({"N": self.length})) for index in slot.indices))
        if not self.exists(key):
            raise self._system_error(
                f"has no answer at N = {self.length}: there is no {slot_name(key)}; "
                "correct its index, or use another length"
            )
        return key

    def _system_error(self, problem: str) -> UnmaskError:
        return at_line(self.system.line, ProblemError(f"{self.system.name} {problem}"))


class _SlotIndices(NamedTuple):
    """The slot whose rule reads, and the values of N and of the indices."""

    key: Key
    values: dict[str, int]


class _OperandOf(ReadVisitor[_SlotIndices, Operand]):
    """Read × slot → Operand: a read at the indices of one slot."""

    def __init__(self, unfolding: Unfolding) -> None:
        self.unfolding = unfolding

    def letter(self, read: Letter, context: _SlotIndices) -> Operand:
        position, length = int(read.at.evaluate(context.values)), self.unfolding.length
        if 0 <= position < length:
            return LetterOperand(position)
        return self._default_or_raise(read, f"letter {position} of a word of {length}", context)

    def slot(self, read: Slot, context: _SlotIndices) -> Operand:
        source = (read.group.name, tuple(int(index.evaluate(context.values)) for index in read.indices))
        if self.unfolding.exists(source):
            return SlotOperand(source)
        return self._default_or_raise(read, slot_name(source), context)

    def number(self, read: Number, context: _SlotIndices) -> Operand:
        value = int(read.expression.evaluate(context.values))
        if value in read.among:
            return ConstantOperand(value)
        raise ProblemError(
            f"at N = {self.unfolding.length} {slot_name(context.key)} has {read.expression} = {value}, "
            f"which is not among {list(read.among)}; add it there"
        )

    def choice(self, read: Choice, context: _SlotIndices) -> Operand:
        return self.visit(read.then if read.condition.evaluate(context.values) else read.otherwise, context)

    def mapped(self, read: Mapped, context: _SlotIndices) -> Operand:
        return MappedOperand(self.visit(read.read, context), read)

    def each(self, read: Each, context: _SlotIndices) -> Operand:
        return MappedOperand(self.visit(read.read, context), read)

    def over(self, read: Over, context: _SlotIndices) -> Operand:
        first, last = (int(end.evaluate(context.values)) for end in (read.range.first, read.range.last))
        self.unfolding.count_indices(max(0, last - first))
        operands = []
        for value in range(first, last):
            inner = _SlotIndices(context.key, {**context.values, read.range.name: value})
            if read.where is None or read.where.evaluate(inner.values):
                operands.append(tuple(self.visit(inner_read, inner) for inner_read in read.reads))
        return RangeOperand(read, tuple(operands), max(0, last - first))

    def _default_or_raise(self, read: Letter | Slot, missing: str, context: _SlotIndices) -> Operand:
        if has_default(read):
            return ConstantOperand(read.default)
        own_names = {"N", *(over.name for over in self.unfolding.groups[context.key[0]].ranges)}
        extra = [f"{name} = {value}" for name, value in context.values.items() if name not in own_names]
        at = f" with {', '.join(extra)}" if extra else ""
        raise ProblemError(
            f"at N = {self.unfolding.length} {slot_name(context.key)}{at} reads {missing}, which does not exist; "
            f"correct the index, write {read}.or_else(value), or add a separate rule for this slot"
        )


def leaves_in(operands: Sequence[Operand]) -> Iterator[LetterOperand | SlotOperand | ConstantOperand]:
    """The letters, slots and constants among operands, in their order."""
    for operand in operands:
        if isinstance(operand, MappedOperand):
            yield from leaves_in((operand.operand,))
        elif isinstance(operand, RangeOperand):
            for listed in operand.operands:
                yield from leaves_in(listed)
        else:
            yield operand
