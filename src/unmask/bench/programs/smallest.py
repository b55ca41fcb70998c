"""The smallest letter so far moves to the right, one cell per pass: slots are edited in place until nothing changes."""

from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
cell = Slots("cell", i.range(N), "01234567")
cell.start(letter(i), lambda x: x)
cell.rule((cell[i], cell[i - 1].or_else("7")), min)
program = System("01234567", cell, answer=cell, steps=N)
