"""Cars on a ring road: in each of N steps a car moves on if the square ahead of it is free. Slots are rewritten."""

from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
road = Slots("road", i.range(N), ">.")
road.start(letter(i), lambda x: x)
road.rule(
    (road[(i + N - 1) % N], road[i], road[(i + 1) % N]),
    lambda behind, square, ahead: ahead if square == ">" else behind,
)
program = System(">.", road, answer=road, steps=N)
