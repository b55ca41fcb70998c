"""Slots of a system of recurrences, for every N: where they are, and what their rules read there.

    a slot        indices, each  first + digit,  0 <= digit < side, the sides expressions in N
    its place     digits by sides, as in nested loops
    its number    letters, groups and searches in this order; those before its group, and the place
    its row       letters, searches and groups in this order; the slot of the answer and the last of its group change
    a search      a read over a range: a row for every slot of the group and every value of its index, as in a group
    a branch      one of the rules, and what every read of it is: a letter, a slot, a value, or what a search finds

This is the meaning of a system as `recurrences/unfolding.py` gives it for one N, with numbers that are unknown. It is
written from the system, and shares nothing with the compiler but the system.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

from unmask.compilers.system_compiler import SystemFamily
from unmask.expressions import Expression, Range
from unmask.numerics.arithmetic import Precision
from unmask.programs.recurrences.slot_rows import Block, in_length
from unmask.programs.recurrences.slot_rows import product as product_of
from unmask.recurrences.interpreter import apply_map
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
    read_parts,
)
from unmask.recurrences.system import System, symbol_names
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, Euclid, ObligationFailed, Term

Terms = Mapping[str, Term]
"""N and indices, by name."""


@dataclass(frozen=True, eq=False)
class Search:
    """A read over a range, which all slots of a group have."""

    group: Slots
    over: Over

    @property
    def ranges(self) -> tuple[Range, ...]:
        return (*self.group.ranges, self.over.range)

    @property
    def name(self) -> str:
        return f"{self.group.name}: {self.over.range.name}"


Group = Slots | Search


@dataclass(frozen=True, eq=False)
class Operand:
    """What a read is: a letter (`group` is None), a slot at these places, or a value where `number` is None.

    If it is the result of a `search`, the other fields are empty.
    """

    group: Slots | None
    places: tuple[Term, ...]
    number: Term | None
    read_values: tuple[Any, ...]
    """What may be there."""
    mapping: Callable[[Any], Any] = lambda value: value
    search: Search | None = None


@dataclass(frozen=True, eq=False)
class Branch:
    """A rule, or the function of a search, under conditions; `sure` must follow from them.

    A search does not call its function where its condition leaves the index out: `counts` is then False.
    """

    case: Case
    conditions: tuple[Term, ...]
    sure: tuple[Term, ...]
    operands: tuple[Operand, ...]
    counts: bool = True


@dataclass(frozen=True, eq=False)
class AnySlot:
    """Any slot of a group, row of a search, or letter (`group` is None), with its number and its row."""

    group: Group | None
    indices: Terms
    number: Term
    row: AnyRow

    @property
    def given(self) -> list[Term]:
        return list(self.row.facts)

    @property
    def name(self) -> str:
        return "a letter" if self.group is None else self.group.name


class Space:
    """All letters and slots of a system."""

    def __init__(self, system: System, arithmetic: Arithmetic) -> None:
        self.system, self.arithmetic = system, arithmetic
        self.groups = sorted(system.groups, key=lambda group: group is system.answer_group)
        self.searches = [search for group in self.groups for search in _searches(group)]
        self.sides: dict[Group, list[Term]] = {}
        for group in (*self.groups, *self.searches):
            if any((over.first.names | over.last.names) - {"N"} for over in group.ranges):
                raise ObligationFailed(f"the ranges of {group.name} depend on its other indices")
            self.sides[group] = [self.of(over.last) - self.of(over.first) for over in group.ranges]
        self.first = self._counted((*self.groups, *self.searches))
        """How many numbers come before a group."""
        self.start = self._counted((*self.searches, *self.groups))
        """How many rows come before it."""
        self.rows = arithmetic.N
        for group in self.sides:
            self.rows = self.rows + self.size(group)

    def _counted(self, groups: Sequence[Group]) -> dict[Group, Term]:
        """Letters, and the groups before each."""
        found: dict[Group, Term] = {}
        total = self.arithmetic.N
        for group in groups:
            found[group] = total
            total = total + self.size(group)
        return found

    def of(self, expression: Expression, indices: Terms | None = None) -> Term:
        """The value of an index expression."""
        return self.arithmetic.term_of(expression, {"N": self.arithmetic.N, **(indices or {})})

    def size(self, group: Group) -> Term:
        return _product(self.sides[group], self.arithmetic)

    def place(self, group: Group, places: Sequence[Term]) -> Term:
        """Where the slot at these places is in its group."""
        total = self.arithmetic.z3.IntVal(0)
        for place, over, side in zip(places, group.ranges, self.sides[group], strict=True):
            total = total * side + (place - self.of(over.first))
        return total

    def number(self, group: Group, places: Sequence[Term]) -> Term:
        return self.first[group] + self.place(group, places)

    def row(self, group: Group, places: Sequence[Term]) -> Term:
        """The row of a slot: the answer, where it is one slot, changes places with the last of its group."""
        place, answers = self.place(group, places), self.system.answers
        if group is self.system.answer_group and not isinstance(answers, Slots) and len(answers) == 1:
            z3 = self.arithmetic.z3
            one = self.place(group, [self.of(part) for part in answers[0].indices])
            last = self.size(group) - 1
            place = z3.If(place == one, last, z3.If(place == last, one, place))
        return self.start[group] + place

    def any_letter(self) -> AnySlot:
        n = self.arithmetic.variable("letter")
        return AnySlot(None, {}, n, AnyRow(n, (n >= 0, n < self.arithmetic.N)))

    def any_slot(self, group: Group, divided: Sequence[tuple[str, str, int, int]] = ()) -> AnySlot:
        """`divided` are (dividend, divisor, d, e): the place by the sides from e on, and that by the sides from d to e.

        Dividends and divisors are named as the program of every N writes them.
        """
        arithmetic, sides = self.arithmetic, self.sides[group]
        digits = [arithmetic.variable(over.name) for over in group.ranges]
        indices = {over.name: digit + self.of(over.first) for over, digit in zip(group.ranges, digits, strict=True)}
        facts = [fact for digit, side in zip(digits, sides, strict=True) for fact in (digit >= 0, digit < side)]
        facts += list(self._products(digits, sides))
        places = list(indices.values())
        euclid = tuple(
            Euclid(
                dividend,
                divisor,
                _combined(digits[:d], sides[:d], arithmetic),
                _combined(digits[d:e], sides[d:e], arithmetic),
            )
            for dividend, divisor, d, e in divided
        )
        row = AnyRow(self.row(group, places), tuple(facts), euclid)
        return AnySlot(group, indices, self.number(group, places), row)

    def _products(self, digits: list[Term], sides: list[Term]) -> Iterator[Term]:
        """Add a fact about a·b that the solver is slow to find: it grows with a, for b >= 1."""
        z3 = self.arithmetic.z3
        for d in range(1, len(digits)):
            ahead, limit = _combined(digits[:d], sides[:d], self.arithmetic), _product(sides[:d], self.arithmetic)
            for stride in {e: _product(sides[d:e], self.arithmetic) for e in range(d + 1, len(sides) + 1)}.values():
                yield stride >= 1
                yield z3.And(ahead * stride >= 0, ahead * stride <= limit * stride - stride)
                yield z3.Implies(ahead >= 1, ahead * stride >= stride)
                yield z3.Implies(ahead <= 0, ahead * stride == 0)

    def exists(self, group: Slots, places: Sequence[Term]) -> Term:
        z3 = self.arithmetic.z3
        inside = [
            z3.And(place >= self.of(over.first), place < self.of(over.last))
            for place, over in zip(places, group.ranges, strict=True)
        ]
        return z3.And(*inside) if inside else z3.BoolVal(True)

    def branches(self, slot: AnySlot) -> list[Branch]:
        """Every rule of a group, or the function of a search, and all that its reads may be."""
        z3, group = self.arithmetic.z3, slot.group
        assert group is not None
        found: list[Branch] = []
        before: list[Term] = []
        alternatives = _BranchesOfRead(self)
        if isinstance(group, Search):
            rules = [Case(group.over.reads, group.over.function, group.over.where)]
        else:
            rules = group.rules
        for case in rules:
            holds = z3.BoolVal(True) if case.where is None else self.of(case.where, slot.indices) != 0
            for chosen in product(*(alternatives.visit(read, slot) for read in case.reads)):
                conditions = [c for option in chosen for c in option.conditions]
                sure = [c for option in chosen for c in option.sure]
                operands = tuple(option.operands[0] for option in chosen)
                found.append(Branch(case, (*before, holds, *conditions), tuple(sure), operands))
            before.append(z3.Not(holds))
        if isinstance(group, Search) and group.over.where is not None:
            found.append(Branch(rules[0], tuple(before), (), (), counts=False))
        return found

    def covered(self, slot: AnySlot) -> Term:
        """Some rule holds."""
        z3, group = self.arithmetic.z3, slot.group
        assert isinstance(group, Slots)
        if any(case.where is None for case in group.rules):
            return z3.BoolVal(True)
        return z3.Or(*(self.of(case.where, slot.indices) != 0 for case in group.rules if case.where is not None))


class _BranchesOfRead(ReadVisitor[AnySlot, list[Branch]]):
    """What a read of a slot may be, as branches with one operand each."""

    def __init__(self, space: Space) -> None:
        self.space, self.z3 = space, space.arithmetic.z3

    def letter(self, read: Letter, context: AnySlot) -> list[Branch]:
        at = self.space.of(read.at, context.indices)
        there = self.z3.And(at >= 0, at < self.space.arithmetic.N)
        return self._existing(read, Operand(None, (at,), at, self.space.system.letters), there)

    def slot(self, read: Slot, context: AnySlot) -> list[Branch]:
        places = tuple(self.space.of(place, context.indices) for place in read.indices)
        operand = Operand(read.group, places, self.space.number(read.group, places), read.group.values)
        return self._existing(read, operand, self.space.exists(read.group, places))

    def _existing(self, read: Letter | Slot, operand: Operand, there: Term) -> list[Branch]:
        if not has_default(read):
            return [_option(operand, sure=(there,))]
        return [_option(operand, there), _option(_value(read.default), self.z3.Not(there))]

    def number(self, read: Number, context: AnySlot) -> list[Branch]:
        number = self.space.of(read.expression, context.indices)
        unlisted = [number != value for value in read.among]
        beyond = _option(_value(None), *unlisted, sure=(self.z3.BoolVal(False),))  # an error of the system, at this N
        return [*(_option(_value(value), number == value) for value in read.among), beyond]

    def choice(self, read: Choice, context: AnySlot) -> list[Branch]:
        holds = self.space.of(read.condition, context.indices) != 0
        parts = ((holds, read.then), (self.z3.Not(holds), read.otherwise))
        return [replace(o, conditions=(c, *o.conditions)) for c, part in parts for o in self.visit(part, context)]

    def mapped(self, read: Mapped, context: AnySlot) -> list[Branch]:
        return [
            replace(o, operands=(_mapped(o.operands[0], partial(apply_map, read)),))
            for o in self.visit(read.read, context)
        ]

    def each(self, read: Each, context: AnySlot) -> list[Branch]:
        return self.visit(read.read, context)  # the function of a search is given its members one by one

    def over(self, read: Over, context: AnySlot) -> list[Branch]:
        search = next((s for s in self.space.searches if s.over is read and s.group is context.group), None)
        if search is None:
            raise ObligationFailed(f"{read} is read inside another read, which the proof for every N does not support")
        return [_option(Operand(None, (), None, (), search=search))]


def _option(operand: Operand, *conditions: Term, sure: tuple[Term, ...] = ()) -> Branch:
    return Branch(Case((), lambda: None), conditions, sure, (operand,))


def _searches(group: Slots) -> Iterator[Search]:
    """The reads over a range, each of which all slots of the group have."""
    listed = [part for case in group.rules for part in read_parts(case.reads) if isinstance(part, Over)]
    if listed and len(group.rules) > 1:
        raise ObligationFailed(f"{group.name} reads over a range, and has several rules")
    if len(set(listed)) < len(listed):
        raise ObligationFailed(f"{group.name} reads twice over one range")
    for over in listed:
        yield Search(group, over)


def _value(value: Any) -> Operand:
    return Operand(None, (), None, (value,))


def _mapped(operand: Operand, function: Callable[[Any], Any]) -> Operand:
    inner = operand.mapping
    return replace(operand, mapping=lambda value: function(inner(value)))


def _product(sides: Sequence[Term], arithmetic: Arithmetic) -> Term:
    total = arithmetic.z3.IntVal(1)
    for side in sides:
        total = total * side
    return total


def _combined(digits: Sequence[Term], sides: Sequence[Term], arithmetic: Arithmetic) -> Term:
    total = arithmetic.z3.IntVal(0)
    for digit, side in zip(digits, sides, strict=True):
        total = total * side + digit
    return total


# SystemClaim: a family, the system of recurrences that it is compared with, and its slots for every N.


@dataclass(frozen=True, eq=False)
class BranchRows:
    """A branch of a group or search that occurs: any slot or row of it, and which rule and reads it has."""

    name: str
    slot: AnySlot
    branch: Branch
    same: tuple[tuple[int, int], ...] = ()
    """Operands that are one and the same row."""

    @property
    def given(self) -> list[Term]:
        return [*self.slot.given, *self.branch.conditions, *self.branch.sure]


@dataclass(eq=False)
class SystemClaim:
    """The family computes the system: for every N from its least on, and every word of that length."""

    system: System
    family: SystemFamily
    precision: Precision
    arithmetic: Arithmetic
    space: Space = field(init=False)
    places: list[BranchRows] = field(init=False, default_factory=list)
    finding: list[BranchRows] = field(init=False, default_factory=list)
    """The branches of searches."""

    def __post_init__(self) -> None:
        if self.family.system is not self.system:
            raise ObligationFailed("the family is that of another program")
        arithmetic, K = self.arithmetic, self.arithmetic.K
        arithmetic.facts.append(arithmetic.z3.Or(K == 1, K % 2 == 0))  # a power of two
        self.space = Space(self.system, arithmetic)

    @cached_property
    def slots(self) -> dict[Slots, AnySlot]:
        """Any slot of each group."""
        return {group: self._any(group) for group in self.space.groups}

    @cached_property
    def finders(self) -> dict[Search, AnySlot]:
        """Any row of each search."""
        return {search: self._any(search) for search in self.space.searches}

    def _any(self, group: Group) -> AnySlot:
        return self._elsewhere(self.space.any_slot(group, self._divided(group)))

    @cached_property
    def letter(self) -> AnySlot:
        return self._elsewhere(self.space.any_letter())

    def _elsewhere(self, slot: AnySlot) -> AnySlot:
        """With a name for what the rows of other groups divide by, of which nothing is known here."""
        unknown = [
            Euclid(dividend, divisor, self.arithmetic.variable("quotient"), self.arithmetic.variable("remainder"))
            for group in self.space.sides
            if group is not slot.group
            for dividend, divisor, *_ in self._divided(group)
        ]
        return replace(slot, row=replace(slot.row, euclid=(*slot.row.euclid, *unknown)))

    @property
    def everywhere(self) -> list[AnySlot]:
        return [self.letter, *self.slots.values(), *self.finders.values()]

    @cached_property
    def tokens(self) -> dict[Any, int]:
        """The symbol of every value."""
        vocabulary, names = self.family.design.vocabulary, symbol_names(self.system)
        found = {value: vocabulary.symbols.index(name) for value, name in names.items()}
        return {**found, False: vocabulary["reject"], True: vocabulary["accept"]}

    @property
    def mask(self) -> int:
        return self.family.design.vocabulary["mask"]

    def block(self, group: Group) -> Block:
        """Where the plan says that its rows are."""
        plan = self.family.plan
        if not isinstance(group, Search):
            return plan.blocks[group]
        found = next((f for f in plan.finders if f.group is group.group and f.over is group.over), None)
        if found is None:
            raise ObligationFailed(f"the family has no rows for {group.name}")
        return found.block

    def left_out(self, group: Group) -> list[Term]:
        """The conditions of the regions that the plan does not have, in any of its rows."""
        plan, slot = self.family.plan, self.finders[group] if isinstance(group, Search) else self.slots[group]
        return [
            self.space.of(where, slot.indices)
            for of, where in plan.left_out
            if (of is group if isinstance(of, Slots) else of.block is self.block(group))
        ]

    def _divided(self, group: Group) -> list[tuple[str, str, int, int]]:
        """The divisions by which a row finds its indices, as the family writes them."""
        found = []
        for dividend, divisor, d, e in self.divisions(group):
            found.append((str(dividend), str(divisor), d, e))
        return found

    def divisions(self, group: Group) -> Iterator[tuple[Expression, Expression, int, int]]:
        """(dividend, divisor, d, e): see `Space.any_slot`."""
        full = self.block(group).full
        assert full is not None, "a plan for every N consists of full boxes"
        box, place = full.box, full.offset
        last = len(box.sizes) - 1
        for d in range(last):
            stride = in_length(product_of(box.sizes[d + 1 :]))
            yield place, stride, d + 1, last + 1
            if d:
                yield place // stride, in_length(box.sizes[d]), d, d + 1
        if last > 0:
            yield place, in_length(box.sizes[last]), last, last + 1


def impossible(arithmetic: Arithmetic, given: Sequence[Term]) -> bool:
    """Return whether a quick check shows that this never holds; an obligation confirms it later."""
    solver = arithmetic.z3.Solver()
    solver.set("timeout", 2000)
    solver.add(*arithmetic.facts, *given)
    return solver.check() == arithmetic.z3.unsat
