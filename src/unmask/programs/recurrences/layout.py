"""Where slots stand: blocks of rows, and codes by which they are addressed.

    rows    the N letters, the rows of reads over a range, the groups of slots, the slots of the answer last
    codes   letter i has the code i; slot (i, j) of a group the code  base + (i - i₀)·J + (j - j₀)

where I × J is the least box that holds the indices of the group. So an address is a formula in the indices of the row
that reads, whether or not the group fills its box. Where it does, the indices of a row are a formula in n, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.programs.language.positions import Expression as Formula
from unmask.programs.language.positions import N as LENGTH
from unmask.programs.language.positions import choose as choose_formula
from unmask.programs.language.positions import constant as constant_formula
from unmask.programs.language.positions import n as row
from unmask.programs.recurrences.formulas import NoFormula, formula
from unmask.recurrences.expressions import Expression, Range, constant, lifted

Arrays = dict[str, np.ndarray]
"""Indices by name, an entry for every row of a block; N among them."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that stand one after the other, with their indices; `formulas` gives these for a row, where there are."""

    first: int
    indices: Arrays
    formulas: Mapping[str, Formula] | None

    @property
    def count(self) -> int:
        return self.indices["N"].size

    def tuples(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """These indices of every row."""
        return list(zip(*(self.indices[name].tolist() for name in names), strict=True)) if names else [()] * self.count

    def evaluate(self, expression: Expression) -> np.ndarray:
        """The expression in every row."""
        return np.broadcast_to(np.asarray(expression.evaluate(self.indices), dtype=np.int64), (self.count,))


@dataclass(frozen=True, eq=False)
class Box:
    """Codes of a group: `base`, and the first index and the stride of every dimension."""

    base: int
    firsts: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64))

    def code(self, places: Sequence[Expression]) -> Expression:
        """The code of the slot at these places."""
        total: Expression = constant(0)
        for place, first, size in zip(places, self.firsts, self.sizes, strict=True):
            total = total * size + (place - first if first else place)
        return total + self.base


def index_arrays(ranges: Sequence[Range], length: int) -> Arrays:
    """All indices of a group, in the order of nested loops."""
    return extended({"N": np.full(1, length, dtype=np.int64)}, ranges)


def extended(known: Arrays, ranges: Sequence[Range]) -> Arrays:
    """Every row once for each index of the further ranges."""
    for over in ranges:
        rows = known["N"].size
        first, last = (
            np.broadcast_to(np.asarray(e.evaluate(known), dtype=np.int64), (rows,)) for e in (over.first, over.last)
        )
        counts = np.maximum(last - first, 0)
        repeated = {name: np.repeat(values, counts) for name, values in known.items()}
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        repeated[over.name] = np.repeat(first, counts) + np.arange(int(counts.sum())) - starts
        known = repeated
    return known


def box_of(ranges: Sequence[Range], indices: Arrays, base: int) -> Box:
    """The least box around the indices of a group."""
    listed = [indices[over.name] for over in ranges]
    firsts = tuple(int(values.min()) if values.size else 0 for values in listed)
    lasts = tuple(int(values.max()) if values.size else -1 for values in listed)
    return Box(base, firsts, tuple(last - first + 1 for first, last in zip(firsts, lasts, strict=True)))


def taken(indices: Arrays, rows: np.ndarray) -> Arrays:
    """Some of the rows, in the given order."""
    return {name: values[rows] for name, values in indices.items()}


def box_formulas(
    ranges: Sequence[Range], first: int, box: Box, swap: tuple[int, int] | None
) -> dict[str, Formula] | None:
    """The indices of the rows of a full box, by division; `swap` exchanges two of its rows."""
    if any(over.first.names - {"N"} or over.last.names - {"N"} for over in ranges):
        return None
    place = row - first
    if swap is not None:
        one, other = swap
        place = choose_formula(place.equals(one), other, choose_formula(place.equals(other), one, place))
    found: dict[str, Formula] = {"N": LENGTH}
    for d, over in enumerate(ranges):
        stride = int(np.prod(box.sizes[d + 1 :], dtype=np.int64))
        digit = place if stride == 1 else place // stride
        if d and box.sizes[d]:
            digit = digit % box.sizes[d]
        found[over.name] = digit + box.firsts[d] if box.firsts[d] else digit
    return found


Piece = tuple[Block, Expression | int]


def piecewise(pieces: Sequence[Piece], rows: int, otherwise: Formula | int) -> Formula | np.ndarray:
    """An expression for every block, another one elsewhere: as a formula where every block has one, else as a table."""
    pieces = sorted((p for p in pieces if p[0].count), key=lambda piece: piece[0].first)
    rest = otherwise if isinstance(otherwise, Formula) else constant_formula(otherwise)
    try:
        parts: list[tuple[int, Formula]] = []  # (end, formula): the formula holds from the end before on
        for block, expression in pieces:
            if block.formulas is None:
                raise NoFormula
            if block.first > (parts[-1][0] if parts else 0):
                parts.append((block.first, rest))
            parts.append((block.first + block.count, formula(lifted(expression), block.formulas)))
        if not parts or parts[-1][0] < rows:
            parts.append((rows, rest))
        whole = parts[-1][1]
        for end, part in reversed(parts[:-1]):
            whole = choose_formula(row < end, part, whole)
    except NoFormula:
        length = int(pieces[0][0].indices["N"][0])
        table = rest.evaluate(length, np.arange(rows)).copy()
        for block, expression in pieces:
            table[block.first : block.first + block.count] = block.evaluate(lifted(expression))
        return table
    return whole
