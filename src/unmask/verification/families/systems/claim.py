"""SystemClaim: a family, the system of recurrences that it is held against, and its slots for every N."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from unmask.numerics.precision import Precision
from unmask.programs.compilers.every_length import SystemFamily
from unmask.programs.language.positions import Expression as Formula
from unmask.programs.recurrences.every import EveryBlock, every_block, in_length
from unmask.programs.recurrences.every import product as product_of
from unmask.recurrences.naming import symbol_names
from unmask.recurrences.slots import Slots
from unmask.recurrences.system import System
from unmask.verification.families.obligations.arithmetic import Arithmetic, Euclid, Term
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.systems.slots import AnySlot, Branch, Group, Search, Space


@dataclass(frozen=True, eq=False)
class Place:
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
    places: list[Place] = field(init=False, default_factory=list)
    finding: list[Place] = field(init=False, default_factory=list)
    """The branches of searches."""

    def __post_init__(self) -> None:
        if self.family.system is not self.system:
            raise Open("the family is that of another program")
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

    def block(self, group: Group) -> EveryBlock:
        """Where the plan says that its rows stand."""
        plan = self.family.plan
        if not isinstance(group, Search):
            return plan.stretches[group]
        found = next((f for f in plan.finders if f.group is group.group and f.over is group.over), None)
        if found is None:
            raise Open(f"the family has no rows for {group.name}")
        return every_block(found)

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

    def divisions(self, group: Group) -> Iterator[tuple[Formula, Formula, int, int]]:
        """(dividend, divisor, d, e): see `Space.any_slot`."""
        box, place = self.block(group).box, self.block(group).place
        last = len(box.sizes) - 1
        for d in range(last):
            stride = in_length(product_of(box.sizes[d + 1 :]))
            yield place, stride, d + 1, last + 1
            if d:
                yield place // stride, in_length(box.sizes[d]), d, d + 1
        if last > 0:
            yield place, in_length(box.sizes[last]), last, last + 1


def impossible(arithmetic: Arithmetic, given: Sequence[Term]) -> bool:
    """Is it known at once that this never holds? What is said to be so is asked again, as an obligation."""
    solver = arithmetic.z3.Solver()
    solver.set("timeout", 2000)
    solver.add(*arithmetic.facts, *given)
    return solver.check() == arithmetic.z3.unsat
