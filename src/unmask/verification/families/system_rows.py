"""What the rows of a system compute, branch by branch: which rows the heads read, and one finite table for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from unmask.recurrences.interpreter import called, result_of
from unmask.verification.families.heads import Read, comparisons_of
from unmask.verification.families.ledger import Open
from unmask.verification.families.node import NEVER
from unmask.verification.families.rows import Brought, Rows, distinct, in_parts
from unmask.verification.families.slots import Operand
from unmask.verification.families.system_claim import Place, SystemClaim, impossible

MOST_CASES = 1 << 22
SELF, NOW_THIS = -1, -2


class Part:
    """One transformer: which row every head reads in every branch, and the tables of its rows."""

    def __init__(self, claim: SystemClaim, name: str) -> None:
        self.claim, self.name = claim, name
        arithmetic, program = claim.arithmetic, claim.family.design.programs[name]
        self.rows = Rows(program, claim.precision, claim.family.least)
        self.reads = comparisons_of(program, 0, claim.precision, arithmetic, name)
        self.rows.check_single_pass(len(self.reads))
        for read in self.reads:
            self._codes(read)
        self.sources = [self._sources(place) for place in claim.places]
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
        symbols = symbols[:, _agreeing(symbols, place)]
        count = symbols.shape[1]
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


def _open() -> str:
    raise Open("a head reads now this row, now that one")


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


def _agreeing(symbols: np.ndarray, place: Place) -> np.ndarray:
    """The cases in which a row that is read twice holds one symbol."""
    kept = np.ones(symbols.shape[1], dtype=bool)
    for first, again in place.same:
        kept &= symbols[first] == symbols[again]
    return np.flatnonzero(kept)


def _right(claim: SystemClaim, place: Place) -> np.ndarray:
    """The symbol of what the rule gives, for all values of what it reads, in the order of the cases."""
    group, case = place.slot.group, place.branch.case
    assert group is not None
    right = []
    for held in product(*(o.held for o in place.branch.operands)):
        if any(held[first] != held[again] for first, again in place.same):
            continue
        given = tuple(
            called(o.mapping, (value,), group.name) for o, value in zip(place.branch.operands, held, strict=True)
        )
        right.append(claim.tokens[result_of(group, case, given, group.name)])
    return np.array(right, dtype=np.int64)
