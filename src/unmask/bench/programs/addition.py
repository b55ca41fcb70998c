"""The sum of two binary numbers, lowest digit first: letter i and letter N/2 + i, and a carry from slot to slot."""

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")
n = N // 2
carry = Slots("carry", i.range(n), BOOLEAN)
carry.rule(
    (carry[i - 1].or_else(False), letter(i), letter(n + i)),
    lambda before, x, y: before + int(x) + int(y) > 1,
)
digit = Slots("digit", i.range(n + 1), "01")
digit.rule(
    (carry[i - 1].or_else(False), letter(i).or_else("0"), letter(n + i).or_else("0")),
    lambda before, x, y: str((before + int(x) + int(y)) % 2),
    where=i.differs(n),
)
digit.rule(carry[n - 1], lambda before: str(int(before)))
program = System("01", (carry, digit), answer=digit)
