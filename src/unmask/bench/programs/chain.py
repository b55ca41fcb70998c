"""A running sum modulo 3: every slot reads the one before it, so that a pass can write one slot only."""

from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
total = Slots("total", i.range(N), "012")
total.rule((total[i - 1].or_else("0"), letter(i)), lambda before, digit: str((int(before) + int(digit)) % 3))
program = System("012", total, answer=total[N - 1])
