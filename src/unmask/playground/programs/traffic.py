"""Cars on a ring road: in every step each car moves on if the place before it is free. Slots are rewritten, N times."""

from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
road = Slots("road", i.range(N), ">.")
road.start(letter(i), lambda x: x)
road.rule(
    (road[(i + N - 1) % N], road[i], road[(i + 1) % N]),
    lambda behind, here, ahead: ahead if here == ">" else behind,
)
program = System(">.", road, answer=road, steps=N)
