"""Levels in which row i multiplies the rows 2i and 2i + 1 of the level before, for every N: what they cover.

A level has entries 0 … M - 1, of which those from w on are empty; what is read beyond them is the identity, the empty
interval at the end of the word. By induction on the levels:

    low(0) = 0,     high(i) = low(i + 1),     high(M - 1) = N,     low(i) = high(i) = N for w <= i

One more level halves w. After ⌈log2 N⌉ levels w = 1, and entry 0 covers the word: N <= 2^⌈log2 N⌉ is what is used of
logarithms.
"""

from collections.abc import Sequence

from unmask.verification.families.obligations.arithmetic import Arithmetic, Term


class Level:
    """Entries 0 … size - 1 of a level, `used` of them not empty, and what they cover."""

    def __init__(self, arithmetic: Arithmetic, name: str, size: Term, used: Term) -> None:
        self._arithmetic, self.size, self.used = arithmetic, size, used
        self._low, self._high = (arithmetic.function(f"{side} of {name}") for side in ("low", "high"))

    def low(self, i: Term) -> Term:
        """The identity, beyond the last entry, is empty and at the end."""
        return self._arithmetic.z3.If(i < self.size, self._low(i), self._arithmetic.N)

    def high(self, i: Term) -> Term:
        return self._arithmetic.z3.If(i < self.size, self._high(i), self._arithmetic.N)

    def claims(self, i: Term) -> dict[str, Term]:
        """What the induction says of entry i."""
        z3, N = self._arithmetic.z3, self._arithmetic.N
        here = z3.And(i >= 0, i < self.size)
        return {
            "the first begins the word": z3.Implies(z3.And(here, i == 0), self.low(i) == 0),
            "neighbours are adjacent": z3.Implies(here, self.high(i) == self.low(i + 1)),
            "entries beyond the used ones are empty": z3.Implies(
                z3.And(here, i >= self.used), z3.And(self.low(i) == N, self.high(i) == N)
            ),
        }

    def all_claims(self, *entries: Term) -> list[Term]:
        return [claim for i in entries for claim in self.claims(i).values()]

    def letters(self, i: Term) -> Term:
        """Entry i is letter i."""
        z3 = self._arithmetic.z3
        return z3.Implies(z3.And(i >= 0, i < self._arithmetic.N), z3.And(self._low(i) == i, self._high(i) == i + 1))

    def made(self, i: Term, left: Term, right: Term, before: "Level") -> Term:
        """Entry i multiplies two entries of the level before."""
        return self._arithmetic.z3.And(self._low(i) == before.low(left), self._high(i) == before.high(right))


def require_halving(arithmetic: Arithmetic) -> None:
    """w <= 2h entries are followed by at most h."""
    w, h = arithmetic.variable("w"), arithmetic.variable("h")
    arithmetic.require(
        "layout: a level of at most 2h entries is followed by one of at most h",
        arithmetic.z3.And((w + 1) / 2 <= h, (w + 1) / 2 >= 1),
        [w >= 1, h >= 1, w <= 2 * h],
    )


def require_claims(arithmetic: Arithmetic, name: str, claims: dict[str, Term], given: Sequence[Term]) -> None:
    for what, claim in claims.items():
        arithmetic.require(f"layout: {name}, {what}", claim, given)
