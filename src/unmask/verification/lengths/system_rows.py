"""The rows of a system for every N: which rows a head reads, all cases of their contents, and the result in each case.

Reads over a range (`SearchHeads`): a slot attends to any number of rows of a search; its result depends on a summary.

    score     all rows of the search for this slot have equal weight, and no others have any     closure over bits, HIDE
    Z         e + e + …, one term for every row with weight, clipped                             closure over rows
    share     Σ [e/Z]·v  is 0 if every v is 0, and else above 0                                  for all Z and v >= 0

A sum of numbers that are not negative is at least each of them, clipped or not. The result of a slot depends on its
shares only through their signs: a hidden unit reads them with weights of one sign, and has the same value for the least
share above 0 and for the largest number. Sums and rounded products of F_p are monotone in each term and factor, so the
unit has this value for all shares in between.

So several rows together report the union of their single reports (signs of the shares, results of the search, whether a
row waits), and the reports are closed under union.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from unmask.engines.visible_keys import distinct_by_hash
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
from unmask.verification.lengths.row_tables import NEVER, RowVectors, chunks
from unmask.verification.lengths.system_slots import AnySlot, BranchRows, Operand, Search, SystemClaim, is_impossible
from unmask.verification.transformer_layer import SomeColumns

LAYER = 1
"""The layer in which slots attend to the rows of searches: the second one."""
MOST_REPORTS = 4096
NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class RowReport:
    """The report of rows to the slot that attends to them: positive shares, results, whether one of them waits."""

    signs: tuple[bool, ...]
    results: frozenset
    waits: bool

    def union(self, other: "RowReport") -> "RowReport":
        """Return the report of these and the other rows together."""
        signs = tuple(a or b for a, b in zip(self.signs, other.signs, strict=True))
        return RowReport(signs, self.results | other.results, self.waits or other.waits)


def joint_reports(reports: Iterable[RowReport]) -> list[RowReport]:
    """Return all reports of one or more rows together, given the possible reports of a single row."""
    single = list(dict.fromkeys(reports))
    reached: dict[RowReport, None] = {}

    def moves(state: RowReport) -> Iterable[tuple[RowReport, RowReport]]:
        if len(reached) > MOST_REPORTS:
            raise ObligationFailed("the rows of a read over a range have too many different outputs")
        return ((report, state.union(report)) for report in single)

    reachable_closure(single, moves, lambda state: reached.setdefault(state))
    return list(reached)


@dataclass(eq=False)
class Shares:
    """The columns that a head writes, grouped by equal values, and the numbers that they can contain."""

    columns: list[np.ndarray]
    numbers_added: list[set[int]] = field(default_factory=list)
    """Per share, the numbers that a row can add to it, before they are weighted."""
    least: list[int] = field(default_factory=list)
    """Per share, its least value above 0."""

    def signs(self, output: SomeColumns) -> np.ndarray:
        """Return [shares, rows], whether the number that a row adds is above 0; record the numbers."""
        values = self._values(output)
        if (values < 0).any():
            raise ObligationFailed("a row that matches adds a number below 0")
        for numbers_added, row in zip(self.numbers_added, values, strict=True):
            numbers_added.update(np.unique(row).tolist())
        return values > 0

    def _values(self, output: SomeColumns) -> np.ndarray:
        """Return [shares, rows], the number that each row adds."""
        index = {int(column): i for i, column in enumerate(output.columns)}
        numbers = np.zeros((len(self.columns), output.values.shape[1]), dtype=np.int64)
        for share, columns in enumerate(self.columns):
            values = output.values[[index[int(c)] for c in columns]]
            if (values != values[:1]).any():
                raise ObligationFailed("two columns of one share differ")
            numbers[share] = values[0]
        return numbers

    def compute_least(self, weight: int, precision: Precision) -> str:
        """Compute the least share above 0, for any number of rows."""
        weights = weights_among_any(weight, precision)
        self.least = []
        for numbers_added in self.numbers_added:
            terms = [(v, int(multiply(w, v, precision))) for w in weights for v in numbers_added]
            if any((term > 0) != (v > 0) or term < 0 for v, term in terms):
                raise ObligationFailed("the contribution of a matching row rounds to zero among many rows")
            self.least.append(min((term for _, term in terms if term), default=1))
        return f"{len(weights)} weights, {sum(map(len, self.numbers_added))} numbers"

    def head_output(self, signs: np.ndarray, rows: RowVectors, *, largest: bool) -> SomeColumns:
        """Return the output of the head with the least, or the largest, value in the shares that are above 0."""
        written = np.unique(np.concatenate([NONE, *self.columns]))
        values = np.zeros((written.size, signs.shape[1]), dtype=rows.compact.narrow)
        for share, least, sign in zip(self.columns, self.least, signs, strict=True):
            number = rows.precision.bound if largest else least
            values[np.searchsorted(written, share)] = np.where(sign, number, 0)
        return SomeColumns(written, values)


class SearchHeads:
    """The heads of one transformer by which slots attend to the rows of their searches."""

    def __init__(self, claim: SystemClaim, program: Program, rows: RowVectors, name: str) -> None:
        self.claim, self.rows = claim, rows
        self.visible = visible_rows_of(program, LAYER, claim.precision, claim.arithmetic, name)
        self.searches = [self._visible_searches(visible) for visible in self.visible]
        for visible, searches in zip(self.visible, self.searches, strict=True):
            self._require_codes(visible, searches)
        self.shares = [self._shares(head) for head in range(len(self.visible))]
        self._reports: dict[Search, list[RowReport]] = {}
        self._check_reads()

    def _visible_searches(self, visible: VisibleRows) -> list[Search]:
        """Return the searches whose rows a head does not hide."""
        arithmetic, searches = self.claim.arithmetic, []
        for slot in self.claim.all_rows:
            hidden = arithmetic.at(visible.hidden, slot.row)
            if isinstance(slot.group, Search) and is_impossible(arithmetic, [*slot.facts, hidden != 0]):
                searches.append(slot.group)
                arithmetic.require(f"{visible.name}: {slot.name} is not hidden", hidden == 0, slot.facts)
            else:
                arithmetic.require(f"{visible.name}: {slot.name} is hidden", hidden != 0, slot.facts)
        if not searches or len({search.group for search in searches}) < len(searches):
            raise ObligationFailed(f"{visible.name} sees the rows of no read over a range, or of two of one group")
        return searches

    def _require_codes(self, visible: VisibleRows, searches: list[Search]) -> None:
        """Settle the codes: a slot has its number, a row of a search that of its slot, and others that of some slot."""
        arithmetic, space, name = self.claim.arithmetic, self.claim.space, visible.name
        z3 = arithmetic.z3
        if visible.target is None:
            if len(searches) != 1 or searches[0].group.ranges:
                raise ObligationFailed(f"{name} reads all rows that match, even those of other slots")
            return
        assert visible.capacity is not None
        fits = space.rows <= arithmetic.at(visible.capacity, arithmetic.row())
        arithmetic.require(f"{name}: codes have room", fits)
        for slot in self.claim.all_rows:
            target = arithmetic.at(visible.target, slot.row)
            expected = self._expected_code(slot, searches)
            if expected is not None:
                arithmetic.require(f"{name}: {slot.name} has the code of its slot", target == expected, slot.facts)
                continue
            groups = [search.group for search in searches]
            some = [
                z3.And(target >= space.first_number[g], target < space.first_number[g] + space.size(g)) for g in groups
            ]
            arithmetic.require(f"{name}: {slot.name} has the code of some slot", z3.Or(*some), slot.facts)

    def _expected_code(self, slot: AnySlot, searches: list[Search]) -> Term | None:
        """Return the number of the slot that attends, or to which a row of a search reports; None for other rows."""
        if isinstance(slot.group, Search) and slot.group in searches:
            group = slot.group.group
            return self.claim.space.number(group, [slot.indices[over.name] for over in group.ranges])
        attends = isinstance(slot.group, Slots) and any(search.group is slot.group for search in searches)
        return slot.number if attends else None

    def _shares(self, head: int) -> Shares:
        """Group the columns that a head writes: columns with equal weights are one share."""
        wv = self.rows.transformer.layers[LAYER].heads[head].wv
        equal_columns: dict[tuple, list[int]] = {}
        for column in np.unique(wv.column).tolist():
            in_column = wv.column == column
            entries = tuple(sorted(zip(wv.row[in_column].tolist(), wv.value[in_column].tolist(), strict=True)))
            equal_columns.setdefault(entries, []).append(column)
        return Shares([np.array(columns) for columns in equal_columns.values()], [{0} for _ in equal_columns])

    def _check_reads(self) -> None:
        """Check that no unit reads shares with weights of both signs, and that no later layer reads shares."""
        layers = self.rows.transformer.layers
        listed = np.concatenate([NONE, *(columns for shares in self.shares for columns in shares.columns)])
        w1 = layers[LAYER].mlp.w1
        reads_shares = np.isin(w1.row, listed)
        signs = {
            (int(u), int(np.sign(v))) for u, v in zip(w1.column[reads_shares], w1.value[reads_shares], strict=True) if v
        }
        if len({unit for unit, _ in signs}) < len(signs):
            raise ObligationFailed("a hidden unit reads shares with weights of both signs")
        later = [layer.mlp.w1.row for layer in layers[LAYER + 1 :]]
        if np.isin(np.concatenate([*later, self.rows.transformer.out.column]), listed).any():
            raise ObligationFailed("shares are read after the layer in which they are fetched")

    def collect_reports(self, reports_of: Callable[[Search, int], Iterable[RowReport]]) -> None:
        """Collect the reports of single rows of every search to their head; settle when shares are 0."""
        for search in self.claim.space.searches:
            heads = [head for head, searches in enumerate(self.searches) if search in searches]
            if len(heads) != 1:
                raise ObligationFailed(f"the rows of {search.name} are seen by {len(heads)} heads, not by one")
            self._reports[search] = list(dict.fromkeys(reports_of(search, heads[0])))
        arithmetic = self.claim.arithmetic
        for visible, shares in zip(self.visible, self.shares, strict=True):
            prove = partial(shares.compute_least, visible.weight, self.claim.precision)
            arithmetic.ledger.settle(f"{visible.name}: a share is 0 if and only if every row adds 0", "closure", prove)

    def reports(self, search: Search, *, waiting: bool) -> list[RowReport]:
        """Return the joint reports of the rows of a search to a slot; without `waiting`, those in which none waits."""
        return joint_reports(report for report in self._reports[search] if waiting or not report.waits)

    def reports_of_any(self, head: int) -> list[RowReport]:
        """Return the reports that a row without a search may receive: those to any slot."""
        every = [report for search in self.searches[head] for report in self.reports(search, waiting=True)]
        return list({report.signs: report for report in every}.values())

    def _outputs(self, signs: Sequence[np.ndarray], *, largest: bool) -> list[SomeColumns]:
        pairs = zip(self.shares, signs, strict=True)
        return [shares.head_output(sign, self.rows, largest=largest) for shares, sign in pairs]

    def layer(self, rows: np.ndarray, signs: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows after the layer; `signs` are, per head, whether shares are above 0 [shares, rows]."""
        low, high = (self.rows.residual(rows, self._outputs(signs, largest=largest)) for largest in (False, True))
        if (self.rows.hidden(LAYER, low) != self.rows.hidden(LAYER, high)).any():
            raise ObligationFailed("a hidden unit distinguishes shares above 0")
        return self.rows.layer(LAYER, low, ())


# Branch → cases: every combination of symbols that a row of a branch may read and of reports that it may receive.
#
# axis     the choices for one operand, or for a head whose row no operand reads: symbols, or results of a search
# case     one choice on every axis; operands that are the same row have the same symbol


MOST_CASES = 1 << 22
NOT_YET = -1
"""The expected symbol of a slot that still waits."""


@dataclass(frozen=True, eq=False)
class CaseAxis:
    """The choices on an axis: the symbol in the row, the argument of the rule, and whether the slot has to wait."""

    tokens: tuple[int, ...]
    arguments: tuple[Any, ...]
    waits: tuple[bool, ...]
    reports: tuple[RowReport, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


def read_axis(claim: SystemClaim, operand: Operand, *, waiting: bool) -> CaseAxis:
    """Return the axis of a letter, a slot or a value; with `waiting`, a slot may be masked. A value is in no row."""
    arguments = tuple(call_rule(operand.mapping, (value,), "a read") for value in operand.read_values)
    if operand.number is None:
        return CaseAxis((claim.mask,), arguments, (False,))
    listed = tuple(claim.tokens[value] for value in operand.read_values)
    if len(set(listed)) < len(listed) or claim.mask in listed:
        raise ObligationFailed("two values of a group have one symbol")
    if not waiting or operand.group is None:
        return CaseAxis(listed, arguments, (False,) * len(listed))
    return CaseAxis((*listed, claim.mask), (*arguments, None), (*(False for _ in listed), True))


def letter_axis(claim: SystemClaim) -> CaseAxis:
    """Return the axis of a letter that a head reads but no operand."""
    tokens = tuple(claim.tokens[letter] for letter in claim.system.letters)
    return CaseAxis(tokens, tokens, (False,) * len(tokens))


def reports_axis(reports: Sequence[RowReport], search: Search | None, mask: int) -> CaseAxis:
    """Return the axis of the results of a search; without a search, no rule uses them."""
    arguments = tuple(None if search is None else range_result(search.over, report.results) for report in reports)
    waits = tuple(search is not None and report.waits for report in reports)
    return CaseAxis((mask,) * len(reports), arguments, waits, tuple(reports))


class BranchCases:
    """All cases of a branch; the first axes are its operands."""

    def __init__(self, branch_rows: BranchRows, axes: Sequence[CaseAxis]) -> None:
        self.branch_rows, self.axes = branch_rows, axes
        count = prod(map(len, axes))
        if count > MOST_CASES:
            raise ObligationFailed(f"there are too many cases of {branch_rows.name}")
        choices = np.indices([len(axis) for axis in axes]).reshape(len(axes), count)
        self.tokens = _entries(axes, choices, lambda axis: axis.tokens, np.int64)
        self._consistent = np.ones(count, dtype=bool)
        for first, second in branch_rows.equal_operands:
            self._consistent &= self.tokens[first] == self.tokens[second]
        self.tokens, self.choices = self.tokens[:, self._consistent], choices[:, self._consistent]
        self.waits: np.ndarray = np.any(_entries(axes, self.choices, lambda axis: axis.waits, bool), axis=0)

    @property
    def count(self) -> int:
        return self.tokens.shape[1]

    def signs(self, axis: int) -> np.ndarray:
        """Return the signs of the shares [shares, cases], for the axis of a search."""
        reports = self.axes[axis].reports
        signs = np.array([report.signs for report in reports], dtype=bool).reshape(len(reports), len(reports[0].signs))
        return signs[self.choices[axis]].T

    def expected(self, claim: SystemClaim) -> np.ndarray:
        """Return the symbol of the rule's result in every case; NOT_YET where the slot waits."""
        group, branch = self.branch_rows.slot.group, self.branch_rows.branch
        assert isinstance(group, Slots)
        operands, other_axes = self.axes[: len(branch.operands)], self.axes[len(branch.operands) :]
        symbols = []
        for choice in product(*(zip(axis.arguments, axis.waits, strict=True) for axis in operands)):
            is_ready = not any(waits for _, waits in choice)
            arguments = tuple(value for value, _ in choice)
            symbols.append(
                claim.tokens[rule_result(group, branch.case, arguments, group.name)] if is_ready else NOT_YET
            )
        return np.repeat(np.array(symbols, dtype=np.int64), prod(map(len, other_axes)))[self._consistent]


def _entries(
    axes: Sequence[CaseAxis], choices: np.ndarray, entries_of: Callable[[CaseAxis], Sequence[Any]], kind: Any
) -> np.ndarray:
    """Return [axes, cases]: the entry that belongs to the choice on every axis."""
    entries = np.zeros(choices.shape, dtype=kind)
    for k, axis in enumerate(axes):
        entries[k] = np.array(entries_of(axis), dtype=kind)[choices[k]]
    return entries


# The results of the rows of a system, branch by branch: the rows that the heads read, and one finite table.


SELF, FIRST_LETTER = -1, -2
"""Sources of a head that are not operands: the row itself, and letter 0."""


class SystemTransformer:
    """One transformer: the row that each head reads in each branch, and the tables of its rows."""

    def __init__(self, claim: SystemClaim, name: str) -> None:
        self.claim, self.name = claim, name
        arithmetic, program = claim.arithmetic, claim.family.design.programs[name]
        self.rows = RowVectors(program, claim.precision, claim.family.least)
        self.reads = comparisons_of(program, 0, claim.precision, arithmetic, name)
        count = len(program.layers[LAYER].heads) if claim.search_branches and len(program.layers) > LAYER else 0
        self.rows.check_heads([len(self.reads), count] if count else [len(self.reads)])
        for read in self.reads:
            self._require_codes(read)
        self.sources = {rows: self._sources(rows) for rows in (*claim.slot_branches, *claim.search_branches)}
        self.outputs = [self._distinct_outputs(h) for h in range(len(self.reads))]
        self.search_heads = SearchHeads(claim, program, self.rows, name) if count else None
        if self.search_heads is not None:
            self.search_heads.collect_reports(self._reports_of)
        elif claim.search_branches:
            raise ObligationFailed(f"the {name} does not look at the rows of reads over a range")

    def settle(self, name: str, prove: Callable[[], str]) -> None:
        self.claim.arithmetic.ledger.settle(name, "enumeration", prove)

    def _require_codes(self, read: HeadRead) -> None:
        """Settle that the code of a row is the number of its slot, and that the code it asks for exists."""
        claim, arithmetic = self.claim, self.claim.arithmetic
        z3 = arithmetic.z3
        rows, capacity = claim.space.rows, arithmetic.at(read.capacity, arithmetic.row())
        for slot in claim.all_rows:
            key, address = arithmetic.at(read.key, slot.row), arithmetic.at(read.address, slot.row)
            arithmetic.require(
                f"{read.name}: the code of {slot.name} is its number, and has room",
                z3.And(key == slot.number, rows <= capacity),
                slot.facts,
            )
            arithmetic.require(
                f"{read.name}: {slot.name} asks for a row that is there",
                z3.And(address >= 0, address < rows),
                slot.facts,
            )

    def _sources(self, branch_rows: BranchRows) -> list[int]:
        """Return for each head the operand whose row it reads in a branch, SELF or FIRST_LETTER."""
        arithmetic, sources, goals = self.claim.arithmetic, [], []
        for read in self.reads:
            address = arithmetic.at(read.address, branch_rows.slot.row)
            numbers = {k: o.number for k, o in enumerate(branch_rows.operands) if o.number is not None}
            options = {**numbers, SELF: branch_rows.slot.number}
            if isinstance(branch_rows.slot.group, Search) and not numbers:
                options[FIRST_LETTER] = arithmetic.z3.IntVal(0)
            differs = {source: [*branch_rows.facts, address != number] for source, number in options.items()}
            source = next((source for source in options if is_impossible(arithmetic, differs[source])), None)
            if source is None:
                goals.append(arithmetic.z3.Or(*(address == number for number in options.values())))
            else:
                goals.append(address == options[source])
                sources.append(source)
        if goals:
            arithmetic.require(
                f"{self.name}: the heads of {branch_rows.name} read what its rule reads",
                arithmetic.z3.And(*goals),
                branch_rows.facts,
            )
        if len(sources) < len(self.reads):
            name = f"{self.name}: every head of {branch_rows.name} reads one row"
            arithmetic.ledger.settle(name, "search", _raise_different_rows)
        return sources

    def _distinct_outputs(self, head: int) -> tuple[SomeColumns, np.ndarray]:
        """Return the distinct outputs of a head, and for every symbol the number of its output, in any row."""
        claim, rows = self.claim, self.rows
        flags = [rows.flags(claim.arithmetic, slot.row, ()) for slot in claim.all_rows]
        symbols = len(claim.family.design.vocabulary.symbols)
        outputs = rows.head_output(0, head, rows.start(np.arange(symbols), np.concatenate(flags, axis=1)))
        first, inverse = distinct_by_hash(outputs.values)
        output_of = inverse.reshape(symbols, -1)
        if (output_of != output_of[:, :1]).any():
            raise ObligationFailed("the output of a head does not depend on the symbol alone")
        return outputs[first], output_of[:, 0]

    def _first_layer(self, rows: np.ndarray, head_symbols: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows [columns, cases] that read these symbols, after the first layer."""
        outputs = [
            distinct_outputs[output_of[symbols]]
            for (distinct_outputs, output_of), symbols in zip(self.outputs, head_symbols, strict=True)
        ]
        return self.rows.layer(0, rows, outputs)

    def outcomes(
        self, rows: np.ndarray, head_symbols: Sequence[np.ndarray], signs: Sequence[np.ndarray] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (symbols with the largest logits, these logits) of rows that read these symbols and signs."""
        count = rows.shape[1]
        chosen, largest = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        for chunk in chunks(count, self.rows.step):
            state = self._first_layer(rows[:, chunk], [symbols[chunk] for symbols in head_symbols])
            next_layer = 1
            if self.search_heads is not None:
                state = self.search_heads.layer(state, [sign[:, chunk] for sign in signs])
                next_layer += 1
            logits, which = self.rows.last_layers(state, next_layer)
            logits = logits.astype(np.int64)
            if self.name != "planner":
                logits[self.claim.mask] = NEVER
            chosen[chunk], largest[chunk] = logits.argmax(axis=0)[which], logits.max(axis=0)[which]
        return chosen, largest

    def _reports_of(self, search: Search, head: int) -> Iterable[RowReport]:
        """Yield the possible reports of one row of a search, for all symbols that it may read, including masks."""
        assert self.search_heads is not None
        for branch_rows in self.claim.search_branches:
            if branch_rows.slot.group is not search:
                continue
            cases = BranchCases(branch_rows, self._operand_axes(branch_rows, waiting=True))
            results = [self._results(search, cases, k) for k in range(cases.count)]
            for rows, head_symbols in self._start_rows(cases, self.claim.mask):
                state = self._first_layer(rows, head_symbols)
                signs = self.search_heads.shares[head].signs(self.rows.head_output(LAYER, head, state))
                for sign, its_results, waits in zip(signs.T.tolist(), results, cases.waits.tolist(), strict=True):
                    yield RowReport(tuple(sign), its_results, waits)

    def _results(self, search: Search, cases: BranchCases, k: int) -> frozenset:
        """Return the results of the function of a search in one case."""
        branch = cases.branch_rows.branch
        if not branch.is_called or cases.waits[k]:
            return frozenset()
        arguments = tuple(cases.axes[a].arguments[cases.choices[a, k]] for a in range(len(branch.operands)))
        return range_items(search.over, arguments, search.group.name)

    def _operand_axes(self, branch_rows: BranchRows, *, waiting: bool) -> list[CaseAxis]:
        """Return the axes of all operands, and of the letter that a row of a search without operands reads."""
        claim, axes = self.claim, []
        for operand in branch_rows.operands:
            if operand.search is None:
                axes.append(read_axis(claim, operand, waiting=waiting))
            else:
                assert self.search_heads is not None
                reports = self.search_heads.reports(operand.search, waiting=waiting)
                axes.append(reports_axis(reports, operand.search, claim.mask))
        return [*axes, letter_axis(claim)] if FIRST_LETTER in self.sources[branch_rows] else axes

    def _start_rows(self, cases: BranchCases, own_symbol: int) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Yield (rows before the first layer, symbols that each head reads) for all flags of the branch."""
        branch_rows, tokens = cases.branch_rows, cases.tokens
        flags = self.rows.flags(self.claim.arithmetic, branch_rows.slot.row, branch_rows.branch.conditions)
        if not flags.shape[1]:
            raise ObligationFailed(f"{branch_rows.name} does not occur")
        if cases.count * flags.shape[1] > MOST_CASES:
            raise ObligationFailed(f"there are too many cases of {branch_rows.name}")
        start = self.rows.start(np.array([own_symbol]), flags)
        own_symbols, operands = np.full(cases.count, own_symbol), len(branch_rows.operands)
        head_symbols = [
            own_symbols if source == SELF else tokens[operands if source == FIRST_LETTER else source]
            for source in self.sources[branch_rows]
        ]
        for k in range(flags.shape[1]):
            yield np.broadcast_to(start[:, k : k + 1], (start.shape[0], cases.count)), head_symbols

    def _every_case(self, branch_rows: BranchRows, *, waiting: bool) -> tuple[BranchCases, list[np.ndarray]]:
        """Return all cases of a branch, and the signs that each head of the second layer receives in each case."""
        axes = self._operand_axes(branch_rows, waiting=waiting)
        axis_of_head: list[int] = []  # per head of the second layer
        if self.search_heads is not None:
            axis_of_search = {o.search: k for k, o in enumerate(branch_rows.operands) if o.search is not None}
            for head, searches in enumerate(self.search_heads.searches):
                axis = next((axis_of_search[search] for search in searches if search in axis_of_search), None)
                if axis is None:
                    axes.append(reports_axis(self.search_heads.reports_of_any(head), None, self.claim.mask))
                axis_of_head.append(len(axes) - 1 if axis is None else axis)
        cases = BranchCases(branch_rows, axes)
        return cases, [cases.signs(axis) for axis in axis_of_head]

    def _outcomes(
        self, branch_rows: BranchRows, *, waiting: bool
    ) -> Iterator[tuple[BranchCases, int, np.ndarray, np.ndarray]]:
        """Yield (cases, own symbol, chosen symbols, logits); with `waiting`, also masked reads and written slots."""
        claim, group = self.claim, branch_rows.slot.group
        cases, signs = self._every_case(branch_rows, waiting=waiting)
        own_symbols = [claim.mask]
        if waiting and isinstance(group, Slots):
            own_symbols += [claim.tokens[value] for value in group.values]
        for own_symbol in own_symbols:
            for start, head_symbols in self._start_rows(cases, own_symbol):
                yield cases, own_symbol, *self.outcomes(start, head_symbols, signs)

    def check_values(self) -> str:
        """Check the symbols of masked slots whose reads are written."""
        total = 0
        for branch_rows in self.claim.slot_branches:
            expected = None
            for cases, _, chosen, _ in self._outcomes(branch_rows, waiting=False):
                expected = cases.expected(self.claim) if expected is None else expected
                if (chosen != expected).any():
                    raise ObligationFailed(f"a slot of {branch_rows.name} takes another value than its rule gives")
                total += cases.count
        return f"{total:,} cases"

    def check_choices(self) -> str:
        """Check that exactly the masked slots are chosen whose reads are written, and never a row of a search."""
        total = 0
        for branch_rows in (*self.claim.slot_branches, *self.claim.search_branches):
            for cases, own_symbol, chosen, _ in self._outcomes(branch_rows, waiting=True):
                if ((chosen == 1) != self._is_ready(cases, own_symbol)).any():
                    raise ObligationFailed(
                        f"a slot of {branch_rows.name} is not taken exactly where it is masked and its reads are not"
                    )
                total += cases.count
        return f"{total:,} cases"

    def check_choices_and_values(self) -> str:
        """Check that exactly the masked slots whose reads are written have a logit above -B, and then their values."""
        total = 0
        for branch_rows in (*self.claim.slot_branches, *self.claim.search_branches):
            expected = None
            for cases, own_symbol, chosen, largest in self._outcomes(branch_rows, waiting=True):
                is_ready = self._is_ready(cases, own_symbol)
                if ((largest > -self.rows.precision.bound) != is_ready).any():
                    raise ObligationFailed(
                        f"a slot of {branch_rows.name} does not take a symbol exactly where it is masked and ready"
                    )
                if is_ready.any():
                    expected = cases.expected(self.claim) if expected is None else expected
                    if (chosen[is_ready] != expected[is_ready]).any():
                        raise ObligationFailed(f"a slot of {branch_rows.name} takes another value than its rule gives")
                total += cases.count
        return f"{total:,} cases"

    def _is_ready(self, cases: BranchCases, own_symbol: int) -> np.ndarray:
        """Return in which cases a row is to be written: a slot that is masked and does not wait."""
        is_masked_slot = isinstance(cases.branch_rows.slot.group, Slots) and own_symbol == self.claim.mask
        return ~cases.waits & is_masked_slot


def _raise_different_rows() -> str:
    raise ObligationFailed("a head reads different rows in different cases")
