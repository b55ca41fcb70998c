"""System → why no slot waits forever: a number for every slot that is larger than that of every slot it reads.

    by steps    rank(slot) >= 1 + rank(read),  1 <= rank <= T                                     chains and grids
    by halves   2 <= m(slot) <= 2^⌈log2 N⌉,  0 <= k(group),  ⌈log2 N⌉ + k <= T                    trees
                m(read) >= 2·m(slot) - 1  if both have the same k
                m(read) >= m(slot)        if the read one has a smaller k

The numbers rank and m are affine in the indices, N, and the expressions in N that end ranges; k is a constant of each
group, the number of levels before or after a tree. They are found at a few lengths by the solver, and are then shown
for every N.

By induction a slot is written by step rank; or, with halves, by step ⌈log2 N⌉ - ⌈log2 m⌉ + 1 + k. If k is the same,
this step is later than that of a read slot because for m >= 2 the least power of two that is at least 2m - 1 is twice
that of m. If k is larger, it is later because ⌈log2 m⌉ is not larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unmask.programs.compilers.every_length import bounds_of
from unmask.programs.language.positions import Expression as Formula
from unmask.recurrences.expressions import Expression, N, constant
from unmask.recurrences.slots import Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Unfolding
from unmask.verification.families.obligations.arithmetic import Arithmetic, Term
from unmask.verification.families.systems.slots import Space

LENGTHS = 5
MOST_READS = 3000
LARGEST = 8
"""No coefficient is beyond it."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """A number for every slot: a sum of the indices and of expressions in N, with whole numbers for each group."""

    halves: bool
    parts: tuple[Expression, ...]
    coefficients: dict[Slots, list[int]]
    levels: dict[Slots, int]
    """k of each group, with halves."""

    def of(self, group: Slots, places: Sequence[Term], space: Space) -> Term:
        """The rank or m of the slot at these places."""
        values = [*places, *(space.of(part) for part in self.parts)]
        return sum(
            (c * value for c, value in zip(self.coefficients[group], values, strict=True) if c),
            start=space.arithmetic.z3.IntVal(0),
        )

    def bounded(self, group: Slots, rank: Term, steps: Term, arithmetic: Arithmetic) -> Term:
        """What must hold of a slot alone."""
        z3 = arithmetic.z3
        if self.halves:
            N, K = arithmetic.N, arithmetic.K
            in_time = steps >= arithmetic.T + self.levels[group]
            return z3.And(rank >= 2, rank <= z3.If(K < N, 2 * K, K), in_time)
        return z3.And(rank >= 1, rank <= steps)

    def earlier(self, group: Slots, rank: Term, read_group: Slots, read: Term, z3: Any) -> Term:
        """What must hold of a slot and one that it reads."""
        if not self.halves:
            return read + 1 <= rank
        own, other = self.levels[group], self.levels[read_group]
        return z3.BoolVal(False) if other > own else read >= rank if other < own else read >= 2 * rank - 1


def find_ranks(system: System, steps: Formula, least: int, arithmetic: Arithmetic) -> Ranks | None:
    """Return ranks that are right at a few lengths, or None."""
    seen = [Unfolding(system, least + k) for k in range(LENGTHS)]
    parts = (constant(1), N, *bounds_of(system.groups))
    for halves in (False, True):
        found = _solved(system, steps, seen, parts, arithmetic.z3, halves=halves)
        if found is not None:
            return found
    return None


def _solved(
    system: System, steps: Formula, seen: Sequence[Unfolding], parts: tuple[Expression, ...], z3: Any, *, halves: bool
) -> Ranks | None:
    unknown = {
        group: [z3.Int(f"{group.name} {k}") for k in range(len(group.ranges) + len(parts))] for group in system.groups
    }
    levels = {group: z3.Int(f"{group.name} level") for group in system.groups}
    solver = z3.Solver()
    solver.set("timeout", 5000)
    for listed in unknown.values():
        solver.add(*(z3.And(c >= -LARGEST, c <= LARGEST) for c in listed))
    for level in levels.values():
        solver.add(level >= 0, level <= (LARGEST if halves else 0))
    reads = 0
    for unfolding in seen:
        length = unfolding.length
        values = [int(part.evaluate({"N": length})) for part in parts]
        most, log = steps.at(length), (length - 1).bit_length()

        def rank(key, unfolding: Unfolding = unfolding, values: list[int] = values) -> Any:
            listed = unknown[unfolding.groups[key[0]]]
            return z3.Sum([c * v for c, v in zip(listed, (*key[1], *values), strict=True) if v] or [z3.IntVal(0)])

        for key in unfolding.keys:
            own, level = rank(key), levels[unfolding.groups[key[0]]]
            if halves:
                solver.add(own >= 2, own <= 1 << log, log + level <= most)
            else:
                solver.add(own >= 1, own <= most)
            for read in dict.fromkeys(unfolding.read_slots(key)):
                reads += 1
                other, below = rank(read), levels[unfolding.groups[read[0]]]
                if halves:
                    solver.add(below <= level, other >= z3.If(below == level, 2 * own - 1, own))
                else:
                    solver.add(other + 1 <= own)
        if reads > MOST_READS:
            break
    if solver.check() != z3.sat:
        return None
    model = solver.model()

    def number(term: Any) -> int:
        return model.eval(term, model_completion=True).as_long()

    found = {group: [number(c) for c in listed] for group, listed in unknown.items()}
    return Ranks(halves, parts, found, {group: number(level) for group, level in levels.items()})
