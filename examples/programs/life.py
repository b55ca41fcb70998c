"""Conway's Game of Life on a torus of R rows and C columns, four generations, in place."""

from unmask.recurrences import BOOLEAN, Slots, System, indices, letter

R, C = 5, 6
i, j = indices("i j")
cell = Slots("cell", (i.range(R), j.range(C)), BOOLEAN)
around = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
cell.start(letter(C * i + j), lambda x: x == "1")
cell.rule(
    (cell[i, j], *(cell[(i + a + R) % R, (j + b + C) % C] for a, b in around)),
    lambda alive, *near: sum(near) == 3 or (alive and sum(near) == 2),
)
program = System("01", cell, answer=cell, steps=4)
