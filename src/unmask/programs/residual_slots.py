"""A residual stream that is kept in slots: reading and writing it, a clock for the steps, slots that draw noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np

from unmask.expressions import Expression, both, choose, constant, n
from unmask.numerics.arithmetic import DIGITS, Precision, clip
from unmask.numerics.noise import DRAWS, gumbel_law, noise_counts
from unmask.programs.declarations import AllBut, OneHot, Thermometer
from unmask.programs.gadgets.attention import constant_code, eq, hide, hide_later, lookup, match, scaled
from unmask.programs.gadgets.mlp import conjunction, threshold, veto
from unmask.programs.gadgets.whole_layers import detect, everywhere
from unmask.programs.program import (
    ONE,
    B,
    Coefficient,
    Columns,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
    bits_for,
)


@dataclass(frozen=True)
class SlotLayout:
    """Where a residual stream is stored in slots: `rows` rows of `entries` numbers each, from position `first` on.

    After them come `between` slots of the last row, then one slot for each of the last `answers` rows
    (lem:idenitity-dump).

    Statement:    R rows of E numbers are stored as symbols in R·E slots, and read back by the rows that host them.
    Construction: the alphabet is F_p itself. Slot (r, e) is number r·E + e; row r has one host.
                  dump    slot (r, e) looks up host r, SELECT_e in the MLP, SELF merges the signs, ONEHOT: 2 layers
                  read    a head per entry: host r looks up slot (r, e), for e = 0 … E - 1:          1 layer
                          or one head:      slots spread their bit planes over E columns (MLP), host r attends to its
                                            E slots at once, THRESH, SELF recombines Σ_k 2^(k-p)·bit_k: 2 layers
    Bounds:       R·E slots, 2^(2p+1) - 1 symbols; E heads, or one head and 12·p·E columns. Least p: 1.
    Exactness:    exact for all numbers of F_p.
    Deviations:   the paper stores bits alone; the stream of a transformer holds any number of F_p. Its positions divide
                  without rounding down, its keys include the slots themselves. It brings the stream to the N input
                  rows, but N + P rows need a host: here rows that are given host themselves, the others are hosted by
                  the first slot of their group. An average over E slots is never multiplied by E ([1/E]·E ≠ 1): it is
                  compared with 0, bit plane by bit plane.
    """

    first: Expression
    rows: Expression
    entries: int
    between: int = 0
    answers: int = 1

    @property
    def storing(self) -> Expression:
        """[this is a slot that stores a number]."""
        return both(n >= self.first, n < self.first + self.rows * self.entries)

    @property
    def entry(self) -> Expression:
        return (n - self.first) % self.entries

    @property
    def row(self) -> Expression:
        """The row whose number is stored here; a given row is its own; behind, the row of the answer, or the last."""
        behind = self.rows - 1
        if self.answers > 1:
            first_answer = self.first + self.rows * self.entries + self.between
            behind = choose(n < first_answer, behind, self.rows - self.answers + (n - first_answer))
        return choose(n < self.first, n, choose(self.storing, (n - self.first) // self.entries, behind))

    @property
    def hosting(self) -> Expression:
        """[this position hosts a row of the stream]: given rows, and the first slot of every other group."""
        return choose(n < self.first, 1, both(self.storing, both(self.entry.equals(0), self.row >= self.first)))


@dataclass(frozen=True, eq=False)
class SlotAddresses:
    """Codes of the row that a position belongs to, stores, hosts (rows that do not exist where it does not)."""

    row: Columns
    stored: Columns
    hosted: Columns
    entry: Columns
    others: Columns
    storing: Columns
    guest: Columns

    @classmethod
    def of(cls, program: Program, layout: SlotLayout, rows: int) -> "SlotAddresses":
        bits = bits_for(rows + 1)
        nowhere = layout.rows
        return cls(
            row=program.code("row", layout.row, bits),
            stored=program.code("stored row", choose(layout.storing, layout.row, nowhere), bits),
            hosted=program.code("hosted row", choose(layout.hosting, layout.row, nowhere), bits),
            entry=program.code("entry", layout.entry, bits_for(layout.entries)),
            others=program.register("other entries", layout.entries, AllBut(layout.entry)),
            storing=program.flag("storing", layout.storing),
            guest=program.flag("guest", layout.hosting.equals(0)),
        )

    def host(self, layer: LayerBuilder) -> HeadBuilder:
        """LOOKUP of the host of the own row."""
        return lookup(layer, self.row, self.hosted)

    def slot(self, layer: LayerBuilder, entry: int) -> HeadBuilder:
        """LOOKUP of the slot that stores an entry of the own row."""
        head = layer.head()
        query = [*scaled(self.row, B), *constant_code(entry, self.entry.size, head.one)]
        match(head, query, np.concatenate([self.stored, self.entry]))
        return head

    def slots(self, layer: LayerBuilder) -> HeadBuilder:
        """A head that attends to all slots of the own row alike, with a weight of at least 2^-p."""
        head = layer.head()
        eq(head, self.row, self.stored)
        return head


class StreamReader(Protocol):
    """How hosts get the stored numbers: expand, in an earlier layer than fetch, in an earlier one than restore."""

    expands: bool

    def embed(self, program: Program, symbols: np.ndarray, numbers: Sequence[int] | range) -> None: ...

    def expand(self, layer: LayerBuilder) -> None: ...

    def fetch(self, layer: LayerBuilder) -> None: ...

    def restore(self, head: HeadBuilder, entries: np.ndarray, target: Columns) -> None:
        """In a SELF head: target_i += the number of entries[i]; 0 where nothing is stored yet."""
        ...


class HeadPerEntry:
    """One LOOKUP per entry."""

    expands = False

    def __init__(self, program: Program, at: SlotAddresses, entries: int) -> None:
        self.at = at
        self.number = program.register("stored number")
        self.fetched = program.register("fetched", entries)

    def embed(self, program: Program, symbols: np.ndarray, numbers: Sequence[int] | range) -> None:
        program.embed(symbols, self.number, np.array(numbers))

    def expand(self, layer: LayerBuilder) -> None:
        """Nothing to prepare."""

    def fetch(self, layer: LayerBuilder) -> None:
        for entry, column in enumerate(self.fetched):
            self.at.slot(layer, entry).copy(self.number, column)

    def restore(self, head: HeadBuilder, entries: np.ndarray, target: Columns) -> None:
        head.copy(self.fetched[entries], target)


class OneHead:
    """One head for all entries: the bits of a number's two signs, each in a column of its entry."""

    expands = True

    def __init__(self, program: Program, at: SlotAddresses, entries: int, planes: int) -> None:
        self.at, self.entries = at, entries
        self.plane = program.register("bit planes", [f"{sign}{k}" for sign in "+-" for k in range(planes)])
        labels = [f"{sign}{k} of {e}" for sign in "+-" for k in range(planes) for e in range(entries)]
        self.spread, self.averaged, self.bit = (
            program.register(name, labels) for name in ("bits by entry", "averaged bits", "fetched bits")
        )
        self.planes = planes

    def embed(self, program: Program, symbols: np.ndarray, numbers: Sequence[int] | range) -> None:
        magnitudes = {sign: np.maximum(sign * np.array(numbers), 0) for sign in (1, -1)}
        for sign, planes in ((1, self.plane[: self.planes]), (-1, self.plane[self.planes :])):
            for k, column in enumerate(planes):
                program.embed(symbols[magnitudes[sign] >> k & 1 == 1], column)

    def expand(self, layer: LayerBuilder) -> None:
        negated = np.tile(self.at.others, self.plane.size)[:, None]
        layer.mlp.write(conjunction(layer.mlp, np.repeat(self.plane, self.entries), negated), self.spread)

    def fetch(self, layer: LayerBuilder) -> None:
        self.at.slots(layer).copy(self.spread, self.averaged)
        threshold(layer.mlp, self.averaged, self.bit)

    def restore(self, head: HeadBuilder, entries: np.ndarray, target: Columns) -> None:
        bit = self.bit.reshape(2, self.planes, self.entries)
        for sign, planes in ((1, bit[0]), (-1, bit[1])):
            for k, columns in enumerate(planes):
                head.copy(columns[entries], target, Coefficient("2^-p", sign * (1 << k)))


@dataclass(frozen=True, eq=False)
class BinaryClock:
    """A clock for T steps in ⌈log2 T⌉ slots from one position on: the number of steps taken so far, in binary.

        slot k holds bit k of the number of steps taken so far: the symbols of two numbers, ⟨0⟩ and ⟨1⟩; masked is 0
        blocked(k) = some slot j < k is off              one head, THRESH
        next(k)    = off(k) XOR blocked(k)               an MLP of a later layer; XOR is a sum of two exclusive ANDs
        waiting    = some slot that is on in T - 1 is off: the count is at most T - 1, so exactly before the last step

    Bounds:       ⌈log2 T⌉ slots, no symbol; 2·⌈log2 T⌉ + 9 columns: what a slot sees is a thermometer code.
    Exactness:    exact for T steps, for p >= 1. Nobody counts beyond T - 1.
    """

    off: Columns
    counting: Columns
    elsewhere: Columns
    lowest: Columns
    not_due: Columns
    place: Columns
    after: Columns
    averages: Columns
    waiting: Columns
    blocked: Columns

    @classmethod
    def of(cls, program: Program, first: Expression, steps: int) -> "BinaryClock":
        """A clock of `steps` >= 2 steps, lowest bit first."""
        places = clock_slots(steps)
        counting = both(n >= first, n < first + places)
        place = n - first
        due = constant(0)
        for k in range(places):
            due = choose(place.equals(k), constant((steps - 1) >> k & 1), due)
        seen = choose(counting, (place - 1).positive_part(), places)  # the lowest sees itself, others what is below
        return cls(
            off=program.register("bit is off"),
            counting=program.flag("counting", counting),
            elsewhere=program.flag("not counting", counting.equals(0)),
            lowest=program.flag("lowest bit", place.equals(0)),
            not_due=program.flag("not on at the end", due.equals(0)),
            place=program.register("place of the bit", places, OneHot(place, counting)),
            after=program.register("places not below", places, Thermometer(seen)),
            averages=program.register("how many are off", ("at the end", "below")),
            waiting=program.register("not the last step"),
            blocked=program.register("no carry"),
        )

    def embed(self, program: Program, *off: int) -> None:
        """The symbols that a slot of the clock holds where its bit is 0."""
        program.embed(off, self.off)

    def look(self, layer: LayerBuilder) -> None:
        """Every row: is this not the last step? Every slot of the clock: is there no carry?"""
        at_the_end = everywhere(layer)
        hide(at_the_end, self.not_due, copies=1)
        detect(at_the_end, layer.mlp, self.off, self.averages[:1], self.waiting)
        below = everywhere(layer)
        hide_later(below, self.after, self.place)
        hide(below, self.elsewhere)
        detect(below, layer.mlp, self.off, self.averages[1:], self.blocked)
        veto(layer.mlp, self.lowest, self.blocked)

    def tick(self, mlp: MlpBuilder, codes: list[tuple[int, int]]) -> None:
        """In a layer after `look`: the next bit; each of `codes` is the column of ⟨0⟩ and that of ⟨1⟩."""
        flips = [
            conjunction(mlp, self.off, [[self.blocked[0], self.elsewhere[0]]]),
            conjunction(mlp, self.blocked, [[self.off[0], self.elsewhere[0]]]),
        ]
        next_on = np.concatenate(flips)
        here = conjunction(mlp, self.counting, [[]])
        for zero, one in codes:
            mlp.write(next_on, np.array([one]))
            mlp.write(next_on, np.array([zero]), -ONE)
            mlp.write(here, np.array([zero]))


def clock_slots(steps: int) -> int:
    """⌈log2 T⌉: what a clock of `steps` steps takes."""
    return (steps - 1).bit_length()


def noise_logits(precision: Precision) -> np.ndarray:
    """Return a logit for every number of F_p, in increasing order; their Gumbel-max is close to the noise.

        logit(0) = 0,   logit(v) = min([ln P(noise = v) - ln P(noise = 0)], 0) - 2^-p;   without a tape 0 is drawn

    What holds: a slot with these logits draws anew in every step, independently of the input and of all other slots.
    Its law, which `gumbel_law` computes exactly, is not that of the noise: logits of F_p are rounded, scores tie and
    clip. The distance in total variation, which `noise_distance` computes, is below 0.296, 0.0991, 0.0234, 0.0117 for p
    = 1, 2, 3, 4. Changing the logits one by one lowers it to no less than 0.05 for p = 2 and 0.015 for p = 3; logits
    that give the noise exactly are not known.
    """
    context = Context(prec=DIGITS)
    counts = noise_counts(precision)
    at_zero = context.ln(Decimal(counts[0]))
    logits = []
    for v in precision.numbers():
        if v not in counts:
            logits.append(-precision.bound)
            continue
        difference = context.subtract(context.ln(Decimal(counts[v])), at_zero)
        nearest = int(context.multiply(difference, precision.one).to_integral_value())
        logits.append(int(clip(min(nearest, 0) - 1, precision)))
    logits[precision.bound] = 0
    return np.array(logits)


@cache
def noise_distance(precision: Precision) -> Fraction:
    """The distance in total variation between what a noise slot draws and the noise, exactly.

    It takes a second for p = 3 and a minute for p = 4.
    """
    law, counts = gumbel_law(noise_logits(precision).tolist(), precision), noise_counts(precision)
    true = (Fraction(counts.get(v, 0), DRAWS) for v in precision.numbers())
    return sum((abs(drawn - right) for drawn, right in zip(law, true, strict=True)), Fraction(0)) / 2
