"""What the rows of a system compute, branch by branch: which rows the heads read, and one finite table for each."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from unmask.recurrences.interpreter import found_by
from unmask.recurrences.slots import Slots
from unmask.verification.families.obligations.heads import Read, comparisons_of
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.rows import NEVER, Brought, Rows, distinct, in_parts
from unmask.verification.families.systems.cases import MOST_CASES, Axis, Cases, letter_axis, read_axis, told_axis
from unmask.verification.families.systems.claim import Place, SystemClaim, impossible
from unmask.verification.families.systems.searches import LAYER, Gathers, Told
from unmask.verification.families.systems.slots import Search

SELF, NOW_THIS, FIRST_LETTER = -1, -2, -3


class Part:
    """One transformer: which row every head reads in every branch, and the tables of its rows."""

    def __init__(self, claim: SystemClaim, name: str) -> None:
        self.claim, self.name = claim, name
        arithmetic, program = claim.arithmetic, claim.family.design.programs[name]
        self.rows = Rows(program, claim.precision, claim.family.least)
        self.reads = comparisons_of(program, 0, claim.precision, arithmetic, name)
        gathers = len(program.layers[LAYER].heads) if claim.finding and len(program.layers) > LAYER else 0
        self.rows.check_heads([len(self.reads), gathers] if gathers else [len(self.reads)])
        for read in self.reads:
            self._codes(read)
        self.sources = {place: self._sources(place) for place in (*claim.places, *claim.finding)}
        self.brought = [self._brought(h) for h in range(len(self.reads))]
        self.gathers = Gathers(claim, program, self.rows, name) if gathers else None
        if self.gathers is not None:
            self.gathers.listen(self._tell)
        elif claim.finding:
            raise Open(f"the {name} does not look at the rows of reads over a range")

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

    def _brought(self, head: int) -> tuple[Brought, np.ndarray]:
        """One vector per class, and the class of every symbol, whichever row holds it."""
        claim, rows = self.claim, self.rows
        flags = [rows.flags(claim.arithmetic, slot.row, ()) for slot in claim.everywhere]
        symbols = len(claim.family.design.vocabulary.symbols)
        brought = rows.fetched(0, head, rows.start(np.arange(symbols), np.concatenate(flags, axis=1)))
        first, inverse = distinct(brought.values)
        classes = inverse.reshape(symbols, -1)
        if (classes != classes[:, :1]).any():
            raise Open("the output of a head does not depend on the symbol alone")
        return brought[first], classes[:, 0]

    def _first_layer(self, own: np.ndarray, heads: Sequence[np.ndarray]) -> np.ndarray:
        """After the first layer: rows [columns, cases] that read these symbols."""
        brought = [of[classes[symbols]] for (of, classes), symbols in zip(self.brought, heads, strict=True)]
        return self.rows.layer(0, own, brought)

    def outcomes(
        self, own: np.ndarray, heads: Sequence[np.ndarray], signs: Sequence[np.ndarray] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """(what is chosen, its logit) for rows [columns, cases] that read these symbols, and hear these signs."""
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

    def _tell(self, search: Search, head: int) -> Iterable[Told]:
        """What one row of a search may tell, by what it reads, masks included."""
        assert self.gathers is not None
        for place in self.claim.finding:
            if place.slot.group is not search:
                continue
            cases = Cases(place, self._read(place, waiting=True))
            found = [self._found(search, cases, k) for k in range(cases.count)]
            for own, heads in self._starts(cases, [self.claim.mask]):
                state = self._first_layer(own, heads)
                signs = self.gathers.shares[head].signs(self.rows.fetched(LAYER, head, state))
                for sign, items, waits in zip(signs.T.tolist(), found, cases.waits.tolist(), strict=True):
                    yield Told(tuple(sign), items, waits)

    def _found(self, search: Search, cases: Cases, k: int) -> frozenset:
        """What the function of a search gives in one case."""
        branch = cases.place.branch
        if not branch.counts or cases.waits[k]:
            return frozenset()
        given = tuple(cases.axes[a].given[cases.chosen[a, k]] for a in range(len(branch.operands)))
        return found_by(search.over, given, search.group.name)

    def _read(self, place: Place, *, waiting: bool) -> list[Axis]:
        """What every operand may be; then the letter that a row reads that has nothing to read."""
        claim, axes = self.claim, []
        for operand in place.branch.operands:
            if operand.search is None:
                axes.append(read_axis(claim, operand, waiting=waiting))
            else:
                assert self.gathers is not None
                told = self.gathers.told(operand.search, waiting=waiting)
                axes.append(told_axis(told, operand.search, claim.mask))
        return [*axes, letter_axis(claim)] if FIRST_LETTER in self.sources[place] else axes

    def _starts(self, cases: Cases, owns: Sequence[int]) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Rows before the first layer, and the symbols that their heads read, for all flags of the branch."""
        place, tokens = cases.place, cases.tokens
        flags = self.rows.flags(self.claim.arithmetic, place.slot.row, place.branch.conditions)
        if not flags.shape[1]:
            raise Open(f"{place.name} does not occur")
        if cases.count * len(owns) * flags.shape[1] > MOST_CASES:
            raise Open(f"there are too many cases of {place.name}")
        for own in owns:
            start = self.rows.start(np.array([own]), flags)
            others = {SELF: lambda own=own: np.full(cases.count, own)}
            others[FIRST_LETTER] = lambda: tokens[len(place.branch.operands)]
            heads = [others[source]() if source in others else tokens[source] for source in self.sources[place]]
            for k in range(flags.shape[1]):
                yield np.broadcast_to(start[:, k : k + 1], (start.shape[0], cases.count)), heads

    def _every_case(self, place: Place, *, waiting: bool) -> tuple[Cases, list[np.ndarray]]:
        """All that a branch may read and hear, and per head of the second layer the signs that it hears."""
        axes = self._read(place, waiting=waiting)
        heard: list[int] = []  # per head the axis of what it hears
        if self.gathers is not None:
            asked = {o.search: k for k, o in enumerate(place.branch.operands) if o.search is not None}
            for head, shown in enumerate(self.gathers.shown):
                axis = next((asked[search] for search in shown if search in asked), None)
                if axis is None:
                    axes.append(told_axis(self.gathers.told_by_any(head), None, self.claim.mask))
                heard.append(len(axes) - 1 if axis is None else axis)
        cases = Cases(place, axes)
        return cases, [cases.signs(axis) for axis in heard]

    def _outcomes(self, place: Place, *, waiting: bool) -> Iterator[tuple[Cases, int, np.ndarray, np.ndarray]]:
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
                    raise Open(f"a slot of {place.name} takes another value than its rule gives")
                total += cases.count
        return f"{total:,} cases"

    def chooses(self) -> str:
        """If and only if it is masked and nothing that it reads is; a row that finds never."""
        total = 0
        for place in (*self.claim.places, *self.claim.finding):
            for cases, own, chosen, _ in self._outcomes(place, waiting=True):
                if ((chosen == 1) != self._ready(cases, own)).any():
                    raise Open(f"a slot of {place.name} is not taken exactly where it is masked and its reads are not")
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
                    raise Open(f"a slot of {place.name} does not take a symbol exactly where it is masked and ready")
                if ready.any():
                    right = cases.right(self.claim) if right is None else right
                    if (chosen[ready] != right[ready]).any():
                        raise Open(f"a slot of {place.name} takes another value than its rule gives")
                total += cases.count
        return f"{total:,} cases"

    def _ready(self, cases: Cases, own: int) -> np.ndarray:
        """Where a row is to be taken: a slot that is masked and does not wait."""
        slot = isinstance(cases.place.slot.group, Slots) and own == self.claim.mask
        return ~cases.waits & slot


def _open() -> str:
    raise Open("a head reads different rows in different cases")
