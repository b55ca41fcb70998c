"""Reachability between all vertices of a graph, by squaring the matrix in place: ⌈log2 V⌉ steps.

The word lists the matrix of edges row by row, for a graph of V vertices.
"""

from unmask.recurrences import BOOLEAN, Slots, System, indices, letter, some

V = 6
i, j, k = indices("i j k")
reach = Slots("reach", (i.range(V), j.range(V)), BOOLEAN)
reach.start((), lambda: True, where=i.equals(j))
reach.start(letter(V * i + j), lambda edge: edge == "1")
reach.rule(
    (reach[i, j], some(k.range(V), (reach[i, k], reach[k, j]), lambda first, second: first and second)),
    lambda before, through: before or through,
)
program = System("01", reach, answer=reach, steps=(V - 1).bit_length())
