"""System × kind → Family: one plan for every N from some length on, where the positions of a system are formulas.

A few short lengths are looked at. The family starts at the first from which on the depth is a sum of expressions in N
and all regions that occur do so at every length, or else as few occur as may be. `compile` takes the family's model
at a length that it fits, and the one of that length alone elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.errors import UnmaskError
from unmask.programs.compilers.family import Design, Family
from unmask.programs.language.positions import Expression as Formula
from unmask.programs.language.positions import N as LENGTH
from unmask.programs.language.positions import constant, log2_above
from unmask.programs.language.program import Program
from unmask.programs.recurrences.affine import affine_fit
from unmask.programs.recurrences.every import EveryPlan, in_length
from unmask.programs.recurrences.formulas import NoFormula
from unmask.programs.recurrences.symbols import Symbols
from unmask.recurrences.slots import Over, Slots
from unmask.recurrences.system import System, cases_of, read_parts
from unmask.recurrences.unfolding import Unfolding
from unmask.weights.model import Kind

LOOKED_AT = 13
"""Lengths 0 … 12 are looked at."""
LATEST = 7
"""A family starts at this length at the latest."""

MOST_LOOKED_AT = 1 << 13
"""So many slots and rows a length may have that is looked at: four indices of N have too many, and no family."""

Unfold = Callable[[int], Unfolding]
Described = Callable[[EveryPlan, int], dict[str, Any]]
"""What the folder of one length keeps of the problem."""


@dataclass(frozen=True, eq=False)
class SystemFamily(Family):
    """A family whose models are those of a plan of every N."""

    plan: EveryPlan
    system: System
    described: "Described"

    def problem_at(self, length: int) -> dict[str, Any]:
        return self.described(self.plan, length)

    def fits(self, unfolding: Unfolding) -> bool:
        """Is the model of this length the family's?"""
        steps, length = self.design.steps, unfolding.length
        assert isinstance(steps, Formula)
        if length < self.least or steps.at(length) < max(unfolding.depth.values()):
            return False
        return self.plan.fits(self.plan.rows_at(unfolding))


def system_family(
    system: System,
    kind: Kind,
    symbols: Symbols,
    unfold: Unfold,
    programs: Callable[[EveryPlan], dict[str, Program]],
    *,
    most_added: int,
    described: "Described",
) -> SystemFamily | None:
    """None where what positions say is no formula, or no formula was found for the depth."""
    if system.edits or not _boxes(system):
        return None
    seen = _valid(unfold)
    found: list[tuple[EveryPlan, Formula, int]] = []
    for least in range(LATEST):
        listed = [u for u in seen if u.length >= least]
        if len(listed) < LOOKED_AT - least or (steps := _steps(system, listed)) is None:
            continue
        try:
            plan = EveryPlan(system, symbols, listed, most_added=most_added)
            if not all(plan.fits(plan.rows_at(u)) for u in listed):
                continue
        except NoFormula:
            continue
        found.append((plan, steps, least))
        if all(map(plan.has_every_region, listed)):
            found = found[-1:]
            break
    if not found:
        return None
    plan, steps, least = min(found, key=lambda each: len(each[0].regions))
    try:
        design = Design(programs(plan), symbols.vocabulary, steps, plan.slots)
    except NoFormula:
        return None
    return SystemFamily(kind, least, design, None, {}, plan, system, described)


def _boxes(system: System) -> bool:
    """Do all ranges, those of groups and those that are read over, depend on N alone?"""
    ranges = [over for group in system.groups for over in group.ranges]
    for _, case in cases_of(system):
        ranges += [part.range for part in read_parts(case.reads) if isinstance(part, Over)]
    return not any((over.first.names | over.last.names) - {"N"} for over in ranges)


def _valid(unfold: Unfold) -> list[Unfolding]:
    found = []
    for length in range(LOOKED_AT):
        try:
            found.append(unfold(length))
        except UnmaskError:
            continue
        if found[-1].size > MOST_LOOKED_AT:
            return []
    return found


def _steps(system: System, seen: Sequence[Unfolding]) -> Formula | None:
    """The depth, as a sum of expressions in N that the ranges name."""
    lengths = [u.length for u in seen]
    parts = [constant(1), LENGTH, *map(in_length, bounds_of(system.groups)), log2_above(LENGTH)]
    coefficients = affine_fit([[part.at(length) for length in lengths] for part in parts], [_depth(u) for u in seen])
    if coefficients is None:
        return None
    total: Formula | None = None
    for coefficient, part in zip(coefficients[1:], parts[1:], strict=True):
        if coefficient:
            term = part if coefficient == 1 else part * coefficient
            total = term if total is None else total + term
    if total is None:
        return constant(coefficients[0])
    more = coefficients[0]
    return total + more if more > 0 else total - -more if more else total


def bounds_of(groups: Sequence[Slots]) -> list[Any]:
    """The expressions in N, other than N and numbers, that end or begin a range; each once."""
    found = {}
    for group in groups:
        for over in group.ranges:
            for end in (over.first, over.last):
                if end.operator not in ("constant", "index"):
                    found.setdefault(str(end), end)
    return list(found.values())


def _depth(unfolding: Unfolding) -> int:
    return max(unfolding.depth.values())


def why_no_family(system: System, kind: Kind) -> str:
    """What stands in the way, as far as it can be said at once."""
    if system.edits:
        return "its slots are rewritten in every step"
    if not _boxes(system):
        return "a range depends on another index"
    return f"the positions of a {kind} are not formulas in n and N, or no formula was found for its depth"
