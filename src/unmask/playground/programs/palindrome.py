"""Is the word a palindrome? There is a slot for every factor of the word; inner factors are decided first."""

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

i, j = indices("i j")
same = Slots("same", (i.range(N), j.range(i, N)), BOOLEAN)
same.rule((same[i + 1, j - 1].or_else(True), letter(i), letter(j)), lambda inside, a, b: inside and a == b)
program = System("ab", same, answer=same[0, N - 1])
