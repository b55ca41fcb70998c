"""For every N: the letters that a node of a product tree covers, and the step in which it is written.

The queue (masked diffusion), for every N >= 2:

The queue has 2N - 1 entries, and row N + j multiplies its entries 2j and 2j + 1. Let c = N - K. Entry e < N is the
letter e - 2c if this is at least 0, and else the letter e - 2c + N; entry e >= N is row e. An entry e >= 2c belongs to
the level q, a power of two, with q < 2N - e <= 2q <= 2K. Its factors belong to the level 2q or, if q = K, are letters.
By induction on the levels, from q = K down to q = 1:

    neighbours in a level cover adjacent letters, the first begins with letter 0, the last ends with letter N - 1,
    and an entry is written by step log2(K/q) + [K < N]

Level 1 is row 2N - 2 alone: it covers the word, and is written by step log2 K + [K < N] = ⌈log2 N⌉. The argument uses
three facts about powers of two: those below K are the halves of those up to K, every number u >= 2 has one with
q < u <= 2q, and ⌈log2 N⌉ = log2 K + [K < N].
"""

from collections.abc import Sequence

from unmask.expressions import Expression
from unmask.verification.lengths.obligations import Arithmetic, Term


def require_queue(arithmetic: Arithmetic, left: Expression, right: Expression) -> None:
    """Settle the layout of the queue; the factors of a slot are given as expressions."""
    row, N = arithmetic.row(), arithmetic.N
    factors = [arithmetic.at(side, row) for side in (left, right)]
    require_entries(arithmetic, "a slot", row.n, factors, [row.n >= N, row.n < 2 * N - 1])
    require_levels(arithmetic)


def require_entries(arithmetic: Arithmetic, of: str, row: Term, factors: Sequence[Term], facts: Sequence[Term]) -> None:
    """Settle that the factors of a row are the two entries of the queue, and come earlier; `of` names the row."""
    z3, N = arithmetic.z3, arithmetic.N
    for side, factor in enumerate(factors):
        arithmetic.require(
            f"layout: the {('left', 'right')[side]} factor of {of} is the entry of the queue",
            factor == _row_of_entry(arithmetic, 2 * (row - N) + side),
            facts,
        )
    earlier = z3.And(*(z3.And(f >= 0, f < row) for f in factors))
    arithmetic.require(f"layout: factors of {of} come earlier", earlier, facts)


def require_levels(arithmetic: Arithmetic) -> None:
    """Settle the induction on the levels of the queue."""
    e = arithmetic.variable("e")
    entries = _QueueEntries(arithmetic)
    factors = _factors(arithmetic, e)
    around = (e, e + 1, *factors, *(x + 2 for x in factors))
    defined = [*(entries.definition(x) for x in around), e >= 0]
    _require_first_level(arithmetic, entries, e, defined)
    _require_next_level(arithmetic, entries, e, defined)
    _require_root(arithmetic, entries, e)


def _factors(arithmetic: Arithmetic, e: Term) -> tuple[Term, Term]:
    """Return the entries that a slot multiplies."""
    return 2 * (e - arithmetic.N), 2 * (e - arithmetic.N) + 1


def _is_slot(arithmetic: Arithmetic, e: Term) -> Term:
    return arithmetic.z3.And(e >= arithmetic.N, e < 2 * arithmetic.N - 1)


def _require_first_level(arithmetic: Arithmetic, entries: "_QueueEntries", e: Term, facts: Sequence[Term]) -> None:
    """Settle the claims for level K, which consists of letters and of slots over two letters."""
    z3, K = arithmetic.z3, arithmetic.K
    left, right = _factors(arithmetic, e)
    in_level = entries.level(e, K)
    for name, goal in entries.claims(e, K).items():
        arithmetic.require(f"layout: level K, {name}", goal, facts)
    arithmetic.require(
        "layout: level K, a slot covers two adjacent letters",
        z3.Implies(z3.And(in_level, _is_slot(arithmetic, e)), entries.high(left) == entries.low(right)),
        facts,
    )
    arithmetic.require("layout: level K is written by step [K < N]", z3.Implies(in_level, entries.in_time(e, 0)), facts)


def _require_next_level(arithmetic: Arithmetic, entries: "_QueueEntries", e: Term, facts: Sequence[Term]) -> None:
    """Settle the claims for level q, from those for the factors of an entry and of its neighbour in level 2q."""
    z3, q, delta = arithmetic.z3, arithmetic.variable("q"), arithmetic.variable("delta")
    left, right = _factors(arithmetic, e)
    below = z3.And(q >= 1, 2 * q <= arithmetic.K, delta >= 0)
    above = [z3.And(*entries.claims(x, 2 * q).values()) for x in (left, right)]
    above += [z3.Implies(entries.level(x, 2 * q), entries.in_time(x, delta)) for x in (left, right)]
    step = [*facts, below, entries.level(e, q), *above]
    arithmetic.require(
        "layout: an entry of level q is a slot with factors of level 2q, which are adjacent",
        z3.And(
            _is_slot(arithmetic, e),
            entries.level(left, 2 * q),
            entries.level(right, 2 * q),
            entries.high(left) == entries.low(right),
        ),
        step,
    )
    neighbours = [z3.And(*entries.claims(x + 2, 2 * q).values()) for x in (left, right)]
    for name, goal in entries.claims(e, q).items():
        arithmetic.require(f"layout: level q from level 2q, {name}", goal, [*step, *neighbours])
    arithmetic.require("layout: level q is written one step after level 2q", entries.in_time(e, delta + 1), step)


def _require_root(arithmetic: Arithmetic, entries: "_QueueEntries", e: Term) -> None:
    """Settle that level 1 is the last slot, and covers the word."""
    z3, N, K = arithmetic.z3, arithmetic.N, arithmetic.K
    root = 2 * N - 2
    in_a_level = z3.Implies(_is_slot(arithmetic, e), z3.And(2 * N - e >= 2, 2 * N - e <= 2 * K))
    arithmetic.require(
        "layout: the last slot is all of level 1, and every slot is in a level",
        z3.And(entries.level(root, 1), 2 * N - root == 2, K >= 2, in_a_level),
    )
    arithmetic.require(
        "layout: the last slot covers the word",
        z3.And(entries.low(root) == 0, entries.high(root) == N),
        [*entries.claims(root, 1).values()],
    )


def _row_of_entry(arithmetic: Arithmetic, entry: Term) -> Term:
    """Return the row of an entry of the queue."""
    z3, N, K = arithmetic.z3, arithmetic.N, arithmetic.K
    letter = entry - 2 * (N - K)
    return z3.If(entry >= N, entry, z3.If(letter >= 0, letter, letter + N))


class _QueueEntries:
    """The letters [low, high) that an entry covers, and the step in which it is written, as functions of its row."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._low, self._high, self._time = (arithmetic.function(name) for name in ("low", "high", "step"))

    def low(self, e: Term) -> Term:
        return self._low(_row_of_entry(self._arithmetic, e))

    def high(self, e: Term) -> Term:
        return self._high(_row_of_entry(self._arithmetic, e))

    def definition(self, e: Term) -> Term:
        """Return the facts that a letter covers itself, and a slot the letters of its factors, one step later."""
        z3, N = self._arithmetic.z3, self._arithmetic.N
        row = _row_of_entry(self._arithmetic, e)
        left, right = (_row_of_entry(self._arithmetic, 2 * (e - N) + side) for side in (0, 1))
        low, high, time = self._low, self._high, self._time
        letter = z3.And(low(row) == row, high(row) == row + 1, time(row) == 0)
        later = z3.If(time(left) > time(right), time(left), time(right))
        slot = z3.And(low(row) == low(left), high(row) == high(right), time(row) == later + 1)
        return z3.Implies(z3.And(e >= 0, e < 2 * N - 1), z3.If(row < N, letter, slot))

    def level(self, e: Term, q: Term) -> Term:
        """Return whether entry e belongs to level q."""
        z3, N = self._arithmetic.z3, self._arithmetic.N
        return z3.And(e >= 0, e < 2 * N - 1, q < 2 * N - e, 2 * N - e <= 2 * q)

    def claims(self, e: Term, q: Term) -> dict[str, Term]:
        """Return the claims of the induction for an entry of level q."""
        z3, N = self._arithmetic.z3, self._arithmetic.N
        in_level = self.level(e, q)
        return {
            "neighbours are adjacent": z3.Implies(
                z3.And(in_level, self.level(e + 1, q)), self.high(e) == self.low(e + 1)
            ),
            "the first begins the word": z3.Implies(z3.And(in_level, 2 * N - e == 2 * q), self.low(e) == 0),
            "the last ends the word": z3.Implies(z3.And(in_level, 2 * N - e == q + 1), self.high(e) == N),
        }

    def in_time(self, e: Term, delta: Term) -> Term:
        """Return whether entry e is written by step delta + [K < N]."""
        z3, N, K = self._arithmetic.z3, self._arithmetic.N, self._arithmetic.K
        return self._time(_row_of_entry(self._arithmetic, e)) <= delta + z3.If(K < N, 1, 0)


# Levels in which row i multiplies the rows 2i and 2i + 1 of the previous level, for every N: the letters they cover.
#
# A level has the entries 0 … M - 1, and those from w on are empty. An entry beyond them is the identity, the empty
# interval at the end of the word. By induction on the levels:
#
#     low(0) = 0,     high(i) = low(i + 1),     high(M - 1) = N,     low(i) = high(i) = N for w <= i
#
# One more level halves w. After ⌈log2 N⌉ levels w = 1, because N <= 2^⌈log2 N⌉, and entry 0 covers the word.


class Level:
    """The entries 0 … size - 1 of a level, of which the first `used` are not empty, and the letters they cover."""

    def __init__(self, arithmetic: Arithmetic, name: str, size: Term, used: Term) -> None:
        self._arithmetic, self.size, self.used = arithmetic, size, used
        self._low, self._high = (arithmetic.function(f"{side} of {name}") for side in ("low", "high"))

    def low(self, i: Term) -> Term:
        """Return the first letter of entry i; beyond the last entry, the interval is empty and at the end."""
        return self._arithmetic.z3.If(i < self.size, self._low(i), self._arithmetic.N)

    def high(self, i: Term) -> Term:
        """Return the end of the interval of entry i."""
        return self._arithmetic.z3.If(i < self.size, self._high(i), self._arithmetic.N)

    def claims(self, i: Term) -> dict[str, Term]:
        """Return the claims of the induction for entry i."""
        z3, N = self._arithmetic.z3, self._arithmetic.N
        in_level = z3.And(i >= 0, i < self.size)
        return {
            "the first begins the word": z3.Implies(z3.And(in_level, i == 0), self.low(i) == 0),
            "neighbours are adjacent": z3.Implies(in_level, self.high(i) == self.low(i + 1)),
            "entries beyond the used ones are empty": z3.Implies(
                z3.And(in_level, i >= self.used), z3.And(self.low(i) == N, self.high(i) == N)
            ),
        }

    def all_claims(self, *entries: Term) -> list[Term]:
        return [claim for i in entries for claim in self.claims(i).values()]

    def letters(self, i: Term) -> Term:
        """Return the fact that entry i is letter i."""
        z3 = self._arithmetic.z3
        return z3.Implies(z3.And(i >= 0, i < self._arithmetic.N), z3.And(self._low(i) == i, self._high(i) == i + 1))

    def is_product(self, i: Term, left: Term, right: Term, previous: "Level") -> Term:
        """Return the fact that entry i multiplies two entries of the previous level."""
        return self._arithmetic.z3.And(self._low(i) == previous.low(left), self._high(i) == previous.high(right))


def require_halving(arithmetic: Arithmetic) -> None:
    """Settle that a level of at most 2h used entries is followed by one of at most h."""
    w, h = arithmetic.variable("w"), arithmetic.variable("h")
    arithmetic.require(
        "layout: a level of at most 2h entries is followed by one of at most h",
        arithmetic.z3.And((w + 1) / 2 <= h, (w + 1) / 2 >= 1),
        [w >= 1, h >= 1, w <= 2 * h],
    )


def require_claims(arithmetic: Arithmetic, name: str, claims: dict[str, Term], facts: Sequence[Term]) -> None:
    """Settle the claims of one step of an induction, which `name` names."""
    for claim_name, claim in claims.items():
        arithmetic.require(f"layout: {name}, {claim_name}", claim, facts)
