"""Systems of recurrences by masked diffusion (mdm, smdm, topk), for every N from the family's least on.

By induction on the steps: a slot that is written holds what the system says, because it was masked and all that it
reads was written (table of the planner), its heads read exactly these rows (codes), and what it takes is its rule of
what they hold (table of the predictor). By induction on the ranks (`Ranks`) it is written by step rank <= T. So
after T steps every slot holds its value, and the answers are in the last rows.

Rows fall into branches (`system_slots`): one rule each, and every read is a letter, a slot or a value. Which flags
occur in a branch is asked of the solver; per branch there is one finite table.

A slot that reads over a range counts as reading all that the rows of this range read. Which rows it sees, and what it
can learn about them, however many they are: `system_rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.compilers.model_families import ModelFamily
from unmask.compilers.system_compiler import bounds_of
from unmask.expressions import Expression, N, constant, log2_above, power_of_two_below
from unmask.recurrences.slots import Slots
from unmask.recurrences.system import System
from unmask.recurrences.unfolding import Key, Unfolding
from unmask.verification.lengths.head_reads import require_copies
from unmask.verification.lengths.obligations import Arithmetic, ObligationFailed, Term
from unmask.verification.lengths.system_rows import SystemTransformer
from unmask.verification.lengths.system_slots import AnySlot, BranchRows, Group, Search, Space, SystemClaim, impossible

# System → why no slot waits forever: a number for every slot that is larger than that of every slot it reads.
#
#     by steps    rank(slot) >= 1 + rank(read),  1 <= rank <= T                                     chains and grids
#     by halves   2 <= m(slot) <= 2^⌈log2 N⌉,  0 <= k(group),  ⌈log2 N⌉ + k <= T                    trees
#                 m(read) >= 2·m(slot) - 1  if both have the same k
#                 m(read) >= m(slot)        if the read one has a smaller k
#
# The numbers rank and m are affine in the indices, N, and the expressions in N that end ranges; k is a constant of each
# group, the number of levels before or after a tree. They are found at a few lengths by the solver, and are then shown
# for every N.
#
# By induction a slot is written by step rank; or, with halves, by step ⌈log2 N⌉ - ⌈log2 m⌉ + 1 + k. If k is the same,
# this step is later than that of a read slot because for m >= 2 the least power of two that is at least 2m - 1 is twice
# that of m. If k is larger, it is later because ⌈log2 m⌉ is not larger.


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


def find_ranks(system: System, steps: Expression, least: int, arithmetic: Arithmetic) -> Ranks | None:
    """Return ranks that are right at a few lengths, or None."""
    seen = [Unfolding(system, least + k) for k in range(LENGTHS)]
    parts = (constant(1), N, *bounds_of(system.groups))
    for halves in (False, True):
        found = _solved(system, steps, seen, parts, arithmetic.z3, halves=halves)
        if found is not None:
            return found
    return None


def _solved(
    system: System,
    steps: Expression,
    seen: Sequence[Unfolding],
    parts: tuple[Expression, ...],
    z3: Any,
    *,
    halves: bool,
) -> Ranks | None:
    """Return ranks that satisfy the conditions of these lengths; None if the solver finds none."""
    search = _RankSearch(system, parts, z3, halves=halves)
    reads = 0
    for unfolding in seen:
        reads += search.add_length(unfolding, steps.at(unfolding.length))
        if reads > MOST_READS:
            break
    return search.solution()


class _RankSearch:
    """Unknown coefficients of the ranks of every group, and the conditions on them."""

    def __init__(self, system: System, parts: tuple[Expression, ...], z3: Any, *, halves: bool) -> None:
        self._z3, self._parts, self._halves = z3, parts, halves
        self._coefficients = {
            group: [z3.Int(f"{group.name} {k}") for k in range(len(group.ranges) + len(parts))]
            for group in system.groups
        }
        self._levels = {group: z3.Int(f"{group.name} level") for group in system.groups}
        self._solver = z3.Solver()
        self._solver.set("timeout", 5000)
        for listed in self._coefficients.values():
            self._solver.add(*(z3.And(c >= -LARGEST, c <= LARGEST) for c in listed))
        for level in self._levels.values():
            self._solver.add(level >= 0, level <= (LARGEST if halves else 0))

    def add_length(self, unfolding: Unfolding, most: int) -> int:
        """Require the ranks of one length to be at most `most` and to follow its reads; return how many it has."""
        values = [int(part.evaluate({"N": unfolding.length})) for part in self._parts]
        log, reads = (unfolding.length - 1).bit_length(), 0

        def rank_and_level(key: Key) -> tuple[Any, Any]:
            group = unfolding.groups[key[0]]
            terms = zip(self._coefficients[group], (*key[1], *values), strict=True)
            return self._z3.Sum([c * v for c, v in terms if v] or [self._z3.IntVal(0)]), self._levels[group]

        for key in unfolding.keys:
            own = rank_and_level(key)
            self._require_bounds(*own, most, log)
            for read in dict.fromkeys(unfolding.read_slots(key)):
                self._require_earlier(*rank_and_level(read), *own)
                reads += 1
        return reads

    def _require_bounds(self, rank: Any, level: Any, most: int, log: int) -> None:
        if self._halves:
            self._solver.add(rank >= 2, rank <= 1 << log, log + level <= most)
        else:
            self._solver.add(rank >= 1, rank <= most)

    def _require_earlier(self, read_rank: Any, read_level: Any, rank: Any, level: Any) -> None:
        """A slot is written in a later step than what it reads; with halves, ranks of a tree fall by one half."""
        if self._halves:
            less = self._z3.If(read_level == level, 2 * rank - 1, rank)
            self._solver.add(read_level <= level, read_rank >= less)
        else:
            self._solver.add(read_rank + 1 <= rank)

    def solution(self) -> Ranks | None:
        if self._solver.check() != self._z3.sat:
            return None
        model = self._solver.model()

        def number(term: Any) -> int:
            return model.eval(term, model_completion=True).as_long()

        found = {group: [number(c) for c in listed] for group, listed in self._coefficients.items()}
        levels = {group: number(level) for group, level in self._levels.items()}
        return Ranks(self._halves, self._parts, found, levels)


NO_RANKS = (
    "no order was found in which the slots are written within the steps, the same for every N. It is found for chains "
    "and grids, in which the step of a slot is a sum of its indices and N, and for trees in which slot i reads the "
    "slots or letters near 2·i. A group before or after a tree may add a step. Number the slots in one of these ways, "
    "and put slots that read in different ways into different groups"
)
"""The reason of a verdict, with what to change."""


def prove_system(claim: SystemClaim) -> None:
    """All obligations."""
    arithmetic, kind = claim.arithmetic, claim.family.kind
    _frame(claim)
    _meaning(claim)
    _ranks(claim)
    require_copies(claim.precision, arithmetic)
    if kind == "topk":
        model = SystemTransformer(claim, "model")
        model.settle("rows: a slot takes the value of its rule once what it reads is written", model.takes_its_value)
        return
    predictor, planner = SystemTransformer(claim, "predictor"), SystemTransformer(claim, "planner")
    predictor.settle("rows: a slot takes the value of its rule", predictor.has_its_value)
    planner.settle("rows: the planner takes a masked slot once what it reads is written", planner.chooses)


def _frame(claim: SystemClaim) -> None:
    """Rows and slots, the answers last, and the plan that `compile` compares at every N."""
    arithmetic, space, design = claim.arithmetic, claim.space, claim.family.design
    z3, start = arithmetic.z3, arithmetic.row()
    sides = [side >= 0 for group in space.groups for side in space.sides[group]]
    arithmetic.require("frame: no range ends before it begins", z3.And(*sides) if sides else z3.BoolVal(True))
    for search in space.searches:
        arithmetic.require(f"frame: the range of {search.name} is not empty", space.sides[search][-1] >= 1)
    if design.block is not None:
        raise ObligationFailed("the family writes in blocks")
    arithmetic.require("frame: slots", arithmetic.at(design.padding, start) == space.rows - arithmetic.N)
    for name, program in design.programs.items():
        if program.every is None:
            raise ObligationFailed(f"the family has no program of every N called {name}")
        if program.attention != "unmasked" or program.loop is not None or program.noise is not None:
            raise ObligationFailed(f"the {name} is not an unmasked transformer without loop and noise")
        arithmetic.require(f"frame: rows of the {name}", arithmetic.at(program.every, start) == space.rows)
    answers, group = space.system.answers, space.system.answer_group
    if isinstance(answers, Slots):
        slot = claim.slots[group]
        last = space.start[group] + space.size(group) == space.rows
        arithmetic.require(
            "frame: the answers stand in the last rows, in their order",
            z3.And(last, slot.row.n - space.start[group] == slot.number - space.first[group], space.size(group) >= 1),
            slot.given,
        )
    else:
        for k, answer in enumerate(reversed(answers)):
            places = [space.of(part) for part in answer.indices]
            there = z3.And(space.exists(group, places), space.row(group, places) == space.rows - 1 - k)
            arithmetic.require(f"frame: the answer {answer} stands in row {-1 - k}", there)
    for group, slot in (*claim.slots.items(), *claim.finders.items()):
        _same_plan(claim, group, slot)


def _same_plan(claim: SystemClaim, group: Group, slot: AnySlot) -> None:
    """The plan of every N is that of each N: `compile` writes the family's folder."""
    arithmetic, space = claim.arithmetic, claim.space
    z3, block = arithmetic.z3, claim.block(group)
    for dividend, divisor, d, e in claim.divisions(group):
        known = next(k for k in slot.row.euclid if (k.dividend, k.divisor) == (str(dividend), str(divisor)))
        by = arithmetic.at(divisor, slot.row)
        whole = arithmetic.at(dividend, slot.row) == known.quotient * by + known.remainder
        arithmetic.require(
            f"frame: {group.name}, the indices {d} to {e} by division",
            z3.And(whole, known.remainder >= 0, known.remainder < by),
            slot.given,
        )
    same = [arithmetic.at(block.formulas[name], slot.row) == index for name, index in slot.indices.items()]
    same += [arithmetic.at(block.first, slot.row) == space.start[group]]
    same += [arithmetic.at(block.count, slot.row) == space.size(group)]
    arithmetic.require(f"frame: the rows of {group.name} are those of its slots", z3.And(*same), slot.given)
    never = [where == 0 for where in claim.left_out(group)]
    if never:
        arithmetic.require(f"frame: no region of {group.name} is left out", z3.And(*never), slot.given)


def _meaning(claim: SystemClaim) -> None:
    """Every slot has a rule, what that reads exists, and which branches there are."""
    arithmetic, space = claim.arithmetic, claim.space
    for group, slot in claim.slots.items():
        arithmetic.require(f"meaning: every slot of {group.name} has a rule", space.covered(slot), slot.given)
        claim.places += _occurring(claim, slot)
    for finder in claim.finders.values():
        claim.finding += _occurring(claim, finder)


def _occurring(claim: SystemClaim, slot: AnySlot) -> list[BranchRows]:
    """The branches of a group or search, but those that never occur."""
    arithmetic, space = claim.arithmetic, claim.space
    z3, found, never = arithmetic.z3, [], []
    for branch in space.branches(slot):
        place = BranchRows(f"{slot.name} ({1 + len(found)})", slot, branch)
        conditions = z3.And(*branch.conditions)
        if impossible(arithmetic, [*slot.given, conditions]):
            never.append(z3.Not(conditions))
            continue
        if branch.sure:
            given = [*slot.given, *branch.conditions]
            arithmetic.require(f"meaning: what {place.name} reads exists", z3.And(*branch.sure), given)
        found.append(replace(place, same=_same_rows(claim, place)))
    if never:
        arithmetic.require(f"meaning: {slot.name} has no other branch", z3.And(*never), slot.given)
    return found


def _same_rows(claim: SystemClaim, place: BranchRows) -> tuple[tuple[int, int], ...]:
    """Operands that always are the same letter or slot."""
    arithmetic, numbers = claim.arithmetic, {}
    found: list[tuple[int, int]] = []
    for k, operand in enumerate(place.branch.operands):
        if operand.number is None:
            continue
        first = next((f for f in numbers if impossible(arithmetic, [*place.given, numbers[f] != operand.number])), k)
        numbers.setdefault(first, operand.number)
        found += [(first, k)] if first < k else []
    if found:
        equal = [numbers[first] == place.branch.operands[k].number for first, k in found]
        name = f"meaning: what {place.name} reads twice"
        arithmetic.require(name, arithmetic.z3.And(*equal), place.given)
    return tuple(found)


def _ranks(claim: SystemClaim) -> None:
    arithmetic, space = claim.arithmetic, claim.space
    steps = claim.family.design.steps
    limit = arithmetic.at(steps, arithmetic.row())
    found: list[Ranks] = []

    def search() -> str:
        ranks = find_ranks(claim.system, steps, claim.family.least, arithmetic)
        if ranks is None:
            short = tuple(claim.family.least + k for k in range(3))
            raise ObligationFailed(NO_RANKS, short)
        found.append(ranks)
        return "by halves" if ranks.halves else "by steps"

    arithmetic.ledger.settle("layout: ranks of the slots", "search", search)
    ranks = found[0]
    for group, slot in claim.slots.items():
        rank = ranks.of(group, list(slot.indices.values()), space)
        bounded = ranks.bounded(group, rank, limit, arithmetic)
        arithmetic.require(f"layout: {slot.name} is within the steps", bounded, slot.given)
    for place in (*claim.places, *claim.finding):
        group = place.slot.group
        group = group.group if isinstance(group, Search) else group
        reads = [o for o in place.branch.operands if o.group is not None]
        if isinstance(group, Slots) and reads:
            rank = ranks.of(group, [place.slot.indices[over.name] for over in group.ranges], space)
            earlier = [
                ranks.earlier(group, rank, o.group, ranks.of(o.group, o.places, space), arithmetic.z3)
                for o in reads
                if o.group
            ]
            name = f"layout: {place.name} reads what is written earlier"
            arithmetic.require(name, arithmetic.z3.And(*earlier), place.given)


def system_statement(subject: str, what: str, family: ModelFamily | None) -> str:
    """What is claimed."""
    price = ""
    if family is not None:
        steps, slots = (_readable(size) for size in (family.design.steps, family.design.padding))
        price = f", in {steps} {'step' if steps == '1' else 'steps'} with {slots} slots from N = {family.least} on"
    return f"{subject} gives {what} for every word of length N, if there are words of this length{price}."


def _readable(size: Expression) -> str:
    """A formula with names for powers and logarithms."""
    K = str(power_of_two_below(N))
    named = str(size).replace(str(log2_above(N)), "⌈log2 N⌉")
    named = named.replace(f"(if [{K} < N] then 2·{K} else {K})", "2^⌈log2 N⌉").replace(K, "2^⌊log2 N⌋")
    return named.replace(" - 2 + 1", " - 1").replace(" - 1 + 1", "")
