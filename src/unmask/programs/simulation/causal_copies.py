"""Causal attention inside an unmasked transformer of logarithmic width, by a few copies of every row.

Statement:    N rows are kept in K = max(1, ⌈log2 N⌉) copies each. Every copy of row b sees exactly one copy of each
              row r <= b, in the order of r, and no copy of a later row.
Construction: r <= b holds iff r and b agree above some bit k, r has 0 there and b has 1 (or k = 0 and r_0 <= b_0),
              and there is only one such k. So the copy of r on level k asks its queries for the bits of r above k,
              for a 1 in bit k, and for nothing below: a FOCUS with a care bit per bit,
                  (c·b_i ¦ wanted_i), (c·one ¦ -care_i),          c = [B/2], two times (p = 1: three times)
              where wanted_i = ±care_i. Copies on level k >= 1 of rows with r_k = 1 are for nobody: HIDE. Level 0 asks
              for r's bits above 0, and for bit 0 if r has it: that includes b = r.
              A query reads high levels for early rows and low levels for late ones, so levels stand in falling order.
Bounds:       K·N rows; 3K + 1 columns of positions, 4K + 2 of query and key (p = 1: 6K + 2).
Exactness:    every copy of a row computes what the causal row computes, bit by bit, for p >= 1. No copy is idle, so
              that no head divides by zero where the causal one does not.
Deviations:   lem:unmask-conversion-fp takes N copies of every row, and a second layer per layer that puts rows right
              which have seen too much; its footnote expects the number of rows to stay quadratic.
Limit:        for copies that are shown and hidden in this way the number is nearly the best. If each of K copies is
              hidden by w columns, each of which hides a rectangle (queries × keys), then {b < r}, where all K are
              hidden, is a union of w^K rectangles; no rectangle in it holds two of the pairs (i, i + 1), so that
              w^K >= N - 1: a width of O(log N) takes about log N / log log N copies, and one copy (`hide_later`)
              N - 1 columns.
"""

from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.focus import focus
from unmask.programs.gadgets.hide import hide
from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.declarations import SignedBits
from unmask.programs.language.positions import Expression, both, choose, constant, n
from unmask.programs.language.program import Program, bits_for


@dataclass(frozen=True, eq=False)
class CausalCopies:
    """Row n of the program is a copy of row n mod N, on level K - 1 - n div N."""

    simulated: Expression  # the row of which this is a copy
    position: Columns  # its code
    wanted: Columns
    care: Columns
    never: Columns

    @classmethod
    def of(cls, program: Program, count: Expression, rows: int) -> "CausalCopies":
        """Registers for copies of `rows` rows; `count` is the same number as an expression."""
        levels = bits_for(rows)
        assert program.rows == levels * rows
        row, level = n % count, levels - 1 - n // count
        wanted, care = [], []
        for i in range(levels):
            cares = level <= i if i else both(level.equals(0), row % 2)
            asked = choose(level.equals(i), 1, row // (1 << i) % 2)
            wanted.append(program.register(f"wanted bit {i}", declaration=SignedBits(asked, cares)))
            care.append(program.flag(f"cares for bit {i}", cares))
        useless = constant(0)
        for k in range(1, levels):
            useless = choose(level.equals(k), row // (1 << k) % 2, useless)
        return cls(
            row,
            program.code("row", row, levels),
            np.concatenate(wanted),
            np.concatenate(care),
            program.flag("for nobody", useless),
        )

    @property
    def levels(self) -> int:
        return self.position.size

    def see_earlier(self, head: HeadBuilder, *, copies: int) -> None:
        """The columns that follow those of a causal head (and its BOOST); `copies` as for FOCUS."""
        focus(head, self.position[::-1], self.wanted, copies=copies, cares=self.care)
        hide(head, self.never)


def rows_of_copies(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """(row, where one of its copies stands) for every copy of every row."""
    there = np.arange(rows * bits_for(rows))
    return there % rows, there
