"""A residual stream that is stored in slots: how it is written and read, and slots that draw noise.

Given:     a looped transformer, whose residual stream has R rows of E numbers of F_p.
Result:    the parts of a masked diffusion model that keeps this stream in R·E slots between two steps: one step of the
           model is one loop of the transformer (`theorems/plt_to_mdm.py` puts the parts together).

Idea. The alphabet contains all numbers of F_p, so a slot stores one number as its symbol: slot (r, e) stores entry e of
row r (`SlotLayout`). One row of the model, the *host* of r, simulates row r of the source. In each step, a host first
reads the E slots of its row (`StreamReader`), then the layers of the loop are simulated in the hosts, and finally each
slot looks up its entry in its host, and its logits choose this number as the symbol (`SlotAddresses.host`). A slot may
also store a digit of one more number (`Digits`), which saves a slot.

Two readers have the same result. `HeadPerEntry` takes one head per entry: host r looks up slot (r, e). `OneHead` takes
one head for all entries, which attends to the E slots of row r with equal weights:

    expand      slot (r, e) writes bit k of |number|, by its sign, to the columns of entry e; all others are 0
    fetch       host r averages each column over its slots; a bit is 1 if the average is above 0 (THRESH)
    restore     entry e = Σ_k 2^(k-p)·bit_k of the positive part - the same of the negative part

A slot whose logits are `noise_logits` draws a number again in each step, by the Gumbel noise of sampling. The law of
this number is close to that of the noise that a stochastic loop adds to its stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np

from unmask.expressions import Expression, both, choose, n
from unmask.numerics.arithmetic import DIGITS, Precision, clip
from unmask.numerics.noise import DRAWS, gumbel_law, noise_counts
from unmask.programs.declarations import AllBut
from unmask.programs.gadgets.attention import constant_code, eq, lookup, match, scaled
from unmask.programs.gadgets.mlp import conjunction, threshold
from unmask.programs.program import B, Coefficient, Columns, HeadBuilder, LayerBuilder, Program, bits_for


@dataclass(frozen=True)
class SlotLayout:
    """Where a residual stream is stored in slots: `rows` rows of `entries` numbers each, from position `first` on.

    After them comes one answer slot for each of the last `answers` rows (lem:idenitity-dump). If `packed`, the first
    answer takes the slot of the very last number, which the other slots of its row store as `Digits`.

    Statement:    R rows of E numbers are stored as symbols in R·E slots, and read back by the rows that host them.
    Construction: the alphabet is F_p itself. Slot (r, e) is number r·E + e; row r has one host.
                  dump    slot (r, e) looks up host r, SELECT_e in the MLP, SELF merges the signs, ONEHOT: 2 layers
                  read    a head per entry: host r looks up slot (r, e), for e = 0 … E - 1:          1 layer
                          or one head:      slots spread their bit planes over E columns (MLP), host r attends to its
                                            E slots at once, THRESH, SELF recombines Σ_k 2^(k-p)·bit_k: 2 layers
    Bounds:       R·E slots, 2^(2p+1) - 1 symbols; E heads, or one head and 12·p·E columns. Least p: 1.
    Exactness:    exact for all numbers of F_p.
    Deviations:   the paper stores bits alone; the stream of a transformer holds any number of F_p. Its positions divide
                  without rounding down, its keys include the slots themselves. It copies the stream to the N input
                  rows, but N + P rows need a host: here the rows before `first` host themselves, and the others are
                  hosted by the first slot of their group. An average over E slots is not multiplied by E, because
                  [1/E]·E ≠ 1: it is compared with 0, bit plane by bit plane.
    """

    first: Expression
    rows: Expression
    entries: int
    answers: int = 1
    packed: bool = False

    @property
    def first_answer(self) -> Expression:
        return self.first + self.rows * self.entries - int(self.packed)

    @property
    def storing(self) -> Expression:
        """[this is a slot that stores a number]."""
        return both(n >= self.first, n < self.first_answer)

    @property
    def stored(self) -> Expression:
        """The row whose numbers this group of slots stores; for other positions, a row that does not exist."""
        grouped = both(n >= self.first, n < self.first + self.rows * self.entries)
        return choose(grouped, (n - self.first) // self.entries, self.rows)

    @property
    def entry(self) -> Expression:
        return (n - self.first) % self.entries

    @property
    def row(self) -> Expression:
        """The row that a position belongs to: itself before the slots, the row of a stored number, or of an answer."""
        answer = self.rows - 1 if self.answers == 1 else self.rows - self.answers + (n - self.first_answer)
        return choose(n < self.first, n, choose(self.storing, (n - self.first) // self.entries, answer))

    @property
    def hosting(self) -> Expression:
        """[this position hosts a row of the stream]: the rows before `first`, and the first slot of every other row."""
        return choose(n < self.first, 1, both(self.storing, both(self.entry.equals(0), self.row >= self.first)))


@dataclass(frozen=True, eq=False)
class SlotAddresses:
    """Codes of the row that a position belongs to, of the row that it stores, and of the row that it hosts.

    A position that stores or hosts nothing has the code of a row that does not exist. `other_entries` is the complement
    of the one-hot code of the entry. `guest` flags the positions that host nothing.
    """

    row: Columns
    stored: Columns
    hosted: Columns
    entry: Columns
    other_entries: Columns
    storing: Columns
    guest: Columns

    @classmethod
    def of(cls, program: Program, layout: SlotLayout, rows: int) -> "SlotAddresses":
        bits = bits_for(rows + 1)
        nowhere = layout.rows
        return cls(
            row=program.code("row", layout.row, bits),
            stored=program.code("stored row", layout.stored, bits),
            hosted=program.code("hosted row", choose(layout.hosting, layout.row, nowhere), bits),
            entry=program.code("entry", layout.entry, bits_for(layout.entries)),
            other_entries=program.register("other entries", layout.entries, AllBut(layout.entry)),
            storing=program.flag("storing", layout.storing),
            guest=program.flag("guest", layout.hosting.equals(0)),
        )

    def host(self, layer: LayerBuilder) -> HeadBuilder:
        """LOOKUP of the host of the row that this position belongs to."""
        return lookup(layer, self.row, self.hosted)

    def slot(self, layer: LayerBuilder, entry: int) -> HeadBuilder:
        """LOOKUP of the slot that stores this entry of the row."""
        head = layer.head()
        query = [*scaled(self.row, B), *constant_code(entry, self.entry.size, head.one)]
        match(head, query, np.concatenate([self.stored, self.entry]))
        return head

    def slots(self, layer: LayerBuilder) -> HeadBuilder:
        """Add a head that attends to all slots of the row with equal weights, which are at least 2^-p."""
        head = layer.head()
        eq(head, self.row, self.stored)
        return head


@dataclass(frozen=True)
class Digits:
    """A number v that is stored in `count` slots, each of which also stores another number.

    Slot j stores the j-th group of `bits` bits of |v|, with the sign of v. Such a digit is one of -(2^bits - 1) …
    2^bits - 1, and v = Σ_j digit_j·2^(bits·j). All terms have one sign, so no sum clips. A slot with the number w and a
    digit d ≠ 0 has a symbol for the pair (w, d). With one slot there is a symbol for every pair of numbers, with 2p
    slots or more there are only three digits.
    """

    count: int
    bits: int

    @classmethod
    def of(cls, slots: int, p: int) -> "Digits":
        bits = -(-2 * p // slots)
        return cls(-(-2 * p // bits), bits)

    @property
    def values(self) -> list[int]:
        """The digits other than 0."""
        largest = (1 << self.bits) - 1
        return [*range(-largest, 0), *range(1, largest + 1)]

    def digit(self, number: int, j: int) -> int:
        """The digit of a number, an integer of F_p, in slot j."""
        size = abs(number) >> self.bits * j & (1 << self.bits) - 1
        return size if number > 0 else -size

    def weight(self, digit: int, j: int) -> int:
        """The place value of a digit in slot j."""
        return digit << self.bits * j


@dataclass(frozen=True, eq=False)
class SpreadNumber:
    """The entry `entry` of the last row, which is stored as digits in the slots of the entries `carriers`."""

    digits: Digits
    carriers: np.ndarray
    entry: int
    digit: Columns
    """[the symbol has digit d], for every d other than 0."""

    @classmethod
    def of(cls, program: Program, digits: Digits, carriers: np.ndarray, entry: int) -> "SpreadNumber":
        digit = program.register("digit", [f"{d:+}" for d in digits.values])
        return cls(digits, carriers[: digits.count], entry, digit)


class StreamReader(Protocol):
    """Reads the stored numbers into hosts, in three successive layers: expand, fetch, restore."""

    expands: bool
    """Whether `expand` adds anything to its layer."""

    def embed(self, program: Program, symbols: np.ndarray, numbers: Sequence[int] | range) -> None: ...

    def expand(self, layer: LayerBuilder) -> None: ...

    def fetch(self, layer: LayerBuilder) -> None: ...

    def restore(self, head: HeadBuilder, entries: np.ndarray, target: Columns) -> None:
        """In a SELF head: target_i += the number of entry entries[i]; 0 if nothing is stored yet."""
        ...


class HeadPerEntry:
    """A reader with one LOOKUP per entry."""

    expands = False

    def __init__(self, program: Program, at: SlotAddresses, entries: int, spread: SpreadNumber | None = None) -> None:
        self.at, self.spread = at, spread
        self.number = program.register("stored number")
        self.fetched = program.register("fetched", entries)

    def embed(self, program: Program, symbols: np.ndarray, numbers: Sequence[int] | range) -> None:
        program.embed(symbols, self.number, np.array(numbers))

    def expand(self, layer: LayerBuilder) -> None:
        """Add nothing: a number is fetched as it is."""

    def fetch(self, layer: LayerBuilder) -> None:
        heads = [self.at.slot(layer, entry) for entry in range(self.fetched.size)]
        for head, column in zip(heads, self.fetched, strict=True):
            head.copy(self.number, column)
        if self.spread is None:
            return
        target, digits = self.fetched[self.spread.entry], self.spread.digits
        for j, entry in enumerate(self.spread.carriers):
            for digit, column in zip(digits.values, self.spread.digit, strict=True):
                heads[entry].copy(column, target, Coefficient("2^-p", digits.weight(digit, j)))

    def restore(self, head: HeadBuilder, entries: np.ndarray, target: Columns) -> None:
        head.copy(self.fetched[entries], target)


class OneHead:
    """A reader with one head for all entries: every bit of the positive and negative part has a column per entry."""

    expands = True

    def __init__(
        self, program: Program, at: SlotAddresses, entries: int, planes: int, spread: SpreadNumber | None = None
    ) -> None:
        self.at, self.entries, self.spread_number = at, entries, spread
        self.plane = program.register("bit planes", [f"{sign}{k}" for sign in "+-" for k in range(planes)])
        labels = [f"{sign}{k} of {e}" for sign in "+-" for k in range(planes) for e in range(entries)]
        self.bit_by_entry, self.averaged, self.bit = (
            program.register(name, labels) for name in ("bits by entry", "averaged bits", "fetched bits")
        )
        self.planes = planes

    def embed(self, program: Program, symbols: np.ndarray, numbers: Sequence[int] | range) -> None:
        magnitudes = {sign: np.maximum(sign * np.array(numbers), 0) for sign in (1, -1)}
        for sign, planes in ((1, self.plane[: self.planes]), (-1, self.plane[self.planes :])):
            for k, column in enumerate(planes):
                program.embed(symbols[magnitudes[sign] >> k & 1 == 1], column)

    def expand(self, layer: LayerBuilder) -> None:
        negated = np.tile(self.at.other_entries, self.plane.size)[:, None]
        layer.mlp.write(conjunction(layer.mlp, np.repeat(self.plane, self.entries), negated), self.bit_by_entry)
        number = self.spread_number
        if number is None:
            return
        digits, bits = number.digits, self.bit_by_entry.reshape(2, self.planes, self.entries)[..., number.entry]
        for j, entry in enumerate(number.carriers):
            units = conjunction(layer.mlp, number.digit, [[self.at.other_entries[entry]]] * number.digit.size)
            for digit, unit in zip(digits.values, units, strict=True):
                size = digits.weight(abs(digit), j)
                planes = [k for k in range(self.planes) if size >> k & 1]
                layer.mlp.write(unit, bits[int(digit < 0), planes])

    def fetch(self, layer: LayerBuilder) -> None:
        self.at.slots(layer).copy(self.bit_by_entry, self.averaged)
        threshold(layer.mlp, self.averaged, self.bit)

    def restore(self, head: HeadBuilder, entries: np.ndarray, target: Columns) -> None:
        bit = self.bit.reshape(2, self.planes, self.entries)
        for sign, planes in ((1, bit[0]), (-1, bit[1])):
            for k, columns in enumerate(planes):
                head.copy(columns[entries], target, Coefficient("2^-p", sign * (1 << k)))


def noise_logits(precision: Precision) -> np.ndarray:
    """Return a logit for every number of F_p, in increasing order; their Gumbel-max is close to the noise.

        logit(0) = 0,   logit(v) = min([ln P(noise = v) - ln P(noise = 0)], 0) - 2^-p;   without a tape 0 is drawn

    A slot with these logits draws again in every step, independently of the input and of all other slots. Its law,
    which `gumbel_law` computes exactly, differs from that of the noise, because logits of F_p are rounded, and scores
    tie and clip. The distance in total variation, which `noise_distance` computes, is below 0.296, 0.0991, 0.0234,
    0.0117 for p = 1, 2, 3, 4. Changing the logits one by one lowers it to no less than 0.05 for p = 2 and 0.015 for
    p = 3; logits that give the noise exactly are not known.
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
    """The exact distance in total variation between the law of a noise slot and that of the noise.

    It takes a second for p = 3 and a minute for p = 4.
    """
    law, counts = gumbel_law(noise_logits(precision).tolist(), precision), noise_counts(precision)
    noise_law = (Fraction(counts.get(v, 0), DRAWS) for v in precision.numbers())
    return sum((abs(slot - noise) for slot, noise in zip(law, noise_law, strict=True)), Fraction(0)) / 2
