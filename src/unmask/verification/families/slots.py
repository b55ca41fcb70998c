"""Slots of a system of recurrences, for every N: where they stand, and what their rules read there.

    a slot        indices, each  first + digit,  0 <= digit < side, the sides expressions in N
    its place     digits by sides, as in nested loops;  its number  the rows before its group + the place
    its row       its number; the slot of the answer and the last of its group change places
    a branch      one of the rules, and what every read of it is: a letter, a slot, or a value

This is the meaning of a system as `recurrences/unfolding.py` gives it for one N, with numbers that are unknown. It is
written from the system, and shares nothing with the compiler but the system.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from unmask.recurrences.expressions import Expression
from unmask.recurrences.slots import Case, Choice, Letter, Mapped, Number, Read, Slot, Slots, has_default
from unmask.recurrences.system import System
from unmask.verification.families.arithmetic import BINARY, COMPARED, Arithmetic, Euclid, Row, Term
from unmask.verification.families.ledger import Open

Terms = Mapping[str, Term]
"""N and indices, by name."""


@dataclass(frozen=True, eq=False)
class Operand:
    """What a read is: a letter (`group` is None), a slot at these places, or a value where `number` is None."""

    group: Slots | None
    places: tuple[Term, ...]
    number: Term | None
    held: tuple[Any, ...]
    """What may stand there."""
    mapping: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, eq=False)
class Branch:
    """A rule, under conditions; `sure` must follow from them."""

    case: Case
    conditions: tuple[Term, ...]
    sure: tuple[Term, ...]
    operands: tuple[Operand, ...]


@dataclass(frozen=True, eq=False)
class AnySlot:
    """Any slot of a group, or any letter (`group` is None), with its number and its row."""

    group: Slots | None
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
        self.first: dict[Slots, Term] = {}
        self.sides: dict[Slots, list[Term]] = {}
        self.rows: Term = arithmetic.N
        for group in self.groups:
            if any((over.first.names | over.last.names) - {"N"} for over in group.ranges):
                raise Open(f"the ranges of {group.name} depend on its other indices")
            self.first[group] = self.rows
            self.sides[group] = [self.of(over.last) - self.of(over.first) for over in group.ranges]
            self.rows = self.rows + _product(self.sides[group], arithmetic)

    def of(self, expression: Expression, indices: Terms | None = None) -> Term:
        """The value of an index expression."""
        arithmetic = self.arithmetic
        known = {"N": arithmetic.N, **(indices or {})}
        return _term(expression, known, arithmetic)

    def size(self, group: Slots) -> Term:
        return _product(self.sides[group], self.arithmetic)

    def place(self, group: Slots, places: Sequence[Term]) -> Term:
        """Where the slot at these places stands in its group."""
        total = self.arithmetic.z3.IntVal(0)
        for place, over, side in zip(places, group.ranges, self.sides[group], strict=True):
            total = total * side + (place - self.of(over.first))
        return total

    def number(self, group: Slots, places: Sequence[Term]) -> Term:
        return self.first[group] + self.place(group, places)

    def row(self, group: Slots, places: Sequence[Term]) -> Term:
        """The row of a slot: the answer, where it is one slot, changes places with the last of its group."""
        place, answers = self.place(group, places), self.system.answers
        if group is self.system.answer_group and not isinstance(answers, Slots) and len(answers) == 1:
            z3 = self.arithmetic.z3
            one = self.place(group, [self.of(part) for part in answers[0].places])
            last = self.size(group) - 1
            place = z3.If(place == one, last, z3.If(place == last, one, place))
        return self.first[group] + place

    def any_letter(self) -> AnySlot:
        n = self.arithmetic.variable("letter")
        return AnySlot(None, {}, n, Row(n, (n >= 0, n < self.arithmetic.N)))

    def any_slot(self, group: Slots, divided: Sequence[tuple[str, str, int, int]] = ()) -> AnySlot:
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
        """Every rule of a group, and all that its reads may be."""
        z3, group = self.arithmetic.z3, slot.group
        assert group is not None
        found: list[Branch] = []
        before: list[Term] = []
        for case in group.rules:
            holds = z3.BoolVal(True) if case.where is None else self.of(case.where, slot.indices) != 0
            for chosen in product(*(self._alternatives(read, slot) for read in case.reads)):
                conditions = [c for option in chosen for c in option.conditions]
                sure = [c for option in chosen for c in option.sure]
                operands = tuple(option.operands[0] for option in chosen)
                found.append(Branch(case, (*before, holds, *conditions), tuple(sure), operands))
            before.append(z3.Not(holds))
        return found

    def covered(self, slot: AnySlot) -> Term:
        """Some rule holds."""
        z3, group = self.arithmetic.z3, slot.group
        assert group is not None
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
            listed = z3.Or(*(number == value for value in read.among))
            return [option(_value(value), number == value, sure=(listed,)) for value in read.among]
        if isinstance(read, Choice):
            holds = self.of(read.condition, slot.indices) != 0
            parts = ((holds, read.then), (z3.Not(holds), read.otherwise))
            return [
                replace(o, conditions=(c, *o.conditions)) for c, part in parts for o in self._alternatives(part, slot)
            ]
        if isinstance(read, Mapped):
            return [
                replace(o, operands=(_mapped(o.operands[0], read.function),))
                for o in self._alternatives(read.read, slot)
            ]
        raise Open(f"{read} reads over a range, which is not looked at for every N")


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
    raise Open(f"{expression} is not an expression that the solver is given")
