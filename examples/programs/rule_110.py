"""Rule 110, the elementary cellular automaton that is Turing-complete: N cells in a ring, N steps, in place."""

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")
cell = Slots("cell", i.range(N), BOOLEAN)
cell.start(letter(i), lambda x: x == "1")
cell.rule(
    (cell[(i + N - 1) % N], cell[i], cell[(i + 1) % N]),
    lambda left, own, right: bool(110 >> (4 * left + 2 * own + right) & 1),
)
program = System("01", cell, answer=cell, steps=N)
