"""A residual stream written into slots and read back (lem:idenitity-dump).

Statement:    R rows of E numbers are stored as symbols in R·E slots, and read back by the rows that host them.
Construction: the alphabet is F_p itself. Slot (r, e) is number r·E + e; row r has one host.
              dump    slot (r, e) looks up host r, SELECT_e in the MLP, SELF merges the signs, ONEHOT: 2 layers
              read    a head per entry: host r looks up slot (r, e), for e = 0 … E - 1:          1 layer
                      or one head:      slots spread their bit planes over E columns (MLP), host r attends to its
                                        E slots at once, THRESH, SELF recombines Σ_k 2^(k-p)·bit_k: 2 layers
Bounds:       R·E slots, 2^(2p+1) - 1 symbols; E heads, or one head and 12·p·E columns. Least p: 1.
Exactness:    exact for all numbers of F_p.
Deviations:   the paper stores bits alone; the stream of a transformer holds any number of F_p. Its positions divide
              without rounding down, its keys include the slots themselves. It brings the stream to the N input rows,
              but N + P rows need a host: here rows that are given host themselves, the others are hosted by the
              first slot of their group. An average over E slots is never multiplied by E ([1/E]·E ≠ 1): it is
              compared with 0, bit plane by bit plane.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unmask.programs.gadgets.equal import constant_code, eq, match, scaled
from unmask.programs.gadgets.logic import conjunction
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.gadgets.threshold import threshold
from unmask.programs.language.builders import Columns, HeadBuilder, LayerBuilder
from unmask.programs.language.coefficients import B, Coefficient
from unmask.programs.language.declarations import AllBut
from unmask.programs.language.positions import Expression, both, choose, n
from unmask.programs.language.program import Program, bits_for


@dataclass(frozen=True)
class Layout:
    """`rows` rows of `entries` numbers each, stored in the slots from position `first` on, row by row.

    Behind them are `between` slots of the last row, then one slot for each of the last `answers` rows.
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
class Addresses:
    """Codes of the row that a position belongs to, stores, hosts (rows that do not exist where it does not)."""

    row: Columns
    stored: Columns
    hosted: Columns
    entry: Columns
    others: Columns
    storing: Columns
    guest: Columns

    @classmethod
    def of(cls, program: Program, layout: Layout, rows: int) -> "Addresses":
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


class Reader(Protocol):
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

    def __init__(self, program: Program, at: Addresses, entries: int) -> None:
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

    def __init__(self, program: Program, at: Addresses, entries: int, planes: int) -> None:
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
