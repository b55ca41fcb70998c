"""Rows of a system for every N: which rows a head reads, all cases of what they hold, and the result in each case.

Reads over a range (`Gathers`): a slot sees any number of rows, and what it computes depends on little of them.

    score     the rows that find for the slot are weighed alike, no other has a weight     closure over bits, then HIDE
    Z         e + e + …, once for every row that is seen, clipped                          closure: at least one row
    share     Σ [e/Z]·v  is 0 if every v is 0, else above 0                                for every Z and every v >= 0

A sum of numbers that are not negative is at least each of them, clipped or not. What a slot makes of its shares it
makes of their signs: a hidden unit reads them with weights of one sign, and has the same value for the least share
above 0 and for the largest number; sums and rounded products of F_p are monotone in each part, so it has this value for
all between.

So any number of rows report the union of what each reports (signs of the shares, what is found, whether one waits),
closed under union.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np

from unmask.engines.visible_keys import distinct
from unmask.numerics.arithmetic import Precision, multiply
from unmask.programs.program import Program
from unmask.recurrences.interpreter import range_items, range_result, rule_result
from unmask.recurrences.rule_functions import call_rule
from unmask.recurrences.slots import Slots
from unmask.verification.lengths.head_reads import (
    HeadRead,
    VisibleRows,
    comparisons_of,
    visible_rows_of,
    weights_among_any,
)
from unmask.verification.lengths.obligations import ObligationFailed, Term, reachable_closure
from unmask.verification.lengths.row_tables import NEVER, RowVectors, in_parts
from unmask.verification.lengths.system_slots import AnySlot, BranchRows, Operand, Search, SystemClaim, impossible
from unmask.verification.transformer_layer import SomeColumns

LAYER = 1
"""Slots look at the rows that find in the second layer."""
MOST_REPORTS = 4096
NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class RowReport:
    """What rows report to the slot that attends to them: positive shares, what was found, whether one of them waits."""

    signs: tuple[bool, ...]
    found: frozenset
    waits: bool

    def with_(self, other: "RowReport") -> "RowReport":
        signs = tuple(a or b for a, b in zip(self.signs, other.signs, strict=True))
        return RowReport(signs, self.found | other.found, self.waits or other.waits)


def together(reports: Iterable[RowReport]) -> list[RowReport]:
    """Return every report of one or more rows, if each row makes one of these reports."""
    single = list(dict.fromkeys(reports))
    found: dict[RowReport, None] = {}

    def moves(state: RowReport) -> Iterable[tuple[RowReport, RowReport]]:
        if len(found) > MOST_REPORTS:
            raise ObligationFailed("the rows of a read over a range have too many different outputs")
        return ((one, state.with_(one)) for one in single)

    reachable_closure(single, moves, lambda state: found.setdefault(state))
    return list(found)


@dataclass(eq=False)
class Shares:
    """The columns that a head writes, those of equal value together, and what they hold if they are not 0."""

    columns: list[np.ndarray]
    numbers_added: list[set[int]] = field(default_factory=list)
    """Per share the numbers that a row may add to it, weighed."""
    least: list[int] = field(default_factory=list)

    def signs(self, added: SomeColumns) -> np.ndarray:
        """[shares, rows]: which of the numbers that rows add are above 0; each number is recorded."""
        values = self._values(added)
        if (values < 0).any():
            raise ObligationFailed("a row that matches adds a number below 0")
        for numbers_added, row in zip(self.numbers_added, values, strict=True):
            numbers_added.update(np.unique(row).tolist())
        return values > 0

    def _values(self, added: SomeColumns) -> np.ndarray:
        place = {int(column): i for i, column in enumerate(added.columns)}
        found = np.zeros((len(self.columns), added.values.shape[1]), dtype=np.int64)
        for share, columns in enumerate(self.columns):
            values = added.values[[place[int(c)] for c in columns]]
            if (values != values[:1]).any():
                raise ObligationFailed("two columns of one share differ")
            found[share] = values[0]
        return found

    def weigh(self, weight: int, precision: Precision) -> str:
        """The least share above 0, for any number of rows of which one has a number above 0."""
        weights = weights_among_any(weight, precision)
        self.least = []
        for numbers_added in self.numbers_added:
            terms = [(v, int(multiply(w, v, precision))) for w in weights for v in numbers_added]
            if any((term > 0) != (v > 0) or term < 0 for v, term in terms):
                raise ObligationFailed("the contribution of a matching row rounds to zero among many rows")
            self.least.append(min((term for _, term in terms if term), default=1))
        return f"{len(weights)} weights, {sum(map(len, self.numbers_added))} numbers"

    def head_output(self, signs: np.ndarray, rows: RowVectors, *, largest: bool) -> SomeColumns:
        """Return the head's output if these shares are above 0: the least, or the largest."""
        written = np.unique(np.concatenate([NONE, *self.columns]))
        values = np.zeros((written.size, signs.shape[1]), dtype=rows.compact.narrow)
        for share, least, sign in zip(self.columns, self.least, signs, strict=True):
            number = rows.precision.bound if largest else least
            values[np.searchsorted(written, share)] = np.where(sign, number, 0)
        return SomeColumns(written, values)


class Gathers:
    """The heads of one transformer by which slots look at the rows that find for them."""

    def __init__(self, claim: SystemClaim, program: Program, rows: RowVectors, name: str) -> None:
        self.claim, self.rows = claim, rows
        self.seen = visible_rows_of(program, LAYER, claim.precision, claim.arithmetic, name)
        self.shown = [self._shown(seen) for seen in self.seen]
        for seen, shown in zip(self.seen, self.shown, strict=True):
            self._targets(seen, shown)
        self.shares = [self._shares(head) for head in range(len(self.seen))]
        self._reports: dict[Search, list[RowReport]] = {}
        self._check_reads()

    def _shown(self, seen: VisibleRows) -> list[Search]:
        """The searches whose rows are not hidden."""
        arithmetic, shown = self.claim.arithmetic, []
        for slot in self.claim.everywhere:
            hidden = arithmetic.at(seen.hidden, slot.row)
            if isinstance(slot.group, Search) and impossible(arithmetic, [*slot.given, hidden != 0]):
                shown.append(slot.group)
                arithmetic.require(f"{seen.name}: {slot.name} is not hidden", hidden == 0, slot.given)
            else:
                arithmetic.require(f"{seen.name}: {slot.name} is hidden", hidden != 0, slot.given)
        if not shown or len({search.group for search in shown}) < len(shown):
            raise ObligationFailed(f"{seen.name} sees the rows of no read over a range, or of two of one group")
        return shown

    def _targets(self, seen: VisibleRows, shown: list[Search]) -> None:
        """The code of a slot is its number; a row that finds has that of its slot; any other that of some slot."""
        arithmetic, space, name = self.claim.arithmetic, self.claim.space, seen.name
        z3 = arithmetic.z3
        if seen.target is None:
            if len(shown) != 1 or shown[0].group.ranges:
                raise ObligationFailed(f"{name} reads all rows that match, even those of other slots")
            return
        assert seen.room is not None
        fits = space.rows <= arithmetic.at(seen.room, arithmetic.row())
        arithmetic.require(f"{name}: codes have room", fits)
        for slot in self.claim.everywhere:
            target = arithmetic.at(seen.target, slot.row)
            wanted = self._target(slot, shown)
            if wanted is not None:
                arithmetic.require(f"{name}: {slot.name} has the code of its slot", target == wanted, slot.given)
                continue
            groups = [search.group for search in shown]
            some = [z3.And(target >= space.first[g], target < space.first[g] + space.size(g)) for g in groups]
            arithmetic.require(f"{name}: {slot.name} has the code of some slot", z3.Or(*some), slot.given)

    def _target(self, slot: AnySlot, shown: list[Search]) -> Term | None:
        """The number of the slot for which a row finds, or which asks what is found."""
        if isinstance(slot.group, Search) and slot.group in shown:
            group = slot.group.group
            return self.claim.space.number(group, [slot.indices[over.name] for over in group.ranges])
        asks = isinstance(slot.group, Slots) and any(search.group is slot.group for search in shown)
        return slot.number if asks else None

    def _shares(self, head: int) -> Shares:
        """Columns are one share if they are made of the same columns with the same weights."""
        wv = self.rows.transformer.layers[LAYER].heads[head].wv
        alike: dict[tuple, list[int]] = {}
        for column in np.unique(wv.column).tolist():
            here = wv.column == column
            made = tuple(sorted(zip(wv.row[here].tolist(), wv.value[here].tolist(), strict=True)))
            alike.setdefault(made, []).append(column)
        return Shares([np.array(columns) for columns in alike.values()], [{0} for _ in alike])

    def _check_reads(self) -> None:
        """No unit reads shares with weights of both signs, and nothing reads them after this layer."""
        layers = self.rows.transformer.layers
        listed = np.concatenate([NONE, *(columns for shares in self.shares for columns in shares.columns)])
        w1 = layers[LAYER].mlp.w1
        here = np.isin(w1.row, listed)
        signs = {(int(u), int(np.sign(v))) for u, v in zip(w1.column[here], w1.value[here], strict=True) if v}
        if len({unit for unit, _ in signs}) < len(signs):
            raise ObligationFailed("a hidden unit reads shares with weights of both signs")
        later = [layer.mlp.w1.row for layer in layers[LAYER + 1 :]]
        if np.isin(np.concatenate([*later, self.rows.transformer.out.column]), listed).any():
            raise ObligationFailed("shares are read after the layer in which they are fetched")

    def collect_reports(self, reports_of: Callable[[Search, int], Iterable[RowReport]]) -> None:
        """Collect what the rows of every search may report to the head that sees them; then the shares."""
        for search in self.claim.space.searches:
            heads = [head for head, shown in enumerate(self.shown) if search in shown]
            if len(heads) != 1:
                raise ObligationFailed(f"the rows of {search.name} are seen by {len(heads)} heads, not by one")
            self._reports[search] = list(dict.fromkeys(reports_of(search, heads[0])))
        arithmetic = self.claim.arithmetic
        for seen, shares in zip(self.seen, self.shares, strict=True):

            def show(seen: VisibleRows = seen, shares: Shares = shares) -> str:
                return shares.weigh(seen.weight, self.claim.precision)

            arithmetic.ledger.settle(f"{seen.name}: a share is 0 if and only if every row adds 0", "closure", show)

    def reports(self, search: Search, *, waiting: bool) -> list[RowReport]:
        """Return what all rows that find for a slot may report together; without `waiting`, no row waits."""
        return together(report for report in self._reports[search] if waiting or not report.waits)

    def reports_of_any(self, head: int) -> list[RowReport]:
        """Return what a row that searches for nothing may receive: the reports to any slot."""
        every = [report for search in self.shown[head] for report in self.reports(search, waiting=True)]
        return list({report.signs: report for report in every}.values())

    def _added(self, signs: Sequence[np.ndarray], *, largest: bool) -> list[SomeColumns]:
        pairs = zip(self.shares, signs, strict=True)
        return [shares.head_output(sign, self.rows, largest=largest) for shares, sign in pairs]

    def layer(self, rows: np.ndarray, signs: Sequence[np.ndarray]) -> np.ndarray:
        """After the layer: of rows whose shares, per head [shares, rows], are above 0 where the signs say so."""
        low, high = (self.rows.residual(rows, self._added(signs, largest=largest)) for largest in (False, True))
        if (self.rows.hidden(LAYER, low) != self.rows.hidden(LAYER, high)).any():
            raise ObligationFailed("a hidden unit distinguishes shares above 0")
        return self.rows.layer(LAYER, low, ())


# Branch → Cases: every combination of what a row of a branch may read and receive.
#
# axis     what one operand may be, or what a head reads that no rule asks for: symbols, or what a search finds
# case     one choice on every axis; operands that are one and the same row hold one symbol


MOST_CASES = 1 << 22
NOT_YET = -1
"""What a slot becomes while it waits."""


@dataclass(frozen=True, eq=False)
class CaseAxis:
    """Choices: the symbol at a place, what a rule is given, and whether the slot has to wait."""

    tokens: tuple[int, ...]
    given: tuple[Any, ...]
    waits: tuple[bool, ...]
    reports: tuple[RowReport, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


def read_axis(claim: SystemClaim, operand: Operand, *, waiting: bool) -> CaseAxis:
    """A letter, a slot or a value; with `waiting` a slot may be masked. A value has no place."""
    given = tuple(call_rule(operand.mapping, (value,), "a read") for value in operand.read_values)
    if operand.number is None:
        return CaseAxis((claim.mask,), given, (False,))
    listed = tuple(claim.tokens[value] for value in operand.read_values)
    if len(set(listed)) < len(listed) or claim.mask in listed:
        raise ObligationFailed("two values of a group have one symbol")
    if not waiting or operand.group is None:
        return CaseAxis(listed, given, (False,) * len(listed))
    return CaseAxis((*listed, claim.mask), (*given, None), (*(False for _ in listed), True))


def letter_axis(claim: SystemClaim) -> CaseAxis:
    """A letter that a head reads and no rule asks for."""
    tokens = tuple(claim.tokens[letter] for letter in claim.system.letters)
    return CaseAxis(tokens, tokens, (False,) * len(tokens))


def reports_axis(reports: Sequence[RowReport], search: Search | None, mask: int) -> CaseAxis:
    """Return the axis of what a search finds; without a search no rule uses it."""
    given = tuple(None if search is None else range_result(search.over, one.found) for one in reports)
    waits = tuple(search is not None and one.waits for one in reports)
    return CaseAxis((mask,) * len(reports), given, waits, tuple(reports))


class BranchCases:
    """All combinations; the first axes are the operands of the branch."""

    def __init__(self, place: BranchRows, axes: Sequence[CaseAxis]) -> None:
        self.place, self.axes = place, axes
        count = prod(map(len, axes))
        if count > MOST_CASES:
            raise ObligationFailed(f"there are too many cases of {place.name}")
        chosen = np.indices([len(axis) for axis in axes]).reshape(len(axes), count)
        self.tokens = _entries(axes, chosen, lambda axis: axis.tokens, np.int64)
        self._kept = np.ones(count, dtype=bool)
        for first, again in place.same:
            self._kept &= self.tokens[first] == self.tokens[again]
        self.tokens, self.chosen = self.tokens[:, self._kept], chosen[:, self._kept]
        self.waits: np.ndarray = np.any(_entries(axes, self.chosen, lambda axis: axis.waits, bool), axis=0)

    @property
    def count(self) -> int:
        return self.tokens.shape[1]

    def signs(self, axis: int) -> np.ndarray:
        """Return the signs of the shares [shares, cases], for the axis of a search."""
        reports = self.axes[axis].reports
        signs = np.array([one.signs for one in reports], dtype=bool).reshape(len(reports), len(reports[0].signs))
        return signs[self.chosen[axis]].T

    def right(self, claim: SystemClaim) -> np.ndarray:
        """The symbol of what the rule gives in every case; NOT_YET where the slot waits."""
        group, branch = self.place.slot.group, self.place.branch
        assert isinstance(group, Slots)
        operands, others = self.axes[: len(branch.operands)], self.axes[len(branch.operands) :]
        right = []
        for choice in product(*(zip(axis.given, axis.waits, strict=True) for axis in operands)):
            ready = not any(waits for _, waits in choice)
            given = tuple(value for value, _ in choice)
            right.append(claim.tokens[rule_result(group, branch.case, given, group.name)] if ready else NOT_YET)
        return np.repeat(np.array(right, dtype=np.int64), prod(map(len, others)))[self._kept]


def _entries(
    axes: Sequence[CaseAxis], chosen: np.ndarray, of: Callable[[CaseAxis], Sequence[Any]], kind: Any
) -> np.ndarray:
    """[axes, cases]: an entry of the choice on every axis."""
    found = np.zeros(chosen.shape, dtype=kind)
    for k, axis in enumerate(axes):
        found[k] = np.array(of(axis), dtype=kind)[chosen[k]]
    return found


# What the rows of a system compute, branch by branch: which rows the heads read, and one finite table for each.


SELF, NOW_THIS, FIRST_LETTER = -1, -2, -3


class SystemTransformer:
    """One transformer: which row every head reads in every branch, and the tables of its rows."""

    def __init__(self, claim: SystemClaim, name: str) -> None:
        self.claim, self.name = claim, name
        arithmetic, program = claim.arithmetic, claim.family.design.programs[name]
        self.rows = RowVectors(program, claim.precision, claim.family.least)
        self.reads = comparisons_of(program, 0, claim.precision, arithmetic, name)
        gathers = len(program.layers[LAYER].heads) if claim.finding and len(program.layers) > LAYER else 0
        self.rows.check_heads([len(self.reads), gathers] if gathers else [len(self.reads)])
        for read in self.reads:
            self._codes(read)
        self.sources = {place: self._sources(place) for place in (*claim.places, *claim.finding)}
        self.added = [self._added(h) for h in range(len(self.reads))]
        self.gathers = Gathers(claim, program, self.rows, name) if gathers else None
        if self.gathers is not None:
            self.gathers.collect_reports(self._reports_of)
        elif claim.finding:
            raise ObligationFailed(f"the {name} does not look at the rows of reads over a range")

    def settle(self, name: str, show) -> None:
        self.claim.arithmetic.ledger.settle(name, "enumeration", show)

    def _codes(self, read: HeadRead) -> None:
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

    def _sources(self, place: BranchRows) -> list[int]:
        """Per head the operand whose row it reads, or SELF."""
        arithmetic, found = self.claim.arithmetic, []
        goals = []
        for read in self.reads:
            address = arithmetic.at(read.address, place.slot.row)
            numbers = {k: o.number for k, o in enumerate(place.branch.operands) if o.number is not None}
            options = {**numbers, SELF: place.slot.number}
            if isinstance(place.slot.group, Search) and not numbers:
                options[FIRST_LETTER] = arithmetic.z3.IntVal(0)
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
            arithmetic.ledger.settle(f"{self.name}: every head of {place.name} reads one row", "search", _open)
        return found

    def _added(self, head: int) -> tuple[SomeColumns, np.ndarray]:
        """One vector per class, and the class of every symbol, whichever row holds it."""
        claim, rows = self.claim, self.rows
        flags = [rows.flags(claim.arithmetic, slot.row, ()) for slot in claim.everywhere]
        symbols = len(claim.family.design.vocabulary.symbols)
        added = rows.fetched(0, head, rows.start(np.arange(symbols), np.concatenate(flags, axis=1)))
        first, inverse = distinct(added.values)
        classes = inverse.reshape(symbols, -1)
        if (classes != classes[:, :1]).any():
            raise ObligationFailed("the output of a head does not depend on the symbol alone")
        return added[first], classes[:, 0]

    def _first_layer(self, own: np.ndarray, heads: Sequence[np.ndarray]) -> np.ndarray:
        """After the first layer: rows [columns, cases] that read these symbols."""
        added = [of[classes[symbols]] for (of, classes), symbols in zip(self.added, heads, strict=True)]
        return self.rows.layer(0, own, added)

    def outcomes(
        self, own: np.ndarray, heads: Sequence[np.ndarray], signs: Sequence[np.ndarray] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """(what is chosen, its logit) for rows [columns, cases] that read these symbols and receive these signs."""
        count = own.shape[1]
        chosen, largest = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        for part in in_parts(count, self.rows.step):
            state = self._first_layer(own[:, part], [symbols[part] for symbols in heads])
            done = 1
            if self.gathers is not None:
                state = self.gathers.layer(state, [sign[:, part] for sign in signs])
                done += 1
            logits, which = self.rows.last_layers(state, done)
            logits = logits.astype(np.int64)
            if self.name != "planner":
                logits[self.claim.mask] = NEVER
            chosen[part], largest[part] = logits.argmax(axis=0)[which], logits.max(axis=0)[which]
        return chosen, largest

    def _reports_of(self, search: Search, head: int) -> Iterable[RowReport]:
        """Yield what one row of a search may report, by what it reads, masks included."""
        assert self.gathers is not None
        for place in self.claim.finding:
            if place.slot.group is not search:
                continue
            cases = BranchCases(place, self._read(place, waiting=True))
            found = [self._found(search, cases, k) for k in range(cases.count)]
            for own, heads in self._starts(cases, [self.claim.mask]):
                state = self._first_layer(own, heads)
                signs = self.gathers.shares[head].signs(self.rows.fetched(LAYER, head, state))
                for sign, items, waits in zip(signs.T.tolist(), found, cases.waits.tolist(), strict=True):
                    yield RowReport(tuple(sign), items, waits)

    def _found(self, search: Search, cases: BranchCases, k: int) -> frozenset:
        """What the function of a search gives in one case."""
        branch = cases.place.branch
        if not branch.counts or cases.waits[k]:
            return frozenset()
        given = tuple(cases.axes[a].given[cases.chosen[a, k]] for a in range(len(branch.operands)))
        return range_items(search.over, given, search.group.name)

    def _read(self, place: BranchRows, *, waiting: bool) -> list[CaseAxis]:
        """What every operand may be; then the letter that a row reads that has nothing to read."""
        claim, axes = self.claim, []
        for operand in place.branch.operands:
            if operand.search is None:
                axes.append(read_axis(claim, operand, waiting=waiting))
            else:
                assert self.gathers is not None
                reports = self.gathers.reports(operand.search, waiting=waiting)
                axes.append(reports_axis(reports, operand.search, claim.mask))
        return [*axes, letter_axis(claim)] if FIRST_LETTER in self.sources[place] else axes

    def _starts(self, cases: BranchCases, owns: Sequence[int]) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Rows before the first layer, and the symbols that their heads read, for all flags of the branch."""
        place, tokens = cases.place, cases.tokens
        flags = self.rows.flags(self.claim.arithmetic, place.slot.row, place.branch.conditions)
        if not flags.shape[1]:
            raise ObligationFailed(f"{place.name} does not occur")
        if cases.count * len(owns) * flags.shape[1] > MOST_CASES:
            raise ObligationFailed(f"there are too many cases of {place.name}")
        for own in owns:
            start = self.rows.start(np.array([own]), flags)
            others = {SELF: lambda own=own: np.full(cases.count, own)}
            others[FIRST_LETTER] = lambda: tokens[len(place.branch.operands)]
            heads = [others[source]() if source in others else tokens[source] for source in self.sources[place]]
            for k in range(flags.shape[1]):
                yield np.broadcast_to(start[:, k : k + 1], (start.shape[0], cases.count)), heads

    def _every_case(self, place: BranchRows, *, waiting: bool) -> tuple[BranchCases, list[np.ndarray]]:
        """Return all that a branch may read and receive, and the signs that each head of the second layer receives."""
        axes = self._read(place, waiting=waiting)
        axis_of_head: list[int] = []  # per head of the second layer
        if self.gathers is not None:
            asked = {o.search: k for k, o in enumerate(place.branch.operands) if o.search is not None}
            for head, shown in enumerate(self.gathers.shown):
                axis = next((asked[search] for search in shown if search in asked), None)
                if axis is None:
                    axes.append(reports_axis(self.gathers.reports_of_any(head), None, self.claim.mask))
                axis_of_head.append(len(axes) - 1 if axis is None else axis)
        cases = BranchCases(place, axes)
        return cases, [cases.signs(axis) for axis in axis_of_head]

    def _outcomes(
        self, place: BranchRows, *, waiting: bool
    ) -> Iterator[tuple[BranchCases, int, np.ndarray, np.ndarray]]:
        """(cases, what the slot holds, what is chosen, its logit); with `waiting` also masks, and full slots."""
        claim, group = self.claim, place.slot.group
        cases, signs = self._every_case(place, waiting=waiting)
        owns = [claim.mask]
        if waiting and isinstance(group, Slots):
            owns += [claim.tokens[value] for value in group.values]
        for own in owns:
            for start, heads in self._starts(cases, [own]):
                yield cases, own, *self.outcomes(start, heads, signs)

    def has_its_value(self) -> str:
        """Of a masked slot whose reads are written."""
        total = 0
        for place in self.claim.places:
            right = None
            for cases, _, chosen, _ in self._outcomes(place, waiting=False):
                right = cases.right(self.claim) if right is None else right
                if (chosen != right).any():
                    raise ObligationFailed(f"a slot of {place.name} takes another value than its rule gives")
                total += cases.count
        return f"{total:,} cases"

    def chooses(self) -> str:
        """If and only if it is masked and nothing that it reads is; a row that finds never."""
        total = 0
        for place in (*self.claim.places, *self.claim.finding):
            for cases, own, chosen, _ in self._outcomes(place, waiting=True):
                if ((chosen == 1) != self._ready(cases, own)).any():
                    raise ObligationFailed(
                        f"a slot of {place.name} is not taken exactly where it is masked and its reads are not"
                    )
                total += cases.count
        return f"{total:,} cases"

    def takes_its_value(self) -> str:
        """A logit above -B if and only if it is masked and its reads are not, and then that of its value."""
        total = 0
        for place in (*self.claim.places, *self.claim.finding):
            right = None
            for cases, own, chosen, largest in self._outcomes(place, waiting=True):
                ready = self._ready(cases, own)
                if ((largest > -self.rows.precision.bound) != ready).any():
                    raise ObligationFailed(
                        f"a slot of {place.name} does not take a symbol exactly where it is masked and ready"
                    )
                if ready.any():
                    right = cases.right(self.claim) if right is None else right
                    if (chosen[ready] != right[ready]).any():
                        raise ObligationFailed(f"a slot of {place.name} takes another value than its rule gives")
                total += cases.count
        return f"{total:,} cases"

    def _ready(self, cases: BranchCases, own: int) -> np.ndarray:
        """Where a row is to be taken: a slot that is masked and does not wait."""
        slot = isinstance(cases.place.slot.group, Slots) and own == self.claim.mask
        return ~cases.waits & slot


def _open() -> str:
    raise ObligationFailed("a head reads different rows in different cases")
