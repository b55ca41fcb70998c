"""Sorting in place: in each of N rounds, neighbours are put in order, in turn at even and at odd positions."""

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")
odd = Slots("odd", (), BOOLEAN)
odd.start((), lambda: False)
odd.rule(odd[()], lambda now: not now)

item = Slots("item", i.range(N), "abcd")
item.start(letter(i), lambda x: x)
right, left = item[i + 1].or_else("d"), item[i - 1].or_else("a")
item.rule(
    (odd[()], item[i], right, left), lambda odd, x, y, w: max(w, x) if odd else min(x, y), where=(i % 2).equals(0)
)
item.rule((odd[()], item[i], right, left), lambda odd, x, y, w: min(x, y) if odd else max(w, x))
program = System("abcd", (odd, item), answer=item, steps=N)
