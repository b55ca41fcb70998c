"""SystemClaim: a family, the system of recurrences that it is held against, and its slots for every N."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from unmask.numerics.precision import Precision
from unmask.programs.compilers.every_length import SystemFamily
from unmask.programs.language.positions import Expression as Formula
from unmask.programs.recurrences.every import in_length
from unmask.programs.recurrences.every import product as product_of
from unmask.recurrences.naming import symbol_names
from unmask.recurrences.slots import Slots
from unmask.recurrences.system import System
from unmask.verification.families.arithmetic import Arithmetic, Euclid, Term
from unmask.verification.families.ledger import Open
from unmask.verification.families.slots import AnySlot, Branch, Space


@dataclass(frozen=True, eq=False)
class Place:
    """A branch of a group that occurs: any slot of it, and which rule and reads it has."""

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

    def __post_init__(self) -> None:
        if self.family.system is not self.system:
            raise Open("the family is that of another program")
        arithmetic, K = self.arithmetic, self.arithmetic.K
        arithmetic.facts.append(arithmetic.z3.Or(K == 1, K % 2 == 0))  # a power of two
        self.space = Space(self.system, arithmetic)

    @cached_property
    def slots(self) -> dict[Slots, AnySlot]:
        """Any slot of each group."""
        return {group: self._elsewhere(self.space.any_slot(group, self._divided(group))) for group in self.space.groups}

    @cached_property
    def letter(self) -> AnySlot:
        return self._elsewhere(self.space.any_letter())

    def _elsewhere(self, slot: AnySlot) -> AnySlot:
        """With a name for what the rows of other groups divide by, of which nothing is known here."""
        unknown = [
            Euclid(dividend, divisor, self.arithmetic.variable("quotient"), self.arithmetic.variable("remainder"))
            for group in self.space.groups
            if group is not slot.group
            for dividend, divisor, *_ in self._divided(group)
        ]
        return replace(slot, row=replace(slot.row, euclid=(*slot.row.euclid, *unknown)))

    @property
    def everywhere(self) -> list[AnySlot]:
        return [self.letter, *self.slots.values()]

    @cached_property
    def tokens(self) -> dict[Any, int]:
        """The symbol of every value."""
        vocabulary, names = self.family.design.vocabulary, symbol_names(self.system)
        found = {value: vocabulary.symbols.index(name) for value, name in names.items()}
        return {**found, False: vocabulary["reject"], True: vocabulary["accept"]}

    @property
    def mask(self) -> int:
        return self.family.design.vocabulary["mask"]

    def _divided(self, group: Slots) -> list[tuple[str, str, int, int]]:
        """The divisions by which a row finds its indices, as the family writes them."""
        found = []
        for dividend, divisor, d, e in self.divisions(group):
            found.append((str(dividend), str(divisor), d, e))
        return found

    def divisions(self, group: Slots) -> Iterator[tuple[Formula, Formula, int, int]]:
        """(dividend, divisor, d, e): see `Space.any_slot`."""
        box, place = self.family.plan.sides[group], self.family.plan.stretches[group].place
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
