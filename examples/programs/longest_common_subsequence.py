"""Longest common subsequence of the two halves of a word, by differences of neighbours.

L[i, j], the length for the first i and j letters, grows by 0 or 1 from one cell to the next. A slot holds the
growth in both directions. The length is the number of ones in the last row.
"""

from itertools import product

from unmask.recurrences import N, Slots, System, indices, letter

i, j = indices("i j")
n = N // 2


def grows(up, left, x, y):
    """(down, right) of a cell, from `right` of the cell above, `down` of the cell to the left, and the two letters."""
    longest = max(int(x == y), up, left)
    return longest - up, longest - left


cell = Slots("cell", (i.range(n), j.range(n)), product((0, 1), repeat=2))
cell.rule(
    (
        cell[i - 1, j].or_else((0, 0)).map(lambda pair: pair[1]),
        cell[i, j - 1].or_else((0, 0)).map(lambda pair: pair[0]),
        letter(i),
        letter(n + j),
    ),
    grows,
)
right = Slots("right", j.range(n), (0, 1))
right.rule(cell[n - 1, j], lambda pair: pair[1])
program = System("abc", (cell, right), answer=right)
