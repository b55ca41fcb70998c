"""Textbook circuits of the families: sequential, of any depth.

Proofs about a family compare with these, not with the shallow circuits that are compiled.

| family         | here                                             |
|----------------|--------------------------------------------------|
| contains-aba   | an automaton of four states, letter by letter    |
| equal-halves   | bit by bit                                       |
| addition       | ripple-carry                                     |
| parity         | a chain of XOR                                   |
| majority       | counting in unary                                |
| formula        | leaf by leaf, without decided subtrees           |
| multiplication | shift and add                                    |
| reachability   | Warshall                                         |
| sorting        | counting in unary                                |
"""

from collections.abc import Callable, Sequence
from math import isqrt

from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder

Bits = Sequence[int]


def plain_circuit(family: str, length: int) -> Circuit:
    """The circuit of a family for words of one length."""
    builder = CircuitBuilder(f"x{i}" for i in range(length))
    return builder.circuit(PLAIN[family](builder, [builder.input(i) for i in range(length)]))


def _contains_aba(builder: CircuitBuilder, x: Bits) -> list[int]:
    nothing, a, ab, aba = TRUE, FALSE, FALSE, FALSE  # the prefix of aba just read; aba stays true
    for b in x:
        nothing, a, ab, aba = (
            builder.and_(b, builder.or_(nothing, ab)),
            builder.and_(b ^ 1, builder.or_(nothing, a)),
            builder.and_(b, a),
            builder.or_(aba, builder.and_(b ^ 1, ab)),
        )
    return [aba]


def _equal_halves(builder: CircuitBuilder, x: Bits) -> list[int]:
    if len(x) % 2:
        return [FALSE]
    equal = TRUE
    for a, b in zip(x[: len(x) // 2], x[len(x) // 2 :], strict=True):
        equal = builder.and_(equal, builder.xor(a, b) ^ 1)
    return [equal]


def _ripple(builder: CircuitBuilder, x: Bits, y: Bits) -> list[int]:
    """x + y, low bit first, with the carry at the end."""
    carry, total = FALSE, []
    for a, b in zip(x, y, strict=True):
        half = builder.xor(a, b)
        total.append(builder.xor(half, carry))
        carry = builder.or_(builder.and_(a, b), builder.and_(half, carry))
    return [*total, carry]


def _addition(builder: CircuitBuilder, x: Bits) -> list[int]:
    return _ripple(builder, x[: len(x) // 2], x[len(x) // 2 :])


def _parity(builder: CircuitBuilder, x: Bits) -> list[int]:
    odd = FALSE
    for bit in x:
        odd = builder.xor(odd, bit)
    return [odd]


def _majority(builder: CircuitBuilder, x: Bits) -> list[int]:
    return [_at_least(builder, x)[len(x) // 2 + 1]]


def _sorting(builder: CircuitBuilder, x: Bits) -> list[int]:
    return _at_least(builder, x)[:0:-1]


def _at_least(builder: CircuitBuilder, x: Bits) -> list[int]:
    """Entry k: there are at least k ones."""
    at_least = [TRUE] + [FALSE] * len(x)
    for bit in x:
        for k in range(len(x), 0, -1):
            at_least[k] = builder.or_(at_least[k], builder.and_(at_least[k - 1], bit))
    return at_least


def _formula(builder: CircuitBuilder, x: Bits) -> list[int]:
    """The formula, leaf by leaf. If x[i] decides its subtree, the leaves up to the end of the subtree are skipped."""
    looked_at: list[list[int]] = [[TRUE], *([] for _ in x)]  # when each leaf is reached; at the end, a true formula
    for i, leaf in enumerate(x):
        here = builder.or_(*looked_at[i])
        for value, literal in ((0, leaf ^ 1), (1, leaf)):
            target = _next_leaf(i, value, len(x))
            if target is not None:
                looked_at[target].append(builder.and_(here, literal))
    return [builder.or_(*looked_at[-1])]


def _next_leaf(i: int, value: int, length: int) -> int | None:
    """The leaf to read after x[i] = value; `length` if the whole formula is true, None if it is false.

    A subtree of level l has 2^l leaves; its halves are joined by AND if l is odd, by OR if it is even. The second half
    is read only if the first does not decide the subtree.
    """
    for level in range(1, (length - 1).bit_length() + 1):
        middle = (i >> level << level) + (1 << level - 1)
        undecided = value == level % 2
        if i < middle < length and undecided:
            return middle
    return length if value else None


def _multiplication(builder: CircuitBuilder, x: Bits) -> list[int]:
    half = len(x) // 2
    total = [FALSE] * (2 * half)
    for shift, factor in enumerate(x[half:]):
        row = [builder.and_(bit, factor) for bit in x[:half]]
        total[shift : shift + half + 1] = _ripple(builder, total[shift : shift + half], row)
    return total


def _reachability(builder: CircuitBuilder, x: Bits) -> list[int]:
    n = isqrt(len(x))
    reach = [[TRUE if i == j else x[n * i + j] for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                reach[i][j] = builder.or_(reach[i][j], builder.and_(reach[i][k], reach[k][j]))
    return [reach[0][n - 1]]


PLAIN: dict[str, Callable[[CircuitBuilder, Bits], list[int]]] = {
    "contains-aba": _contains_aba,
    "equal-halves": _equal_halves,
    "addition": _addition,
    "parity": _parity,
    "majority": _majority,
    "formula": _formula,
    "multiplication": _multiplication,
    "reachability": _reachability,
    "sorting": _sorting,
}
