"""The slots of a system of recurrences for every N: their rows, and the reads of their rules.

    a slot        has indices, each  first + digit  with  0 <= digit < side length, an expression in N its offset    in
    its group: the digits as in nested loops over the side lengths its number    is its offset plus the letters, groups
    and searches before its group, in this order its row       is its offset plus the letters, searches and groups
    before its group, in this order; if the answer is a
                  single slot, it is exchanged with the last slot of its group
    a search      is a read over a range: a group with a row for every slot that reads and every value of the range
    a branch      is a rule with one case for each of its reads: a letter, a slot, a value, or the result of a search

This is the same meaning that `recurrences/unfolding.py` defines for one N, with unknown numbers in place of N and the
indices. It is written from the system alone, and shares no other code with the compiler.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

from unmask.compilers.system_compiler import SystemFamily
from unmask.expressions import Expression, Range
from unmask.numerics.arithmetic import Precision
from unmask.programs.recurrences.slot_rows import Block, in_length, product_of_sizes
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
"""The values of indices, by name."""


@dataclass(frozen=True, eq=False)
class Search:
    """A read over a range by the slots of a group."""

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
    """One case of a read: a slot with these indices, a letter (`group` is None), or a value (`number` is None).

    For the result of a `search`, the other fields are empty.
    """

    group: Slots | None
    indices: tuple[Term, ...]
    number: Term | None
    read_values: tuple[Any, ...]
    """The values that the read can have."""
    mapping: Callable[[Any], Any] = lambda value: value
    search: Search | None = None


@dataclass(frozen=True, eq=False)
class Branch:
    """A rule, or the function of a search, under conditions, from which `required` must follow.

    A search does not call its function where its condition excludes the index; `is_called` is then False.
    """

    case: Case
    conditions: tuple[Term, ...]
    required: tuple[Term, ...]
    operands: tuple[Operand, ...]
    is_called: bool = True


@dataclass(frozen=True, eq=False)
class AnySlot:
    """Any slot of a group, row of a search, or letter (`group` is None), with its number and its row."""

    group: Group | None
    indices: Terms
    number: Term
    row: AnyRow

    @property
    def facts(self) -> list[Term]:
        return list(self.row.facts)

    @property
    def name(self) -> str:
        return "a letter" if self.group is None else self.group.name


class Space:
    """The numbers and rows of all letters, slots and searches of a system."""

    def __init__(self, system: System, arithmetic: Arithmetic) -> None:
        self.system, self.arithmetic = system, arithmetic
        self.groups = sorted(system.groups, key=lambda group: group is system.answer_group)
        self.searches = [search for group in self.groups for search in _searches(group)]
        self.side_lengths: dict[Group, list[Term]] = {}
        for group in (*self.groups, *self.searches):
            if any((over.first.names | over.last.names) - {"N"} for over in group.ranges):
                raise ObligationFailed(f"the ranges of {group.name} depend on its other indices")
            self.side_lengths[group] = [self.term(over.last) - self.term(over.first) for over in group.ranges]
        self.first_number = self._starts((*self.groups, *self.searches))
        """The number of the first slot of each group."""
        self.first_row = self._starts((*self.searches, *self.groups))
        """The row of the first slot of each group."""
        self.rows = arithmetic.N
        for group in self.side_lengths:
            self.rows = self.rows + self.size(group)

    def _starts(self, groups: Sequence[Group]) -> dict[Group, Term]:
        """Return for each group the number of letters and of slots in the groups before it."""
        counts: dict[Group, Term] = {}
        total = self.arithmetic.N
        for group in groups:
            counts[group] = total
            total = total + self.size(group)
        return counts

    def term(self, expression: Expression, indices: Terms | None = None) -> Term:
        """Return the value of an index expression."""
        return self.arithmetic.term_of(expression, {"N": self.arithmetic.N, **(indices or {})})

    def size(self, group: Group) -> Term:
        """Return the number of slots of a group."""
        return _term_product(self.side_lengths[group], self.arithmetic)

    def offset(self, group: Group, indices: Sequence[Term]) -> Term:
        """Return the offset of the slot with these indices in its group."""
        total = self.arithmetic.z3.IntVal(0)
        for index, over, side_length in zip(indices, group.ranges, self.side_lengths[group], strict=True):
            total = total * side_length + (index - self.term(over.first))
        return total

    def number(self, group: Group, indices: Sequence[Term]) -> Term:
        """Return the number of the slot with these indices."""
        return self.first_number[group] + self.offset(group, indices)

    def row(self, group: Group, indices: Sequence[Term]) -> Term:
        """Return the row of a slot; a single answer is exchanged with the last slot of its group."""
        offset, answers = self.offset(group, indices), self.system.answers
        if group is self.system.answer_group and not isinstance(answers, Slots) and len(answers) == 1:
            z3 = self.arithmetic.z3
            answer_offset = self.offset(group, [self.term(index) for index in answers[0].indices])
            last = self.size(group) - 1
            offset = z3.If(offset == answer_offset, last, z3.If(offset == last, answer_offset, offset))
        return self.first_row[group] + offset

    def any_letter(self) -> AnySlot:
        """Return any letter."""
        n = self.arithmetic.variable("letter")
        return AnySlot(None, {}, n, AnyRow(n, (n >= 0, n < self.arithmetic.N)))

    def any_slot(self, group: Group, divided: Sequence[tuple[str, str, int, int]] = ()) -> AnySlot:
        """Return any slot of a group, for which these divisions are known.

        A division (dividend, divisor, d, e) has as its quotient the digits before d, and as its remainder the digits
        from d to e. Dividends and divisors are written as in the program for every N.
        """
        arithmetic, side_lengths = self.arithmetic, self.side_lengths[group]
        digits = [arithmetic.variable(over.name) for over in group.ranges]
        indices = {over.name: digit + self.term(over.first) for over, digit in zip(group.ranges, digits, strict=True)}
        facts = [fact for digit, side in zip(digits, side_lengths, strict=True) for fact in (digit >= 0, digit < side)]
        facts += list(self._monotone_products(digits, side_lengths))
        indices_in_order = list(indices.values())
        euclid = tuple(
            Euclid(
                dividend,
                divisor,
                _mixed_radix(digits[:d], side_lengths[:d], arithmetic),
                _mixed_radix(digits[d:e], side_lengths[d:e], arithmetic),
            )
            for dividend, divisor, d, e in divided
        )
        row = AnyRow(self.row(group, indices_in_order), tuple(facts), euclid)
        return AnySlot(group, indices, self.number(group, indices_in_order), row)

    def _monotone_products(self, digits: list[Term], side_lengths: list[Term]) -> Iterator[Term]:
        """Yield facts about products that help the solver: a·b grows with a if b >= 1."""
        arithmetic, z3 = self.arithmetic, self.arithmetic.z3
        for d in range(1, len(digits)):
            higher = _mixed_radix(digits[:d], side_lengths[:d], arithmetic)
            limit = _term_product(side_lengths[:d], arithmetic)
            for e in range(d + 1, len(side_lengths) + 1):
                stride = _term_product(side_lengths[d:e], arithmetic)
                yield stride >= 1
                yield z3.And(higher * stride >= 0, higher * stride <= limit * stride - stride)
                yield z3.Implies(higher >= 1, higher * stride >= stride)
                yield z3.Implies(higher <= 0, higher * stride == 0)

    def exists(self, group: Slots, indices: Sequence[Term]) -> Term:
        """Return whether a group has a slot with these indices."""
        z3 = self.arithmetic.z3
        inside = [
            z3.And(index >= self.term(over.first), index < self.term(over.last))
            for index, over in zip(indices, group.ranges, strict=True)
        ]
        return z3.And(*inside) if inside else z3.BoolVal(True)

    def branches(self, slot: AnySlot) -> list[Branch]:
        """Return the branches of a group or search: every rule, or the function, with every case of its reads."""
        z3, group = self.arithmetic.z3, slot.group
        assert group is not None
        branches: list[Branch] = []
        no_earlier_rule: list[Term] = []
        alternatives = _BranchesOfRead(self)
        if isinstance(group, Search):
            rules = [Case(group.over.reads, group.over.function, group.over.where)]
        else:
            rules = group.rules
        for case in rules:
            holds = z3.BoolVal(True) if case.where is None else self.term(case.where, slot.indices) != 0
            for read_cases in product(*(alternatives.visit(read, slot) for read in case.reads)):
                conditions = [condition for read_case in read_cases for condition in read_case.conditions]
                required = [fact for read_case in read_cases for fact in read_case.required]
                operands = tuple(read_case.operands[0] for read_case in read_cases)
                branches.append(Branch(case, (*no_earlier_rule, holds, *conditions), tuple(required), operands))
            no_earlier_rule.append(z3.Not(holds))
        if isinstance(group, Search) and group.over.where is not None:
            branches.append(Branch(rules[0], tuple(no_earlier_rule), (), (), is_called=False))
        return branches

    def covered(self, slot: AnySlot) -> Term:
        """Return whether some rule applies to a slot."""
        z3, group = self.arithmetic.z3, slot.group
        assert isinstance(group, Slots)
        if any(case.where is None for case in group.rules):
            return z3.BoolVal(True)
        return z3.Or(*(self.term(case.where, slot.indices) != 0 for case in group.rules if case.where is not None))


class _BranchesOfRead(ReadVisitor[AnySlot, list[Branch]]):
    """The cases of a read by a slot, as branches with one operand each."""

    def __init__(self, space: Space) -> None:
        self.space, self.z3 = space, space.arithmetic.z3

    def letter(self, read: Letter, context: AnySlot) -> list[Branch]:
        index = self.space.term(read.at, context.indices)
        exists = self.z3.And(index >= 0, index < self.space.arithmetic.N)
        return self._existing(read, Operand(None, (index,), index, self.space.system.letters), exists)

    def slot(self, read: Slot, context: AnySlot) -> list[Branch]:
        indices = tuple(self.space.term(index, context.indices) for index in read.indices)
        operand = Operand(read.group, indices, self.space.number(read.group, indices), read.group.values)
        return self._existing(read, operand, self.space.exists(read.group, indices))

    def _existing(self, read: Letter | Slot, operand: Operand, exists: Term) -> list[Branch]:
        if not has_default(read):
            return [_option(operand, required=(exists,))]
        return [_option(operand, exists), _option(_value(read.default), self.z3.Not(exists))]

    def number(self, read: Number, context: AnySlot) -> list[Branch]:
        number = self.space.term(read.expression, context.indices)
        unlisted = [number != value for value in read.among]
        error = _option(
            _value(None), *unlisted, required=(self.z3.BoolVal(False),)
        )  # the system has an error at this N
        return [*(_option(_value(value), number == value) for value in read.among), error]

    def choice(self, read: Choice, context: AnySlot) -> list[Branch]:
        holds = self.space.term(read.condition, context.indices) != 0
        cases = ((holds, read.then), (self.z3.Not(holds), read.otherwise))
        return [
            replace(branch, conditions=(condition, *branch.conditions))
            for condition, read_case in cases
            for branch in self.visit(read_case, context)
        ]

    def mapped(self, read: Mapped, context: AnySlot) -> list[Branch]:
        return [
            replace(branch, operands=(_mapped(branch.operands[0], partial(apply_map, read)),))
            for branch in self.visit(read.read, context)
        ]

    def each(self, read: Each, context: AnySlot) -> list[Branch]:
        return self.visit(read.read, context)  # the function of a search is called with the members one by one

    def over(self, read: Over, context: AnySlot) -> list[Branch]:
        search = next((s for s in self.space.searches if s.over is read and s.group is context.group), None)
        if search is None:
            raise ObligationFailed(f"{read} is read inside another read, which the proof for every N does not support")
        return [_option(Operand(None, (), None, (), search=search))]


def _option(operand: Operand, *conditions: Term, required: tuple[Term, ...] = ()) -> Branch:
    return Branch(Case((), lambda: None), conditions, required, (operand,))


def _searches(group: Slots) -> Iterator[Search]:
    """Yield the reads over a range by the slots of a group, which must have a single rule then."""
    listed = [read for case in group.rules for read in read_parts(case.reads) if isinstance(read, Over)]
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


def _term_product(factors: Sequence[Term], arithmetic: Arithmetic) -> Term:
    total = arithmetic.z3.IntVal(1)
    for factor in factors:
        total = total * factor
    return total


def _mixed_radix(digits: Sequence[Term], side_lengths: Sequence[Term], arithmetic: Arithmetic) -> Term:
    total = arithmetic.z3.IntVal(0)
    for digit, side_length in zip(digits, side_lengths, strict=True):
        total = total * side_length + digit
    return total


# SystemClaim: a family, and the system of recurrences that it is claimed to compute, with its slots for every N.


@dataclass(frozen=True, eq=False)
class BranchRows:
    """Any slot or row to which a branch applies; only branches that occur for some N are kept."""

    name: str
    slot: AnySlot
    branch: Branch
    equal_operands: tuple[tuple[int, int], ...] = ()
    """Pairs of operands that are the same row."""

    @property
    def facts(self) -> list[Term]:
        return [*self.slot.facts, *self.branch.conditions, *self.branch.required]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.branch.operands


@dataclass(eq=False)
class SystemClaim:
    """The claim that a family computes a system, for every N from its least on."""

    system: System
    family: SystemFamily
    precision: Precision
    arithmetic: Arithmetic
    space: Space = field(init=False)
    slot_branches: list[BranchRows] = field(init=False, default_factory=list)
    search_branches: list[BranchRows] = field(init=False, default_factory=list)
    """The branches of searches that occur."""

    def __post_init__(self) -> None:
        if self.family.system is not self.system:
            raise ObligationFailed("the family is that of another program")
        arithmetic, K = self.arithmetic, self.arithmetic.K
        arithmetic.facts.append(arithmetic.z3.Or(K == 1, K % 2 == 0))  # K is a power of two
        self.space = Space(self.system, arithmetic)

    @cached_property
    def slots(self) -> dict[Slots, AnySlot]:
        """Return any slot of each group."""
        return {group: self._any_slot(group) for group in self.space.groups}

    @cached_property
    def search_rows(self) -> dict[Search, AnySlot]:
        """Return any row of each search."""
        return {search: self._any_slot(search) for search in self.space.searches}

    def _any_slot(self, group: Group) -> AnySlot:
        return self._with_unknown_divisions(self.space.any_slot(group, self._named_divisions(group)))

    @cached_property
    def letter(self) -> AnySlot:
        return self._with_unknown_divisions(self.space.any_letter())

    def _with_unknown_divisions(self, slot: AnySlot) -> AnySlot:
        """Add the divisions of other groups, about which nothing is known in this row."""
        unknown = [
            Euclid(dividend, divisor, self.arithmetic.variable("quotient"), self.arithmetic.variable("remainder"))
            for group in self.space.side_lengths
            if group is not slot.group
            for dividend, divisor, *_ in self._named_divisions(group)
        ]
        return replace(slot, row=replace(slot.row, euclid=(*slot.row.euclid, *unknown)))

    @property
    def all_rows(self) -> list[AnySlot]:
        return [self.letter, *self.slots.values(), *self.search_rows.values()]

    @cached_property
    def tokens(self) -> dict[Any, int]:
        """Return the symbol of every value."""
        vocabulary, names = self.family.design.vocabulary, symbol_names(self.system)
        tokens = {value: vocabulary.symbols.index(name) for value, name in names.items()}
        return {**tokens, False: vocabulary["reject"], True: vocabulary["accept"]}

    @property
    def mask(self) -> int:
        return self.family.design.vocabulary["mask"]

    def block(self, group: Group) -> Block:
        """Return the block of rows that the family's plan has for a group."""
        plan = self.family.plan
        if not isinstance(group, Search):
            return plan.blocks[group]
        finder = next((f for f in plan.finders if f.group is group.group and f.over is group.over), None)
        if finder is None:
            raise ObligationFailed(f"the family has no rows for {group.name}")
        return finder.block

    def omitted_regions(self, group: Group) -> list[Term]:
        """Return the conditions of the regions of a group for which the plan has no rows."""
        plan, slot = self.family.plan, self.search_rows[group] if isinstance(group, Search) else self.slots[group]
        return [
            self.space.term(where, slot.indices)
            for of, where in plan.left_out
            if (of is group if isinstance(of, Slots) else of.block is self.block(group))
        ]

    def _named_divisions(self, group: Group) -> list[tuple[str, str, int, int]]:
        """Return the divisions by which a row computes its indices, as the family writes them."""
        return [(str(dividend), str(divisor), d, e) for dividend, divisor, d, e in self.divisions(group)]

    def divisions(self, group: Group) -> Iterator[tuple[Expression, Expression, int, int]]:
        """Yield (dividend, divisor, d, e), as in `Space.any_slot`."""
        full = self.block(group).full
        assert full is not None, "a plan for every N consists of full boxes"
        box, offset = full.box, full.offset
        last = len(box.sizes) - 1
        for d in range(last):
            stride = in_length(product_of_sizes(box.sizes[d + 1 :]))
            yield offset, stride, d + 1, last + 1
            if d:
                yield offset // stride, in_length(box.sizes[d]), d, d + 1
        if last > 0:
            yield offset, in_length(box.sizes[last]), last, last + 1


def is_impossible(arithmetic: Arithmetic, facts: Sequence[Term]) -> bool:
    """Return whether a quick check shows that these facts never hold; an obligation confirms the result later."""
    solver = arithmetic.z3.Solver()
    solver.set("timeout", 2000)
    solver.add(*arithmetic.facts, *facts)
    return solver.check() == arithmetic.z3.unsat
