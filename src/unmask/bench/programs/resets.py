"""A running value: a digit sets it, `+` adds 1 modulo 3. A slot below `+` waits for the slot on its left.

The word decides in which pass a slot has its value: one pass after the nearest digit on its left, or the start, for
every `+` in between. Until then it holds `?` and is edited in place.
"""

from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
value = Slots("value", i.range(N), "012?")
value.start(letter(i), lambda x: "?" if x == "+" else x)
value.rule(
    (value[i], value[i - 1].or_else("0")),
    lambda own, before: own if own != "?" or before == "?" else str((int(before) + 1) % 3),
)
program = System("012+", value, answer=value[N - 1], steps=N)
