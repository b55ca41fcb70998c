"""Families of problems, one for every N, each with an oracle and a textbook circuit.

| family         | a word                     | accepted if, or outputs           | textbook circuit         |
|----------------|----------------------------|-----------------------------------|--------------------------|
| contains-aba   | letters a, b               | it contains aba                   | automaton of four states |
| equal-halves   | bits                       | its halves are equal              | bit by bit               |
| addition       | two numbers, low bit first | their sum, then the carry         | ripple-carry             |
| parity         | bits                       | the number of 1s is odd           | a chain of XOR           |
| majority       | bits                       | more than half are 1              | counting in unary        |
| formula        | bits                       | a balanced AND/OR formula of them | leaf by leaf             |
| multiplication | two numbers, low bit first | their product                     | shift and add            |
| reachability   | a matrix of v·v bits       | there is a path from 0 to v - 1   | Warshall                 |
| sorting        | bits                       | the bits, sorted                  | counting in unary        |

The oracle is a few lines of Python, without a circuit. Proofs compare a model with the textbook circuit, which is
sequential. Neither is used to compile: `shallow_circuits` defines what is compiled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt

from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder

Bits = Sequence[int]
Build = Callable[[CircuitBuilder, Bits], list[int]]


@dataclass(frozen=True)
class CircuitFamily:
    """A family: the required outputs, its textbook circuit, and which lengths and letters its words have."""

    outputs: Callable[[Bits], Sequence[int]]
    textbook: Build
    fits: Callable[[int], bool] = lambda length: length >= 1
    lengths: str = "1 or more"
    letters: tuple[str, str] = ("0", "1")


def built_circuit(build: Build, length: int) -> Circuit:
    """The circuit that a function builds for words of one length."""
    builder = CircuitBuilder(f"x{i}" for i in range(length))
    return builder.circuit(build(builder, [builder.input(i) for i in range(length)]))


def textbook_circuit(family: str, length: int) -> Circuit:
    """The textbook circuit of a family for words of one length."""
    return built_circuit(FAMILIES[family].textbook, length)


# ---- textbook circuits: sequential, of any depth


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


def _ripple_carry_sum(builder: CircuitBuilder, x: Bits, y: Bits) -> list[int]:
    """x + y, low bit first, with the carry at the end."""
    carry, total = FALSE, []
    for a, b in zip(x, y, strict=True):
        half = builder.xor(a, b)
        total.append(builder.xor(half, carry))
        carry = builder.or_(builder.and_(a, b), builder.and_(half, carry))
    return [*total, carry]


def _addition(builder: CircuitBuilder, x: Bits) -> list[int]:
    return _ripple_carry_sum(builder, x[: len(x) // 2], x[len(x) // 2 :])


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
    """Return a list of literals; entry k is true if there are at least k ones."""
    at_least = [TRUE] + [FALSE] * len(x)
    for bit in x:
        for k in range(len(x), 0, -1):
            at_least[k] = builder.or_(at_least[k], builder.and_(at_least[k - 1], bit))
    return at_least


def _formula(builder: CircuitBuilder, x: Bits) -> list[int]:
    """The formula, leaf by leaf. If x[i] decides its subtree, the leaves up to the end of the subtree are skipped."""
    reached_if: list[list[int]] = [[TRUE], *([] for _ in x)]  # entry i: leaf i is read; last entry: the formula is true
    for i, leaf in enumerate(x):
        reached = builder.or_(*reached_if[i])
        for value, literal in ((0, leaf ^ 1), (1, leaf)):
            target = _next_leaf(i, value, len(x))
            if target is not None:
                reached_if[target].append(builder.and_(reached, literal))
    return [builder.or_(*reached_if[-1])]


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
        total[shift : shift + half + 1] = _ripple_carry_sum(builder, total[shift : shift + half], row)
    return total


def _reachability(builder: CircuitBuilder, x: Bits) -> list[int]:
    n = isqrt(len(x))
    reach = [[TRUE if i == j else x[n * i + j] for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                reach[i][j] = builder.or_(reach[i][j], builder.and_(reach[i][k], reach[k][j]))
    return [reach[0][n - 1]]


# ---- oracles


def _number(bits: Bits) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


def _bits_of(number: int, width: int) -> list[int]:
    return [number >> i & 1 for i in range(width)]


def _sum(x: Bits) -> list[int]:
    half = len(x) // 2
    return _bits_of(_number(x[:half]) + _number(x[half:]), half + 1)


def _product(x: Bits) -> list[int]:
    half = len(x) // 2
    return _bits_of(_number(x[:half]) * _number(x[half:]), 2 * half)


def _formula_value(x: Bits) -> list[int]:
    """The value of the formula, from the top: AND or OR of the halves; a missing half is ignored."""

    def value(first: int, level: int) -> int:
        half = 1 << level >> 1
        if not level:
            return x[first]
        if first + half >= len(x):
            return value(first, level - 1)
        return (min if level % 2 else max)(value(first, level - 1), value(first + half, level - 1))

    return [value(0, (len(x) - 1).bit_length())]


def _path(x: Bits) -> list[int]:
    n = isqrt(len(x))
    reached, waiting = {0}, [0]
    while waiting:
        i = waiting.pop()
        new = {j for j in range(n) if x[n * i + j]} - reached
        reached |= new
        waiting += new
    return [int(n - 1 in reached)]


def _is_even(length: int) -> bool:
    return length >= 2 and length % 2 == 0


def _is_square(length: int) -> bool:
    return length >= 1 and isqrt(length) ** 2 == length


FAMILIES: dict[str, CircuitFamily] = {
    "contains-aba": CircuitFamily(
        lambda x: [any(list(x[i : i + 3]) == [0, 1, 0] for i in range(len(x)))], _contains_aba, letters=("a", "b")
    ),
    "equal-halves": CircuitFamily(lambda x: [x[: len(x) // 2] == x[len(x) // 2 :]], _equal_halves),
    "addition": CircuitFamily(_sum, _addition, _is_even, "2, 4, 6, …"),
    "parity": CircuitFamily(lambda x: [sum(x) % 2], _parity),
    "majority": CircuitFamily(lambda x: [2 * sum(x) > len(x)], _majority),
    "formula": CircuitFamily(_formula_value, _formula),
    "multiplication": CircuitFamily(_product, _multiplication, _is_even, "2, 4, 6, …"),
    "reachability": CircuitFamily(_path, _reachability, _is_square, "1, 4, 9, …"),
    "sorting": CircuitFamily(sorted, _sorting),
}
