"""Slots of a system of recurrences, for every N: where they stand, and what their rules read there.

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
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from unmask.recurrences.expressions import Expression, Range
from unmask.recurrences.interpreter import mapped
from unmask.recurrences.slots import (
    Case,
    Choice,
    Each,
    Letter,
    Mapped,
    Number,
    Over,
    Read,
    Slot,
    Slots,
    has_default,
)
from unmask.recurrences.system import System, read_parts
from unmask.verification.families.obligations.arithmetic import BINARY, COMPARED, Arithmetic, Euclid, Row, Term
from unmask.verification.families.obligations.ledger import Open

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

    Where it is what a `search` finds, nothing else is said of it here.
    """

    group: Slots | None
    places: tuple[Term, ...]
    number: Term | None
    held: tuple[Any, ...]
    """What may stand there."""
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
    row: Row

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
                raise Open(f"the ranges of {group.name} depend on its other indices")
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
        arithmetic = self.arithmetic
        known = {"N": arithmetic.N, **(indices or {})}
        return _term(expression, known, arithmetic)

    def size(self, group: Group) -> Term:
        return _product(self.sides[group], self.arithmetic)

    def place(self, group: Group, places: Sequence[Term]) -> Term:
        """Where the slot at these places stands in its group."""
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
            one = self.place(group, [self.of(part) for part in answers[0].places])
            last = self.size(group) - 1
            place = z3.If(place == one, last, z3.If(place == last, one, place))
        return self.start[group] + place

    def any_letter(self) -> AnySlot:
        n = self.arithmetic.variable("letter")
        return AnySlot(None, {}, n, Row(n, (n >= 0, n < self.arithmetic.N)))

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
        row = Row(self.row(group, places), tuple(facts), euclid)
        return AnySlot(group, indices, self.number(group, places), row)

    def _products(self, digits: list[Term], sides: list[Term]) -> Iterator[Term]:
        """Of a·b it is said what the solver is slow to see: it grows with a, for b >= 1."""
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
        if isinstance(group, Search):
            rules = [Case(group.over.reads, group.over.function, group.over.where)]
        else:
            rules = group.rules
        for case in rules:
            holds = z3.BoolVal(True) if case.where is None else self.of(case.where, slot.indices) != 0
            for chosen in product(*(self._alternatives(read, slot) for read in case.reads)):
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

    def _alternatives(self, read: Read, slot: AnySlot) -> list[Branch]:
        """What a read may be, as branches with one operand."""
        z3, none = self.arithmetic.z3, Case((), lambda: None)

        def option(operand: Operand, *conditions: Term, sure: tuple[Term, ...] = ()) -> Branch:
            return Branch(none, conditions, sure, (operand,))

        if isinstance(read, Letter | Slot):
            if isinstance(read, Letter):
                at = self.of(read.at, slot.indices)
                operand = Operand(None, (at,), at, self.system.letters)
                there = z3.And(at >= 0, at < self.arithmetic.N)
            else:
                places = tuple(self.of(place, slot.indices) for place in read.places)
                operand = Operand(read.group, places, self.number(read.group, places), read.group.values)
                there = self.exists(read.group, places)
            if not has_default(read):
                return [option(operand, sure=(there,))]
            return [option(operand, there), option(_value(read.default), z3.Not(there))]
        if isinstance(read, Number):
            number = self.of(read.expression, slot.indices)
            unlisted = [number != value for value in read.among]
            beyond = option(_value(None), *unlisted, sure=(z3.BoolVal(False),))  # an error of the system, at this N
            return [*(option(_value(value), number == value) for value in read.among), beyond]
        if isinstance(read, Choice):
            holds = self.of(read.condition, slot.indices) != 0
            parts = ((holds, read.then), (z3.Not(holds), read.otherwise))
            return [
                replace(o, conditions=(c, *o.conditions)) for c, part in parts for o in self._alternatives(part, slot)
            ]
        if isinstance(read, Mapped):
            return [
                replace(o, operands=(_mapped(o.operands[0], partial(mapped, read)),))
                for o in self._alternatives(read.read, slot)
            ]
        if isinstance(read, Each):
            return self._alternatives(read.read, slot)  # the function of a search is given its members one by one
        assert isinstance(read, Over)
        search = next((s for s in self.searches if s.over is read and s.group is slot.group), None)
        if search is None:
            raise Open(f"{read} is read inside another read, which the proof for every N does not support")
        return [option(Operand(None, (), None, (), search=search))]


def _searches(group: Slots) -> Iterator[Search]:
    """The reads over a range, each of which all slots of the group have."""
    listed = [part for case in group.rules for part in read_parts(case.reads) if isinstance(part, Over)]
    if listed and len(group.rules) > 1:
        raise Open(f"{group.name} reads over a range, and has several rules")
    if len(set(listed)) < len(listed):
        raise Open(f"{group.name} reads twice over one range")
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


def _term(expression: Expression, known: Terms, arithmetic: Arithmetic) -> Term:
    """An index expression; x div y and x mod y are 0 for y = 0, and else only by numbers, or where x is near y."""
    z3, operator = arithmetic.z3, expression.operator
    if operator == "constant":
        return z3.IntVal(expression.value)
    if operator == "index":
        return known[expression.name]
    parts = [_term(part, known, arithmetic) for part in expression.operands]
    if operator == "if":
        return z3.If(parts[0] != 0, parts[1], parts[2])
    if operator in ("power of two below", "log2 above") and str(expression.operands[0]) == "N":
        return arithmetic.K if operator == "power of two below" else arithmetic.T
    if operator in BINARY:
        return BINARY[operator](*parts)
    if operator in COMPARED:
        return z3.If(COMPARED[operator](*parts), z3.IntVal(1), z3.IntVal(0))
    if operator == "≠":
        return z3.If(parts[0] != parts[1], z3.IntVal(1), z3.IntVal(0))
    if operator in ("div", "mod"):
        divisor = expression.operands[1]
        if divisor.operator == "constant" and divisor.value > 0:
            return parts[0] / parts[1] if operator == "div" else parts[0] % parts[1]
        if operator == "mod":
            return arithmetic.remainder(*parts)
    raise Open(f"{expression} is not an expression that the solver supports")
