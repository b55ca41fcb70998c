"""All prefix sums modulo 3 in place: in step t every slot adds the slot 2^t to its left. ⌈log2 N⌉ steps.

Extra slots store the number of the step: `now[t]` is true only in step t.
"""

from unmask.recurrences import BOOLEAN, N, Slots, System, collect, indices, letter, table

LONGEST = 1024
rounds = table([max(1, (n - 1).bit_length()) for n in range(LONGEST + 1)])(N)
i, t = indices("i t")

now = Slots("now", t.range(rounds), BOOLEAN)
now.start((), lambda: True, where=t.equals(0))
now.start((), lambda: False)
now.rule(now[t - 1].or_else(False), lambda before: before)

total = Slots("sum", i.range(N), "012")
total.start(letter(i), lambda digit: digit)
to_the_left = collect(t.range(rounds), (now[t], total[i - 2**t].or_else("0")), lambda on, digit: digit if on else "")
total.rule((total[i], to_the_left), lambda own, left: str((int(own) + sum(map(int, left))) % 3))
program = System("012", (now, total), answer=total, steps=rounds)
