"""The families once more, as a textbook would compute them: one thing after the other, whatever the depth.

Proofs about a family compare with these, not with the shallow circuits that are compiled.

| family         | here                                             |
|----------------|--------------------------------------------------|
| contains-aba   | an automaton of four states, letter by letter    |
| equal-halves   | bit by bit                                       |
| addition       | ripple-carry                                     |
| parity         | a chain of XOR                                   |
| majority       | counting in unary                                |
| formula        | recursion                                        |
| multiplication | shift and add                                    |
| reachability   | Warshall                                         |
| sorting        | counting in unary                                |
"""

from collections.abc import Callable, Sequence
from math import isqrt

from unmask.problems.circuit import FALSE, TRUE, Circuit, CircuitBuilder

Bits = Sequence[int]


def plain_circuit(family: str, length: int) -> Circuit:
    """The circuit of a family for words of one length."""
    builder = CircuitBuilder(f"x{i}" for i in range(length))
    return builder.circuit(PLAIN[family](builder, [builder.input(i) for i in range(length)]))


def _contains_aba(builder: CircuitBuilder, x: Bits) -> list[int]:
    a, ab, found = FALSE, FALSE, FALSE  # the word so far ends in a, ends in ab, contains aba
    for bit in x:
        found = builder.or_(found, builder.and_(ab, bit ^ 1))
        a, ab = bit ^ 1, builder.and_(a, bit)
    return [found]


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
    """Entry k: there are k ones."""
    at_least = [TRUE] + [FALSE] * len(x)
    for bit in x:
        for k in range(len(x), 0, -1):
            at_least[k] = builder.or_(at_least[k], builder.and_(at_least[k - 1], bit))
    return at_least


def _formula(builder: CircuitBuilder, x: Bits) -> list[int]:
    """AND of neighbours, then OR, then AND, …; one without a neighbour waits."""
    level, values = 0, list(x)
    while len(values) > 1:
        operation = builder.or_ if level % 2 else builder.and_
        values = [operation(*values[i : i + 2]) for i in range(0, len(values), 2)]
        level += 1
    return values


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
