"""Edit distance of the two halves of a word, by differences of neighbours.

The table of distances D[i, j] has numbers that grow with N, but D[i, j] - D[i - 1, j] and D[i, j] - D[i, j - 1] are
-1, 0 or 1. Slot (i, j) holds these two differences. The last row gives the distance:
D[n, n] = n + Σ_j (D[n, j] - D[n, j - 1]).
"""

from itertools import product

from unmask.recurrences import N, Slots, System, indices, letter

i, j = indices("i j")
n = N // 2


def change(up, left, x, y):
    """(down, right) of a cell, from `right` of the cell above, `down` of the cell to the left, and the two letters."""
    least = min(int(x != y), up + 1, left + 1)
    return least - up, least - left


cell = Slots("cell", (i.range(n), j.range(n)), product((-1, 0, 1), repeat=2))
cell.rule(
    (
        cell[i - 1, j].or_else((1, 1)).map(lambda pair: pair[1]),
        cell[i, j - 1].or_else((1, 1)).map(lambda pair: pair[0]),
        letter(i),
        letter(n + j),
    ),
    change,
)
right = Slots("right", j.range(n), (-1, 0, 1))
right.rule(cell[n - 1, j], lambda pair: pair[1])
program = System("acgt", (cell, right), answer=right)
