"""Water (1) flows to the right into empty cells (0) up to walls (w): slots are edited in place."""

from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
cell = Slots("cell", i.range(N), "01w")
cell.start(letter(i), lambda x: x)
cell.rule(
    (cell[i], cell[i - 1].or_else("w")),
    lambda own, left: "1" if own == "0" and left == "1" else own,
)
program = System("01w", cell, answer=cell, steps=N)
