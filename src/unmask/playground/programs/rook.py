"""A game on a board of 4 × 4: players move a rook up or left by any distance. Entering # or having no move loses.

The word lists the board row by row. The rook starts at the bottom right. Does the first player win?
"""

from unmask.recurrences import BOOLEAN, Slots, System, indices, letter, some

SIDE = 4
i, j, k = indices("i j k")
wins = Slots("wins", (i.range(SIDE), j.range(SIDE)), BOOLEAN)
up = some(k.range(i), wins[k, j], lambda other: not other)
left = some(k.range(j), wins[i, k], lambda other: not other)
wins.rule((letter(SIDE * i + j), up, left), lambda square, up, left: square == "#" or up or left)
program = System(".#", wins, answer=wins[SIDE - 1, SIDE - 1])
