"""Systems of recurrences by masked diffusion (mdm, smdm, topk), for every N from the family's least on.

By induction on the steps, every written slot has the value that the system defines: when it was written, it was masked
and all slots that it reads were written (table of the planner), its heads read exactly these rows (codes), and its
symbol is the result of its rule for their values (table of the predictor). By induction on the ranks (`Ranks`), it is
written by step rank <= T. So after T steps every slot has its value, and the answers are in the last rows.

Every row belongs to a branch (`system_slots`), with one rule and one case for each read. The solver decides which flags
occur in a branch, and each branch has one finite table.

A slot that reads over a range counts as reading all that the rows of this range read. `system_rows` proves which rows
it sees and what it can compute from them, for any number of rows.
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
from unmask.verification.lengths.system_slots import (
    AnySlot,
    BranchRows,
    Group,
    Search,
    Space,
    SystemClaim,
    is_impossible,
)

# System → ranks, so that no slot waits forever: the number of a slot is larger than that of every slot it reads.
#
#     by steps    rank(slot) >= 1 + rank(read),  1 <= rank <= T                                     chains and grids
#     by halves   2 <= m(slot) <= 2^⌈log2 N⌉,  0 <= k(group),  ⌈log2 N⌉ + k <= T                    trees
#                 m(read) >= 2·m(slot) - 1  if both have the same k
#                 m(read) >= m(slot)        if the slot that is read has a smaller k
#
# The numbers rank and m are affine in the indices, in N, and in the expressions in N that end ranges; k is a constant
# of each group, the number of levels before or after a tree. The solver finds them at a few lengths; then they are
# proved for every N.
#
# By induction a slot is written by step rank or, with halves, by step ⌈log2 N⌉ - ⌈log2 m⌉ + 1 + k. If both slots have
# the same k, this step is later than that of the slot that is read, because for m >= 2 the least power of two that is
# at least 2m - 1 is twice that of m. If k is larger, it is later because ⌈log2 m⌉ is not larger.


FITTED_LENGTHS = 5  # lengths from which ranks are guessed
MOST_READS = 3000
LARGEST_COEFFICIENT = 8
"""The largest absolute value of a coefficient, and the largest level, in the ranks that are tried."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """A number for every slot: a sum of its indices and of expressions in N, with integer coefficients per group."""

    halves: bool
    expressions: tuple[Expression, ...]
    coefficients: dict[Slots, list[int]]
    levels: dict[Slots, int]
    """The number k of each group, for ranks by halves."""

    def rank_of(self, group: Slots, indices: Sequence[Term], space: Space) -> Term:
        """Return the rank, or m, of the slot with these indices."""
        values = [*indices, *(space.term(expression) for expression in self.expressions)]
        return sum(
            (c * value for c, value in zip(self.coefficients[group], values, strict=True) if c),
            start=space.arithmetic.z3.IntVal(0),
        )

    def bounded(self, group: Slots, rank: Term, steps: Term, arithmetic: Arithmetic) -> Term:
        """Return the condition on the rank of a slot."""
        z3 = arithmetic.z3
        if self.halves:
            N, K = arithmetic.N, arithmetic.K
            in_time = steps >= arithmetic.T + self.levels[group]
            return z3.And(rank >= 2, rank <= z3.If(K < N, 2 * K, K), in_time)
        return z3.And(rank >= 1, rank <= steps)

    def earlier(self, group: Slots, rank: Term, read_group: Slots, read_rank: Term, z3: Any) -> Term:
        """Return the condition on the ranks of a slot and of a slot that it reads."""
        if not self.halves:
            return read_rank + 1 <= rank
        level, read_level = self.levels[group], self.levels[read_group]
        if read_level > level:
            return z3.BoolVal(False)
        return read_rank >= (rank if read_level < level else 2 * rank - 1)


def find_ranks(system: System, steps: Expression, least: int, arithmetic: Arithmetic) -> Ranks | None:
    """Return ranks that satisfy the conditions at a few lengths, or None."""
    unfoldings = [Unfolding(system, least + k) for k in range(FITTED_LENGTHS)]
    expressions = (constant(1), N, *bounds_of(system.groups))
    for halves in (False, True):
        ranks = _solved(system, steps, unfoldings, expressions, arithmetic.z3, halves=halves)
        if ranks is not None:
            return ranks
    return None


def _solved(
    system: System,
    steps: Expression,
    unfoldings: Sequence[Unfolding],
    expressions: tuple[Expression, ...],
    z3: Any,
    *,
    halves: bool,
) -> Ranks | None:
    """Return ranks that satisfy the conditions of these lengths; None if the solver finds none."""
    search = _RankSearch(system, expressions, z3, halves=halves)
    reads = 0
    for unfolding in unfoldings:
        reads += search.add_length(unfolding, steps.at(unfolding.length))
        if reads > MOST_READS:
            break
    return search.solution()


class _RankSearch:
    """Unknown coefficients of the ranks of every group, and the conditions on them."""

    def __init__(self, system: System, expressions: tuple[Expression, ...], z3: Any, *, halves: bool) -> None:
        self._z3, self._expressions, self._halves = z3, expressions, halves
        self._coefficients = {
            group: [z3.Int(f"{group.name} {k}") for k in range(len(group.ranges) + len(expressions))]
            for group in system.groups
        }
        self._levels = {group: z3.Int(f"{group.name} level") for group in system.groups}
        self._solver = z3.Solver()
        self._solver.set("timeout", 5000)
        for coefficients in self._coefficients.values():
            self._solver.add(*(z3.And(c >= -LARGEST_COEFFICIENT, c <= LARGEST_COEFFICIENT) for c in coefficients))
        for level in self._levels.values():
            self._solver.add(level >= 0, level <= (LARGEST_COEFFICIENT if halves else 0))

    def add_length(self, unfolding: Unfolding, most: int) -> int:
        """Require the ranks of one length to be at most `most` and to follow its reads; return how many it has."""
        values = [int(expression.evaluate({"N": unfolding.length})) for expression in self._expressions]
        log, reads = (unfolding.length - 1).bit_length(), 0

        def rank_and_level(key: Key) -> tuple[Any, Any]:
            group = unfolding.groups[key[0]]
            terms = zip(self._coefficients[group], (*key[1], *values), strict=True)
            return self._z3.Sum([c * v for c, v in terms if v] or [self._z3.IntVal(0)]), self._levels[group]

        for key in unfolding.keys:
            rank_and_level_of_key = rank_and_level(key)
            self._require_bounds(*rank_and_level_of_key, most, log)
            for read_key in dict.fromkeys(unfolding.read_slots(key)):
                self._require_earlier(*rank_and_level(read_key), *rank_and_level_of_key)
                reads += 1
        return reads

    def _require_bounds(self, rank: Any, level: Any, most: int, log: int) -> None:
        if self._halves:
            self._solver.add(rank >= 2, rank <= 1 << log, log + level <= most)
        else:
            self._solver.add(rank >= 1, rank <= most)

    def _require_earlier(self, read_rank: Any, read_level: Any, rank: Any, level: Any) -> None:
        """Require that a slot is written in a later step than a slot that it reads."""
        if self._halves:
            less = self._z3.If(read_level == level, 2 * rank - 1, rank)
            self._solver.add(read_level <= level, read_rank >= less)
        else:
            self._solver.add(read_rank + 1 <= rank)

    def solution(self) -> Ranks | None:
        """Return ranks that satisfy all conditions; None if the solver finds none."""
        if self._solver.check() != self._z3.sat:
            return None
        model = self._solver.model()

        def number(term: Any) -> int:
            return model.eval(term, model_completion=True).as_long()

        coefficients = {group: [number(c) for c in terms] for group, terms in self._coefficients.items()}
        levels = {group: number(level) for group, level in self._levels.items()}
        return Ranks(self._halves, self._expressions, coefficients, levels)


NO_RANKS = (
    "no order was found in which the slots are written within the steps, the same for every N. It is found for chains "
    "and grids, in which the step of a slot is a sum of its indices and N, and for trees in which slot i reads the "
    "slots or letters near 2·i. A group before or after a tree may add a step. Number the slots in one of these ways, "
    "and put slots that read in different ways into different groups"
)
"""The reason of a verdict, with advice."""


def prove_system(claim: SystemClaim) -> None:
    """Settle all obligations of a system."""
    arithmetic, kind = claim.arithmetic, claim.family.kind
    _require_frame(claim)
    _require_meaning(claim)
    _require_ranks(claim)
    require_copies(claim.precision, arithmetic)
    if kind == "topk":
        model = SystemTransformer(claim, "model")
        model.settle(
            "rows: a slot takes the value of its rule once what it reads is written", model.check_choices_and_values
        )
        return
    predictor, planner = SystemTransformer(claim, "predictor"), SystemTransformer(claim, "planner")
    predictor.settle("rows: a slot takes the value of its rule", predictor.check_values)
    planner.settle("rows: the planner takes a masked slot once what it reads is written", planner.check_choices)


def _require_frame(claim: SystemClaim) -> None:
    """Settle the numbers of slots and rows, the rows of the answers, and the plan that `compile` checks at every N."""
    arithmetic, space, design = claim.arithmetic, claim.space, claim.family.design
    z3, start = arithmetic.z3, arithmetic.row()
    lengths_not_negative = [side_length >= 0 for group in space.groups for side_length in space.side_lengths[group]]
    arithmetic.require(
        "frame: no range ends before it begins",
        z3.And(*lengths_not_negative) if lengths_not_negative else z3.BoolVal(True),
    )
    for search in space.searches:
        arithmetic.require(f"frame: the range of {search.name} is not empty", space.side_lengths[search][-1] >= 1)
    if design.block is not None:
        raise ObligationFailed("the family writes in blocks")
    arithmetic.require("frame: slots", arithmetic.at(design.padding, start) == space.rows - arithmetic.N)
    for name, program in design.programs.items():
        if program.rows_in_length is None:
            raise ObligationFailed(f"the family has no program of every N called {name}")
        if program.attention != "unmasked" or program.loop is not None or program.noise is not None:
            raise ObligationFailed(f"the {name} is not an unmasked transformer without loop and noise")
        arithmetic.require(f"frame: rows of the {name}", arithmetic.at(program.rows_in_length, start) == space.rows)
    answers, group = space.system.answers, space.system.answer_group
    if isinstance(answers, Slots):
        slot = claim.slots[group]
        last = space.first_row[group] + space.size(group) == space.rows
        in_order = slot.row.n - space.first_row[group] == slot.number - space.first_number[group]
        arithmetic.require(
            "frame: the answers stand in the last rows, in their order",
            z3.And(last, in_order, space.size(group) >= 1),
            slot.facts,
        )
    else:
        for k, answer in enumerate(reversed(answers)):
            places = [space.term(index) for index in answer.indices]
            is_in_row = z3.And(space.exists(group, places), space.row(group, places) == space.rows - 1 - k)
            arithmetic.require(f"frame: the answer {answer} stands in row {-1 - k}", is_in_row)
    for group, slot in (*claim.slots.items(), *claim.search_rows.items()):
        _require_plan(claim, group, slot)


def _require_plan(claim: SystemClaim, group: Group, slot: AnySlot) -> None:
    """Settle that the plan for every N is the one for each N: then `compile` writes the family's models."""
    arithmetic, space = claim.arithmetic, claim.space
    z3, block = arithmetic.z3, claim.block(group)
    for dividend, divisor, d, e in claim.divisions(group):
        named = next(k for k in slot.row.euclid if (k.dividend, k.divisor) == (str(dividend), str(divisor)))
        by = arithmetic.at(divisor, slot.row)
        is_quotient = arithmetic.at(dividend, slot.row) == named.quotient * by + named.remainder
        arithmetic.require(
            f"frame: {group.name}, the indices {d} to {e} by division",
            z3.And(is_quotient, named.remainder >= 0, named.remainder < by),
            slot.facts,
        )
    equal = [arithmetic.at(block.formulas[name], slot.row) == index for name, index in slot.indices.items()]
    equal += [arithmetic.at(block.first, slot.row) == space.first_row[group]]
    equal += [arithmetic.at(block.count, slot.row) == space.size(group)]
    arithmetic.require(f"frame: the rows of {group.name} are those of its slots", z3.And(*equal), slot.facts)
    excluded = [where == 0 for where in claim.omitted_regions(group)]
    if excluded:
        arithmetic.require(f"frame: no region of {group.name} is left out", z3.And(*excluded), slot.facts)


def _require_meaning(claim: SystemClaim) -> None:
    """Settle that every slot has a rule and that its reads exist; collect the branches that occur."""
    arithmetic, space = claim.arithmetic, claim.space
    for group, slot in claim.slots.items():
        arithmetic.require(f"meaning: every slot of {group.name} has a rule", space.covered(slot), slot.facts)
        claim.slot_branches += _occurring_branches(claim, slot)
    for finder in claim.search_rows.values():
        claim.search_branches += _occurring_branches(claim, finder)


def _occurring_branches(claim: SystemClaim, slot: AnySlot) -> list[BranchRows]:
    """Return the branches of a group or search, without those that never occur."""
    arithmetic, space = claim.arithmetic, claim.space
    z3, occurring, excluded = arithmetic.z3, [], []
    for branch in space.branches(slot):
        branch_rows = BranchRows(f"{slot.name} ({1 + len(occurring)})", slot, branch)
        conditions = z3.And(*branch.conditions)
        if is_impossible(arithmetic, [*slot.facts, conditions]):
            excluded.append(z3.Not(conditions))
            continue
        if branch.required:
            facts = [*slot.facts, *branch.conditions]
            arithmetic.require(f"meaning: what {branch_rows.name} reads exists", z3.And(*branch.required), facts)
        occurring.append(replace(branch_rows, equal_operands=_equal_operands(claim, branch_rows)))
    if excluded:
        arithmetic.require(f"meaning: {slot.name} has no other branch", z3.And(*excluded), slot.facts)
    return occurring


def _equal_operands(claim: SystemClaim, branch_rows: BranchRows) -> tuple[tuple[int, int], ...]:
    """Return the pairs of operands of a branch that are always the same letter or slot."""
    arithmetic, numbers = claim.arithmetic, {}
    pairs: list[tuple[int, int]] = []
    for k, operand in enumerate(branch_rows.operands):
        if operand.number is None:
            continue
        differs = {other: [*branch_rows.facts, numbers[other] != operand.number] for other in numbers}
        first = next((other for other in numbers if is_impossible(arithmetic, differs[other])), k)
        numbers.setdefault(first, operand.number)
        pairs += [(first, k)] if first < k else []
    if pairs:
        equal = [numbers[first] == branch_rows.operands[k].number for first, k in pairs]
        name = f"meaning: what {branch_rows.name} reads twice"
        arithmetic.require(name, arithmetic.z3.And(*equal), branch_rows.facts)
    return tuple(pairs)


def _require_ranks(claim: SystemClaim) -> None:
    """Settle that the slots have ranks, so that each is written within the steps."""
    arithmetic, space = claim.arithmetic, claim.space
    steps = claim.family.design.steps
    limit = arithmetic.at(steps, arithmetic.row())

    def search() -> tuple[Ranks, str]:
        ranks = find_ranks(claim.system, steps, claim.family.least, arithmetic)
        if ranks is None:
            first_lengths = tuple(claim.family.least + k for k in range(3))
            raise ObligationFailed(NO_RANKS, first_lengths)
        return ranks, "by halves" if ranks.halves else "by steps"

    ranks = arithmetic.ledger.compute("layout: ranks of the slots", "search", search)
    for group, slot in claim.slots.items():
        rank = ranks.rank_of(group, list(slot.indices.values()), space)
        bounded = ranks.bounded(group, rank, limit, arithmetic)
        arithmetic.require(f"layout: {slot.name} is within the steps", bounded, slot.facts)
    for branch_rows in (*claim.slot_branches, *claim.search_branches):
        group = branch_rows.slot.group
        group = group.group if isinstance(group, Search) else group
        reads = [o for o in branch_rows.operands if o.group is not None]
        if isinstance(group, Slots) and reads:
            rank = ranks.rank_of(group, [branch_rows.slot.indices[over.name] for over in group.ranges], space)
            earlier = [
                ranks.earlier(group, rank, o.group, ranks.rank_of(o.group, o.indices, space), arithmetic.z3)
                for o in reads
                if o.group
            ]
            name = f"layout: {branch_rows.name} reads what is written earlier"
            arithmetic.require(name, arithmetic.z3.And(*earlier), branch_rows.facts)


def system_statement(subject: str, results: str, family: ModelFamily | None) -> str:
    """Return the statement that a family gives these results for every word."""
    price = ""
    if family is not None:
        steps, slots = (_readable(size) for size in (family.design.steps, family.design.padding))
        price = f", in {steps} {'step' if steps == '1' else 'steps'} with {slots} slots from N = {family.least} on"
    return f"{subject} gives {results} for every word of length N, if there are words of this length{price}."


def _readable(size: Expression) -> str:
    """Return a formula with the usual notation for powers and logarithms."""
    K = str(power_of_two_below(N))
    named = str(size).replace(str(log2_above(N)), "⌈log2 N⌉")
    named = named.replace(f"(if [{K} < N] then 2·{K} else {K})", "2^⌈log2 N⌉").replace(K, "2^⌊log2 N⌋")
    return named.replace(" - 2 + 1", " - 1").replace(" - 1 + 1", "")
