"""Binomial coefficients modulo 3 with letters added: cell (i, j) reads the cells above and to the left of it."""

from unmask.recurrences import N, Slots, System, indices, letter

i, j = indices("i j")
n = N // 2
cell = Slots("cell", (i.range(n), j.range(n)), "012")
cell.rule(
    (cell[i - 1, j].or_else("1"), cell[i, j - 1].or_else("1"), letter(i), letter(n + j)),
    lambda up, left, x, y: str((int(up) + int(left) + int(x) * int(y)) % 3),
)
program = System("012", cell, answer=cell[n - 1, n - 1])
