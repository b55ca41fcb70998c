"""System → SystemPlan: rows, heads and conjunctions, before registers are assigned.

    region    rows of a group in which one table is the rule; a read over a range has separate rows, its finder rows
    head      the m-th read of every region, by the code of the row that it reads
    channel   the c-th read over a range of every region: its finder rows, and the slots for which they search
    term      region ∧ literals → result

All values that a slot may have are tokens of one vocabulary, letters first.

A plan is for every N (`for_every_length`) or for one N (`at`), which is then a constant in all its expressions. The
regions of a plan for every N are those that have a slot at a few lengths. At any other length, `fits` checks that the
slots have the rows of the plan and that no other region has a slot.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unmask.errors import ProblemError, TooLarge
from unmask.expressions import Expression, N, Range, choose, constant
from unmask.expressions import n as row
from unmask.numerics.arithmetic import Precision
from unmask.programs.program import Vocabulary, vocabulary_of
from unmask.programs.recurrences.regions import ConstantLeaf, RangeLeaf, Region, case_regions, finder_regions
from unmask.programs.recurrences.rule_tables import (
    NEVER,
    Cube,
    Feature,
    ReadHead,
    ReadValues,
    all_combinations,
    are_sets,
    check_entries,
    cubes,
    is_each,
    items_of,
    meaning_of,
    value_features,
    variables_of,
)
from unmask.programs.recurrences.slot_rows import (
    Arrays,
    Block,
    Draft,
    FinderRows,
    NoFormula,
    Piece,
    SlotRows,
    constant_value,
    evaluating,
    position_formula,
    sampled,
)
from unmask.recurrences.interpreter import as_set, range_items, rule_description, rule_result
from unmask.recurrences.rule_functions import MOST_REPEATED_CALLS, at_line, check_function
from unmask.recurrences.slots import Case, Mapped, Slot, Slots, read_parts
from unmask.recurrences.system import System, cases_of, symbol_names, truth_names
from unmask.recurrences.unfolding import Unfolding


@dataclass(frozen=True, eq=False)
class Symbols:
    """The vocabulary, and the token of every value."""

    vocabulary: Vocabulary
    token: dict[Any, int]

    def tokens(self, values: Sequence[Any]) -> list[int]:
        return [self.token[value] for value in values]


def symbols_of_system(system: System, roles: Sequence[str]) -> Symbols:
    """Letters, then the other values in the order of the groups, then the special symbols."""
    names = symbol_names(system)
    vocabulary = vocabulary_of(
        list(names.values()), len(system.letters), (*roles, "reject", "accept"), preferred=truth_names(system)
    )
    token = {value: i for i, value in enumerate(names)}
    return Symbols(vocabulary, {**token, False: vocabulary["reject"], True: vocabulary["accept"]})


MOST_ADDED = 3


def most_added(precision: Precision) -> int:
    """The most literals that a unit may add up: their sum must be a number of F_p, without clipping."""
    return MOST_ADDED if precision.p > 1 else 1


@dataclass(frozen=True)
class Term:
    """A conjunction, and the features that hold if it does."""

    cube: Cube
    results: tuple[Feature, ...]


@dataclass(frozen=True, eq=False)
class PlannedRegion:
    """A region with its heads, channels and terms; `group` is None for finder rows."""

    name: str
    block: Block
    where: Expression
    group: Slots | None
    heads: dict[int, Expression]  # the head of each fetch, and the code that it looks up
    channels: tuple[int, ...]
    terms: tuple[Term, ...]

    @property
    def computes(self) -> tuple[Any, ...]:
        """The table of the region over its reads, independent of their positions."""
        return tuple(self.heads), self.channels, self.terms


@dataclass(eq=False)
class Channel:
    """Reads over a range, and the items that may be found."""

    finders: list[FinderRows] = field(default_factory=list)
    items: dict[Any, None] = field(default_factory=dict)

    @property
    def features(self) -> list[Feature]:
        return [("in", item) for item in self.items]

    @property
    def blocks(self) -> list[Block]:
        return [finders.block for finders in self.finders]


class SystemPlan(SlotRows):
    """The regions, heads and channels of a system; `starts` are the regions of the values before the first step."""

    def __init__(
        self, system: System, symbols: Symbols, unfoldings: Sequence[Unfolding], length: Expression, most_added: int
    ) -> None:
        super().__init__(system, unfoldings, length)
        self.symbols, self.most_added = symbols, most_added
        self.left_out: list[tuple[Slots | FinderRows, Expression]] = []
        """Regions of a plan for every N that have no slot at the lengths that were looked at."""
        self.waits = False  # whether a slot reads another slot
        self.heads: list[ReadHead] = []
        self.start_heads: list[ReadHead] = []
        self.channels: list[Channel] = []
        self.regions: list[PlannedRegion] = []
        self.starts: list[PlannedRegion] = []
        self._whole = set(_read_whole(system))
        drafts: list[Draft] = [
            (group, case, region) for group in self.groups for case, region in self._regions(group, group.rules)
        ]
        finders = self._finder_rows_of(drafts)
        self.blocks = self._blocks()
        self._plan(drafts, finders)
        if system.edits:
            for group in self.groups:
                for case, region in self._regions(group, group.starts):
                    self.starts.append(self._planned(group, case, region, {}, self.start_heads))

    @classmethod
    def at(cls, unfolding: Unfolding, symbols: Symbols, *, most_added: int = MOST_ADDED) -> "SystemPlan":
        """Return the plan of one length."""
        return cls(unfolding.system, symbols, [unfolding], constant(unfolding.length), most_added)

    @classmethod
    def for_every_length(
        cls, system: System, symbols: Symbols, unfoldings: Sequence[Unfolding], *, most_added: int
    ) -> "SystemPlan":
        """Return the plan for every N; raise NoFormula if a position is not a formula."""
        if system.edits:
            raise NoFormula
        return cls(system, symbols, unfoldings, N, most_added)

    @property
    def cases(self) -> frozenset:
        """The tables that the regions of this length compute; all lengths together have finitely many."""
        planned = [(False, region) for region in self.regions] + [(True, region) for region in self.starts]
        return frozenset((start, region.group and region.group.name, region.computes) for start, region in planned)

    def _plan(self, drafts: Sequence[Draft], finders: dict[tuple[int, int], FinderRows]) -> None:
        items: dict[FinderRows, list[Any]] = {}  # regions may share finder rows
        for number, (group, case, region) in enumerate(drafts):
            try:
                channels = self._channels_of(number, region, finders, items)
                self._add(self._planned(group, case, region, channels, self.heads))
            except TooLarge as error:
                raise at_line(case.line, error) from error

    def _channels_of(
        self,
        number: int,
        region: Region,
        finders: dict[tuple[int, int], FinderRows],
        items: dict[FinderRows, list[Any]],
    ) -> dict[int, tuple[int, list[Any]]]:
        """Return the channel and the items of every read over a range, by the index of the read."""
        channels: dict[int, tuple[int, list[Any]]] = {}
        for index, leaf in enumerate(region.leaves):
            if isinstance(leaf, RangeLeaf):
                finder_rows, channel = finders[number, index], len(channels)
                if channel == len(self.channels):
                    self.channels.append(Channel())
                if finder_rows not in items:
                    items[finder_rows] = self._plan_finders(finder_rows, channel)
                channels[index] = channel, items[finder_rows]
        return channels

    def _add(self, region: PlannedRegion) -> None:
        """Add a region. If another region of its block computes the same table, merge the two."""
        for number, other in enumerate(self.regions):
            if other.block is region.block and other.computes == region.computes:
                where = choose(other.where, 1, region.where)
                heads = {h: choose(other.where, code, region.heads[h]) for h, code in other.heads.items()}
                self.regions[number] = replace(other, where=where, heads=heads)
                return
        self.regions.append(region)

    def _regions(self, group: Slots, cases: Sequence[Case]) -> Iterator[tuple[Case, Region]]:
        if not self.every_length:
            yield from super()._regions(group, cases)
            return
        left_out: list[Expression] = []
        yield from _cut(cases, self._indices[group], left_out)
        self.left_out += [(group, where) for where in left_out]

    def _finder_regions(self, finders: FinderRows) -> Iterator[Region]:
        left_out: list[Expression] | None = [] if self.every_length else None
        yield from finder_regions(finders.over, evaluating(finders.block.indices), left_out)
        self.left_out += [(finders, where) for where in left_out or ()]

    def has_every_region(self, unfolding: Unfolding) -> bool:
        """Return True if every region of the plan has a slot at this length."""
        left_out: list[Expression] = []
        for group in self.groups:
            for _ in _cut(group.rules, sampled(group.ranges, [unfolding]), left_out):
                pass
        for finders in self.finders:
            for _ in finder_regions(finders.over, evaluating(sampled(finders.ranges, [unfolding])), left_out):
                pass
        return list(map(str, left_out)) == [str(where) for _, where in self.left_out]

    def rows_at(self, unfolding: Unfolding) -> SlotRows:
        """Return the rows of one length, if the plan fits it."""
        return SlotRows.placed(unfolding, [(finders.group, finders.over) for finders in self.finders])

    def fits(self, rows: SlotRows) -> bool:
        """Return True if the plan for every N has these rows at their length, and no omitted region has a slot."""
        if constant_value(rows.slots) != rows.unfolding.size:  # a slot reads over other ranges there
            return False
        listed = [(self.blocks[group], rows.blocks[group], group.ranges) for group in self.groups]
        finders_of = dict(zip(self.finders, rows.finders, strict=True))
        listed += [(finders.block, finders_at.block, finders_at.ranges) for finders, finders_at in finders_of.items()]
        if not all(_same_rows(*each, constant_value(rows.length)) for each in listed):
            return False
        return not any(
            (finders_of[of].block if isinstance(of, FinderRows) else rows.blocks[of]).evaluate(where).any()
            for of, where in self.left_out
        )

    def _check_reads_nothing(self, name: str) -> None:
        """Check that letter 0 exists if a finder row reads nothing, because it looks up letter 0."""
        if any(unfolding.length == 0 for unfolding in self.unfoldings):
            if self.every_length:
                raise NoFormula
            raise ProblemError(f"{name} reads neither a letter nor a slot at N = 0; compile it for longer words")

    def _plan_finders(self, finders: FinderRows, channel: int) -> list[Any]:
        """Plan the regions of finder rows. Return the items that may be found."""
        group, over, block = finders.group, finders.over, finders.block
        items: dict[Any, None] = {}
        for region in self._finder_regions(finders):
            name = self._name(f"{group.name}: {over.range.name}")
            fetched, read_values = self._fetch(region, {}, self.heads)
            if not fetched:
                self._check_reads_nothing(name)
            listed = [
                items_of([as_set(value, read, over.line) for value in values]) if is_each(leaf) else values
                for read, leaf, values in zip(over.reads, region.leaves, read_values.values, strict=True)
            ]
            check_entries([len(values) for values in listed], name)
            terms: list[Term] = []
            entries: list[tuple[tuple[Any, ...], frozenset]] = []
            for numbers, values in all_combinations(listed):
                whole = tuple(
                    frozenset([v]) if is_each(leaf) else v for leaf, v in zip(region.leaves, values, strict=True)
                )
                entries.append((whole, range_items(over, whole, name)))
                results = items_of([entries[-1][1]])
                if results:
                    items.update(dict.fromkeys(results))
                    cube = read_values.cube(region.leaves, numbers, values)
                    terms.append(Term(cube, tuple(("in", item) for item in results)))
            check_function(
                lambda whole, name=name: range_items(over, whole, name),
                entries[:MOST_REPEATED_CALLS],
                rule_description(over, name),
            )
            self._add(PlannedRegion(name, block, region.where, None, fetched, (), tuple(terms)))
        ordered = items_of([frozenset(items)]) if over.kind == "collect" else [True]
        self.channels[channel].items.update(dict.fromkeys(ordered))
        self.channels[channel].finders.append(finders)
        return ordered

    def _fetch(
        self, region: Region, channels: dict[int, tuple[int, list[Any]]], heads: list[ReadHead]
    ) -> tuple[dict[int, Expression], ReadValues]:
        """Plan a head for every fetch. Return the address that each head looks up, and the values of all reads."""
        addresses: dict[int, Expression] = {}
        read_values = ReadValues()
        for index, leaf in enumerate(region.leaves):
            if isinstance(leaf, ConstantLeaf):
                read_values.add([leaf.value], [], [()])
            elif isinstance(leaf, RangeLeaf):
                channel, items = channels[index]
                read_values.add_range(leaf.over, channel, items)
            else:
                meaning, values = meaning_of(leaf, self.symbols.token, self.system.letters)
                number = next(
                    h
                    for h in range(len(heads) + 1)
                    if h not in addresses and (h == len(heads) or heads[h].agrees(meaning))
                )
                if number == len(heads):
                    heads.append(ReadHead())
                heads[number].meaning.update(meaning)
                self.waits |= leaf.source is not None
                code = leaf.indices[0] if leaf.source is None else self.boxes[leaf.source].code(leaf.indices)
                addresses[number] = code
                read_values.add(values, *variables_of(("read", number), values))
        return addresses, read_values

    def _planned(
        self,
        group: Slots,
        case: Case,
        region: Region,
        channels: dict[int, tuple[int, list[Any]]],
        heads: list[ReadHead],
    ) -> PlannedRegion:
        name = self._name(group.name)
        addresses, read_values = self._fetch(region, channels, heads)
        check_entries([len(listed) for listed in read_values.values], group.name)
        number_of = {value: i for i, value in enumerate(group.values)}
        results = read_values.table()
        results_by_values: list[tuple[tuple[Any, ...], Any]] = []
        for numbers, values in all_combinations(read_values.values):
            results_by_values.append((values, rule_result(group, case, values, group.name)))
            results[read_values.index(numbers)] = number_of[results_by_values[-1][1]]
        check_function(
            lambda values: rule_result(group, case, values, group.name),
            results_by_values[:MOST_REPEATED_CALLS],
            rule_description(case, group.name),
        )
        terms = tuple(self._terms(group, read_values, results))
        numbers_of_channels = tuple(channel for channel, _ in channels.values())
        return PlannedRegion(name, self.blocks[group], region.where, group, addresses, numbers_of_channels, terms)

    def _terms(self, group: Slots, read_values: ReadValues, results: np.ndarray) -> Iterator[Term]:
        """A cube for every result or, for a set, for every item."""
        if not self.is_coded_as_sets(group):
            for cube in cubes(read_values.variables, results):
                yield Term(cube, (("is", group.values[cube.result]),))
            return
        for item in items_of(group.values):
            holds = np.array([item in value for value in group.values], dtype=np.int64)
            for cube in cubes(read_values.variables, np.where(results == NEVER, NEVER, holds[results])):
                yield Term(cube, (("in" if cube.result else "out", item),))

    def is_coded_as_sets(self, group: Slots) -> bool:
        """Return whether a slot of the group is computed item by item."""
        return are_sets(group.values) and group not in self._whole

    def result_features(self, group: Slots) -> list[Feature]:
        items = items_of(group.values) if self.is_coded_as_sets(group) else None
        if items is None:
            return [("is", value) for value in group.values]
        return [feature for item in items for feature in (("in", item), ("out", item))]

    def token_features(self, group: Slots, value: Any) -> list[Feature]:
        """The features that a slot of the group has computed if this is its value."""
        return value_features(value, items_of(group.values) if self.is_coded_as_sets(group) else None)

    def _name(self, base: str) -> str:
        taken_names = {region.name for region in (*self.regions, *self.starts)}
        return (
            base
            if base not in taken_names
            else next(n for i in range(2, 10_000) if (n := f"{base} ({i})") not in taken_names)
        )

    def row_codes(self) -> Expression | np.ndarray:
        """Return the code of every row; codes are distinct."""
        codes = [(finders.block, finders.code) for finders in self.finders]
        return self.declared([*codes, *((self.blocks[group], self.own_code(group)) for group in self.groups)], row)

    def address(
        self, head: int, regions: Sequence[PlannedRegion], unread: int | None = None
    ) -> Expression | np.ndarray:
        """Return the code that each row looks up; a row without such a read repeats its first read.

        A row that reads nothing looks up `unread`. If that is not given, it looks up itself, or letter 0 if it is a
        finder row.
        """
        blocks = [(self.blocks[group], self.own_code(group)) for group in self.groups]
        blocks += [(finders.block, constant(0)) for channel in self.channels for finders in channel.finders]
        pieces: list[Piece] = []
        for block, own_code in blocks:
            rest = own_code if unread is None else constant(unread)
            address_of = {
                r: r.heads.get(head, next(iter(r.heads.values()))) for r in regions if r.heads and r.block is block
            }
            pieces += self._pieces(address_of, rest) or [(block, rest)]
        return self.declared(pieces, row)

    def has_single_target(self, channel: int) -> bool:
        """Return True if all rows of the channel find for one slot, in which case no target code is needed."""
        finders = self.channels[channel].finders
        return len(finders) == 1 and not finders[0].group.ranges

    def _first_target(self, channel: int) -> Expression:
        """Return the code of a slot that has finder rows."""
        finders = self.channels[channel].finders
        if self.every_length:
            return self.boxes[finders[0].group].base
        first = next(rows for rows in finders if constant_value(rows.block.count))
        return constant(int(first.block.evaluate(first.target)[0]))

    def target(self, channel: int, otherwise: int | None = None) -> Expression | np.ndarray:
        """Return the target code of every row.

        It is the code of the slot in its finder rows and in the slot itself. Other rows have the code of any such slot.
        """
        finders = self.channels[channel].finders
        any_target = self._first_target(channel) if otherwise is None else constant(otherwise)
        code_of = {
            region: self.own_code(region.group)
            for region in self.regions
            if channel in region.channels and region.group is not None
        }
        pieces = [
            *((rows.block, rows.target) for rows in finders),
            *self._pieces(code_of, any_target),
        ]
        return self.declared(pieces, position_formula(any_target, {"N": N}))

    def not_in(self, regions: Sequence[PlannedRegion]) -> Expression | np.ndarray:
        """Return 1 in the rows outside these regions, 0 inside."""
        return self.declared(self._pieces(dict.fromkeys(regions, constant(0)), constant(1)), constant(1))

    def in_blocks(self, blocks: Sequence[Block], inside: int) -> Expression | np.ndarray:
        """Return `inside` in the rows of these blocks, and 1 - `inside` elsewhere."""
        return self.declared([(block, constant(inside)) for block in blocks], constant(1 - inside))

    def _pieces(self, expression_of: dict[PlannedRegion, Expression], rest: Expression) -> list[Piece]:
        """Per block: the expression of the region that a row belongs to."""
        pieces: dict[Block, Expression] = {}
        for region, expression in expression_of.items():
            everywhere = region.where.operator == "constant" and region.where.value
            other = pieces.get(region.block, rest)
            pieces[region.block] = expression if everywhere else choose(region.where, expression, other)
        return list(pieces.items())


def _same_rows(every: Block, block: Block, ranges: Sequence[Range], length: int) -> bool:
    """Return True if the rows of a block at one length are those of the formulas."""
    first, count = every.first.at(length), every.count.at(length)
    if (first, count) != (constant_value(block.first), constant_value(block.count)):
        return False
    positions = np.arange(first, first + count)
    indices = [every.formulas[over.name].at_positions(length, positions) for over in ranges]
    return all(np.array_equal(a, block.indices[over.name]) for a, over in zip(indices, ranges, strict=True))


def _cut(cases: Sequence[Case], arrays: Arrays, left_out: list[Expression]) -> Iterator[tuple[Case, Region]]:
    """The regions of a group that have a slot among these; `left_out` collects the conditions of the others."""
    return case_regions(cases, arrays["N"].size, evaluating(arrays), left_out)


def _read_whole(system: System) -> Iterator[Slots]:
    """The groups of sets for which some read applies a function to the whole set."""
    for _, case in cases_of(system):
        for read in read_parts(case.reads):
            if isinstance(read, Mapped):
                yield from (inner.group for inner in read_parts([read]) if isinstance(inner, Slot))
