"""Systems of recurrences by masked diffusion (mdm, smdm, topk), for every N from the family's least on.

By induction on the steps: a slot that is written holds what the system says, because it was masked and all that it
reads was written (table of the planner), its heads bring exactly these rows (codes), and what it takes is its rule of
what they hold (table of the predictor). By induction on the ranks (`ranks.py`) it is written by step rank <= T. So
after T steps every slot holds its value, and the answers stand in the last rows.

Rows fall into branches (`slots.py`): one rule each, and every read is a letter, a slot or a value. Which flags occur
in a branch is asked of the solver; per branch there is one finite table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from unmask.numerics.precision import Precision
from unmask.programs.compilers.every_length import SystemFamily
from unmask.programs.compilers.family import Family
from unmask.programs.language.positions import Expression as Formula
from unmask.programs.language.positions import N as LENGTH
from unmask.programs.language.positions import log2_above, power_of_two_below
from unmask.programs.language.program import Size
from unmask.programs.recurrences.every import in_length
from unmask.programs.recurrences.every import product as product_of
from unmask.recurrences.interpreter import called, result_of
from unmask.recurrences.naming import symbol_names
from unmask.recurrences.slots import Slots
from unmask.recurrences.system import System
from unmask.verification.families.arithmetic import Arithmetic, Euclid, Term
from unmask.verification.families.heads import Read, comparisons_of, require_copies
from unmask.verification.families.ledger import Open
from unmask.verification.families.node import NEVER
from unmask.verification.families.ranks import Ranks, find_ranks
from unmask.verification.families.rows import Brought, Rows, distinct, in_parts
from unmask.verification.families.slots import AnySlot, Branch, Operand, Space

MOST_CASES = 1 << 22


@dataclass(frozen=True, eq=False)
class Place:
    """A branch of a group that occurs: any slot of it, and which rule and reads it has."""

    name: str
    slot: AnySlot
    branch: Branch

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


def prove_system(claim: SystemClaim) -> None:
    """All obligations."""
    arithmetic, kind = claim.arithmetic, claim.family.kind
    _frame(claim)
    _meaning(claim)
    _ranks(claim)
    require_copies(claim.precision, arithmetic)
    if kind == "topk":
        model = _Part(claim, "model")
        model.settle("rows: a slot takes the value of its rule once what it reads is written", model.takes_its_value)
        return
    predictor, planner = _Part(claim, "predictor"), _Part(claim, "planner")
    predictor.settle("rows: a slot takes the value of its rule", predictor.has_its_value)
    planner.settle("rows: the planner takes a masked slot once what it reads is written", planner.chooses)


def _frame(claim: SystemClaim) -> None:
    """Rows and slots, the answers last, and the plan that `compile` compares at every N."""
    arithmetic, space, design = claim.arithmetic, claim.space, claim.family.design
    z3, start = arithmetic.z3, arithmetic.row()
    sides = [side >= 0 for group in space.groups for side in space.sides[group]]
    arithmetic.require("frame: no range ends before it begins", z3.And(*sides) if sides else z3.BoolVal(True))
    if design.block is not None:
        raise Open("the family writes in blocks")
    arithmetic.require("frame: slots", arithmetic.at(design.padding, start) == space.rows - arithmetic.N)
    for name, program in design.programs.items():
        if program.every is None:
            raise Open(f"the family has no program of every N called {name}")
        if program.attention != "unmasked" or program.loop is not None or program.noise is not None:
            raise Open(f"the {name} is not an unmasked transformer without loop and noise")
        arithmetic.require(f"frame: rows of the {name}", arithmetic.at(program.every, start) == space.rows)
    answers, group = space.system.answers, space.system.answer_group
    if isinstance(answers, Slots):
        slot = claim.slots[group]
        last = space.first[group] + space.size(group) == space.rows
        arithmetic.require(
            "frame: the answers stand in the last rows, in their order",
            z3.And(last, slot.row.n == slot.number, space.size(group) >= 1),
            slot.given,
        )
    else:
        for k, answer in enumerate(reversed(answers)):
            places = [space.of(part) for part in answer.places]
            there = z3.And(space.exists(group, places), space.row(group, places) == space.rows - 1 - k)
            arithmetic.require(f"frame: the answer {answer} stands in row {-1 - k}", there)
    for group, slot in claim.slots.items():
        _same_plan(claim, group, slot)


def _same_plan(claim: SystemClaim, group: Slots, slot: AnySlot) -> None:
    """The plan of every N is that of each N: `compile` writes the family's folder."""
    arithmetic, plan, space = claim.arithmetic, claim.family.plan, claim.space
    z3, block = arithmetic.z3, plan.stretches[group]
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
    same += [arithmetic.at(block.first, slot.row) == space.first[group]]
    same += [arithmetic.at(block.count, slot.row) == space.size(group)]
    arithmetic.require(f"frame: the rows of {group.name} are those of its slots", z3.And(*same), slot.given)
    never = [space.of(where, slot.indices) == 0 for other, where in plan.left_out if other is group]
    if never:
        arithmetic.require(f"frame: no region of {group.name} is left out", z3.And(*never), slot.given)


def _meaning(claim: SystemClaim) -> None:
    """Every slot has a rule, what that reads exists, and which branches there are."""
    arithmetic, space = claim.arithmetic, claim.space
    z3 = arithmetic.z3
    for group, slot in claim.slots.items():
        arithmetic.require(f"meaning: every slot of {group.name} has a rule", space.covered(slot), slot.given)
        never = []
        for branch in space.branches(slot):
            place = Place(f"{group.name} ({1 + sum(p.slot is slot for p in claim.places)})", slot, branch)
            conditions = z3.And(*branch.conditions)
            if impossible(arithmetic, [*slot.given, conditions]):
                never.append(z3.Not(conditions))
                continue
            if branch.sure:
                given = [*slot.given, *branch.conditions]
                arithmetic.require(f"meaning: what {place.name} reads exists", z3.And(*branch.sure), given)
            claim.places.append(place)
        if never:
            arithmetic.require(f"meaning: {group.name} has no other branch", z3.And(*never), slot.given)


def impossible(arithmetic: Arithmetic, given: Sequence[Term]) -> bool:
    """Is it known at once that this never holds? What is said to be so is asked again, as an obligation."""
    solver = arithmetic.z3.Solver()
    solver.set("timeout", 2000)
    solver.add(*arithmetic.facts, *given)
    return solver.check() == arithmetic.z3.unsat


def _ranks(claim: SystemClaim) -> None:
    arithmetic, space = claim.arithmetic, claim.space
    steps = claim.family.design.steps
    if isinstance(steps, int):
        raise Open("the family has no expression for its steps")
    limit = arithmetic.at(steps, arithmetic.row())
    found: list[Ranks] = []

    def search() -> str:
        ranks = find_ranks(claim.system, steps, claim.family.least, arithmetic)
        if ranks is None:
            short = tuple(claim.family.least + k for k in range(3))
            raise Open("no affine ranks were found that end within the steps, nor such that halve", short)
        found.append(ranks)
        return "by halves" if ranks.halves else "by steps"

    arithmetic.ledger.settle("layout: ranks of the slots", "search", search)
    ranks = found[0]
    for slot in claim.slots.values():
        assert slot.group is not None
        rank = ranks.of(slot.group, list(slot.indices.values()), space)
        bounded = ranks.bounded(rank, limit, arithmetic)
        arithmetic.require(f"layout: {slot.name} is within the steps", bounded, slot.given)
        for place in claim.places:
            reads = [o for o in place.branch.operands if o.group is not None]
            if place.slot is slot and reads:
                earlier = [ranks.earlier(ranks.of(o.group, o.places, space), rank) for o in reads if o.group]
                name = f"layout: {place.name} reads what is written earlier"
                arithmetic.require(name, arithmetic.z3.And(*earlier), place.given)


SELF, NOW_THIS = -1, -2


class _Part:
    """One transformer: which row every head reads in every branch, and the tables of its rows."""

    def __init__(self, claim: SystemClaim, name: str) -> None:
        self.claim, self.name = claim, name
        arithmetic, program = claim.arithmetic, claim.family.design.programs[name]
        self.rows = Rows(program, claim.precision, claim.family.least)
        self.reads = comparisons_of(program, 0, claim.precision, arithmetic, name)
        self.rows.check_single_pass(len(self.reads))
        for read in self.reads:
            self._codes(read)
        self.sources: list[list[int]] = []
        for place in claim.places:
            asked = f"{name}: every head of {place.name} reads one row"
            arithmetic.ledger.settle(asked, "SMT", lambda place=place: self.sources.append(self._sources(place)))
        self.brought = [self._brought(h) for h in range(len(self.reads))]

    def settle(self, name: str, show) -> None:
        self.claim.arithmetic.ledger.settle(name, "enumeration", show)

    def _codes(self, read: Read) -> None:
        """The code of a row is the number of its slot, and the code that it asks for is that of some row."""
        claim, arithmetic = self.claim, self.claim.arithmetic
        z3 = arithmetic.z3
        rows, room = claim.space.rows, arithmetic.at(read.room, arithmetic.row())
        for slot in claim.everywhere:
            key, address = arithmetic.at(read.key, slot.row), arithmetic.at(read.address, slot.row)
            arithmetic.require(
                f"{read.name}: the code of {slot.name} is its number, and has room",
                z3.And(key == slot.number, rows <= room),
                slot.given,
            )
            arithmetic.require(
                f"{read.name}: {slot.name} asks for a row that is there",
                z3.And(address >= 0, address < rows),
                slot.given,
            )

    def _sources(self, place: Place) -> list[int]:
        """Per head the operand whose row it reads, or SELF."""
        arithmetic, found = self.claim.arithmetic, []
        goals = []
        for read in self.reads:
            address = arithmetic.at(read.address, place.slot.row)
            numbers = {k: o.number for k, o in enumerate(place.branch.operands) if o.number is not None}
            options = {**numbers, SELF: place.slot.number}
            for source, number in options.items():
                if impossible(arithmetic, [*place.given, address != number]):
                    found.append(source)
                    goals.append(address == number)
                    break
            else:
                goals.append(arithmetic.z3.Or(*(address == number for number in options.values())))
                found.append(NOW_THIS)
        if goals:
            arithmetic.require(
                f"{self.name}: the heads of {place.name} read what its rule reads",
                arithmetic.z3.And(*goals),
                place.given,
            )
        if NOW_THIS in found:
            raise Open(f"a head of the {self.name} reads now this row, now that one, in {place.name}")
        return found

    def _brought(self, head: int) -> tuple[Brought, np.ndarray]:
        """One vector per class, and the class of every symbol, whichever row holds it."""
        claim, rows = self.claim, self.rows
        flags = [rows.flags(claim.arithmetic, slot.row, ()) for slot in claim.everywhere]
        symbols = len(claim.family.design.vocabulary.symbols)
        brought = rows.fetched(0, head, rows.start(np.arange(symbols), np.concatenate(flags, axis=1)))
        first, inverse = distinct(brought.values)
        classes = inverse.reshape(symbols, -1)
        if (classes != classes[:, :1]).any():
            raise Open("what a head brings depends on more than the symbol")
        return brought[first], classes[:, 0]

    def outcomes(self, own: np.ndarray, heads: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """(what is chosen, its logit) for rows [columns, cases] that read these symbols."""
        count = own.shape[1]
        chosen, largest = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        for part in in_parts(count, self.rows.step):
            brought = [of[classes[symbols[part]]] for (of, classes), symbols in zip(self.brought, heads, strict=True)]
            logits, which = self.rows.single_pass(own[:, part], brought)
            logits = logits.astype(np.int64)
            if self.name != "planner":
                logits[self.claim.mask] = NEVER
            chosen[part], largest[part] = logits.argmax(axis=0)[which], logits.max(axis=0)[which]
        return chosen, largest

    def _cases(self, place: Place, sources: list[int], *, waiting: bool) -> Iterator["_Cases"]:
        """All symbols of what a branch reads; with `waiting` also masks, and a slot that holds something."""
        claim = self.claim
        assert place.slot.group is not None
        held = [
            _held(claim, operand, waiting=waiting and operand.group is not None) for operand in place.branch.operands
        ]
        owns = [claim.mask, *(claim.tokens[v] for v in place.slot.group.values)] if waiting else [claim.mask]
        flags = self.rows.flags(claim.arithmetic, place.slot.row, place.branch.conditions)
        if not flags.shape[1]:
            raise Open(f"{place.name} does not occur")
        count = prod(map(len, held))
        if count * len(owns) * flags.shape[1] > MOST_CASES:
            raise Open(f"there are too many cases of {place.name}")
        symbols = np.array(list(product(*held)), dtype=np.int64).reshape(count, len(held)).T
        for own in owns:
            start = self.rows.start(np.array([own]), flags)
            for k in range(flags.shape[1]):
                mine = np.broadcast_to(start[:, k : k + 1], (start.shape[0], count))
                heads = [np.full(count, own) if s == SELF else symbols[s] for s in sources]
                yield _Cases(own, symbols, *self.outcomes(mine, heads))

    def has_its_value(self) -> str:
        """Of a masked slot whose reads are written."""
        total = 0
        for place, sources in zip(self.claim.places, self.sources, strict=True):
            right = _right(self.claim, place)
            for cases in self._cases(place, sources, waiting=False):
                if (cases.chosen != right).any():
                    raise Open(f"a slot of {place.name} takes another value than its rule gives")
                total += right.size
        return f"{total:,} cases"

    def chooses(self) -> str:
        """If and only if it is masked and nothing that it reads is."""
        total = 0
        for place, sources in zip(self.claim.places, self.sources, strict=True):
            for cases in self._cases(place, sources, waiting=True):
                if ((cases.chosen == 1) != self._ready(place, cases)).any():
                    raise Open(f"a slot of {place.name} is not taken exactly where it is masked and its reads are not")
                total += cases.chosen.size
        return f"{total:,} cases"

    def takes_its_value(self) -> str:
        """A logit above -B if and only if it is masked and its reads are not, and then that of its value."""
        total = 0
        for place, sources in zip(self.claim.places, self.sources, strict=True):
            right = _right(self.claim, place)
            for cases in self._cases(place, sources, waiting=True):
                ready = self._ready(place, cases)
                if ((cases.largest > -self.rows.precision.bound) != ready).any():
                    raise Open(f"a slot of {place.name} does not take a symbol exactly where it is masked and ready")
                if cases.own == self.claim.mask and (cases.chosen[ready] != right).any():
                    raise Open(f"a slot of {place.name} takes another value than its rule gives")
                total += ready.size
        return f"{total:,} cases"

    def _ready(self, place: Place, cases: "_Cases") -> np.ndarray:
        masked = [
            cases.symbols[k] == self.claim.mask for k, o in enumerate(place.branch.operands) if o.group is not None
        ]
        nothing = ~np.any(masked, axis=0) if masked else np.ones(cases.chosen.size, dtype=bool)
        return nothing & (cases.own == self.claim.mask)


@dataclass(frozen=True, eq=False)
class _Cases:
    """A slot that holds `own`; what it reads [operands, cases], and what comes of it."""

    own: int
    symbols: np.ndarray
    chosen: np.ndarray
    largest: np.ndarray


def _held(claim: SystemClaim, operand: Operand, *, waiting: bool) -> list[int]:
    """The symbols that may stand in what is read; one for a value that stands nowhere."""
    if operand.number is None:
        return [claim.mask]
    listed = [claim.tokens[value] for value in operand.held]
    if len(set(listed)) < len(listed) or claim.mask in listed:
        raise Open("two values of a group have one symbol")
    return [*listed, claim.mask] if waiting else listed


def _right(claim: SystemClaim, place: Place) -> np.ndarray:
    """The symbol of what the rule gives, for all values of what it reads, in the order of the cases."""
    group, case = place.slot.group, place.branch.case
    assert group is not None
    given = [[called(o.mapping, (value,), group.name) for value in o.held] for o in place.branch.operands]
    values = [result_of(group, case, chosen, group.name) for chosen in product(*given)]
    return np.array([claim.tokens[value] for value in values], dtype=np.int64)


def system_statement(subject: str, what: str, family: Family | None) -> str:
    """What is claimed."""
    price = ""
    if family is not None:
        steps, slots = (_readable(size) for size in (family.design.steps, family.design.padding))
        price = f", in {steps} steps with {slots} slots from N = {family.least} on"
    return f"{subject} gives {what} for every word of length N, where there are any{price}."


def _readable(size: Size) -> str:
    """A formula with names for powers and logarithms."""
    K = str(power_of_two_below(LENGTH))
    named = str(size).replace(str(log2_above(LENGTH)), "⌈log2 N⌉")
    named = named.replace(f"(if [{K} < N] then {K}·2 else {K})", "2^⌈log2 N⌉").replace(K, "2^⌊log2 N⌋")
    return named.replace(" - 2 + 1", " - 1")
