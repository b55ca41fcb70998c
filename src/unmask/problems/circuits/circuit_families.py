"""Families of problems: for every N a circuit, of known depth.

| family        | a word                       | accepted if, or outputs            | depth        |
|---------------|------------------------------|------------------------------------|--------------|
| contains-aba  | letters a, b                 | it contains aba                    | constant     |
| equal-halves  | bits                         | its halves are equal               | constant     |
| addition      | two numbers, low bit first   | their sum, then the carry          | constant     |
| parity        | bits                         | the number of 1s is odd            | O(log N)     |
| majority      | bits                         | more than half are 1               | O(log N)     |
| formula       | bits                         | a balanced AND/OR formula of them  | O(log N)     |
| multiplication| two numbers, low bit first   | their product                      | O(log N)     |
| reachability  | a matrix of v·v bits         | there is a path from 0 to v - 1    | 2⌈log2 v⌉    |
| sorting       | bits                         | the bits, sorted                   | O(log² N)    |

Each has an oracle in plain Python that does not use the circuit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt

from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder

# Numbers in circuits, lowest bit first: addition in constant depth, comparison, counting, multiplication.


def add(builder: CircuitBuilder, a: Sequence[int], b: Sequence[int]) -> list[int]:
    """a + b with its carry, by carry look-ahead: depth at most 5 for every length.

    carry_i = OR_j (a_j ∧ b_j ∧ AND_{j<l<i} (a_l ∨ b_l))
    """
    width = max(len(a), len(b))
    a, b = [*a, *[FALSE] * (width - len(a))], [*b, *[FALSE] * (width - len(b))]
    either = [builder.or_(x, y) for x, y in zip(a, b, strict=True)]
    total = []
    for i in range(width + 1):
        carry = builder.or_(*(builder.and_(a[j], b[j], *either[j + 1 : i]) for j in range(i)))
        total.append(carry if i == width else builder.xor(builder.xor(a[i], b[i]), carry))
    return total


def sum_of(builder: CircuitBuilder, numbers: Sequence[Sequence[int]]) -> list[int]:
    """The sum of many numbers, by a balanced tree of additions."""
    numbers = [list(number) for number in numbers]
    while len(numbers) > 1:
        pairs = [add(builder, x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
        numbers = pairs + (numbers[-1:] if len(numbers) % 2 else [])
    return numbers[0] if numbers else [FALSE]


def exceeds(builder: CircuitBuilder, a: Sequence[int], bound: int) -> int:
    """[a > bound]: some bit is 1 in a and 0 in the bound, and no higher bit of a is below that of the bound."""
    cases = []
    for i, bit in enumerate(a):
        if not bound >> i & 1:
            higher = [a[j] for j in range(i + 1, len(a)) if bound >> j & 1]
            cases.append(builder.and_(bit, *higher))
    return FALSE if bound >> len(a) else builder.or_(*cases)


def multiply(builder: CircuitBuilder, a: Sequence[int], b: Sequence[int]) -> list[int]:
    """a · b: the shifted copies of a, added in a balanced tree."""
    rows = [[FALSE] * i + [builder.and_(x, bit) for x in a] for i, bit in enumerate(b)]
    total = sum_of(builder, rows)
    return (total + [FALSE] * (len(a) + len(b)))[: len(a) + len(b)]


Bits = list[int]


@dataclass(frozen=True)
class CircuitFamily:
    """A family: how its circuit is built, what the outputs must be, and which lengths are allowed."""

    build: Callable[[CircuitBuilder, Bits], Sequence[int]]
    right: Callable[[Bits], Sequence[int]]
    fits: Callable[[int], bool] = lambda length: length >= 1
    lengths: str = "1 or more"
    letters: tuple[str, str] = ("0", "1")


@lru_cache(maxsize=8)
def family_circuit(name: str, length: int) -> Circuit:
    """The circuit of a family for words of one length."""
    builder = CircuitBuilder(f"x{i}" for i in range(length))
    return builder.circuit(list(FAMILIES[name].build(builder, [builder.input(i) for i in range(length)])))


def _contains_aba(builder: CircuitBuilder, x: Bits) -> list[int]:
    return [builder.or_(*(builder.and_(x[i] ^ 1, x[i + 1], x[i + 2] ^ 1) for i in range(len(x) - 2)))]


def _equal_halves(builder: CircuitBuilder, x: Bits) -> list[int]:
    half = len(x) // 2
    pairs = zip(x[:half], x[half:], strict=False)
    clauses = [builder.or_(*clause) for a, b in pairs for clause in ((a, b ^ 1), (a ^ 1, b))]
    return [builder.and_(*clauses) if len(x) % 2 == 0 else FALSE]


def _addition(builder: CircuitBuilder, x: Bits) -> list[int]:
    return add(builder, x[: len(x) // 2], x[len(x) // 2 :])


def _parity(builder: CircuitBuilder, x: Bits) -> list[int]:
    return [_balanced(builder.xor, x, FALSE)]


def _majority(builder: CircuitBuilder, x: Bits) -> list[int]:
    return [exceeds(builder, sum_of(builder, [[bit] for bit in x]), len(x) // 2)]


def _formula(builder: CircuitBuilder, x: Bits) -> list[int]:
    level = 0
    while len(x) > 1:
        operation = builder.or_ if level % 2 else builder.and_
        x = [operation(*x[i : i + 2]) for i in range(0, len(x), 2)]
        level += 1
    return x


def _multiplication(builder: CircuitBuilder, x: Bits) -> list[int]:
    return multiply(builder, x[: len(x) // 2], x[len(x) // 2 :])


def _reachability(builder: CircuitBuilder, x: Bits) -> list[int]:
    n = isqrt(len(x))
    reach = [[TRUE if i == j else x[n * i + j] for j in range(n)] for i in range(n)]
    for _ in range((n - 1).bit_length()):
        reach = [
            [builder.or_(*(builder.and_(reach[i][k], reach[k][j]) for k in range(n))) for j in range(n)]
            for i in range(n)
        ]
    return [reach[0][n - 1]]


def _sorting(builder: CircuitBuilder, x: Bits) -> list[int]:
    """Batcher's merge exchange: a comparator is min = AND, max = OR; t(t + 1)/2 layers of them for N <= 2^t."""
    x, top = list(x), 1 << (len(x) - 1).bit_length() >> 1
    block = top
    while block:
        stride, phase, distance = top, 0, block
        while distance:
            for i in range(len(x) - distance):
                if i & block == phase:
                    low, high = x[i], x[i + distance]
                    x[i], x[i + distance] = builder.and_(low, high), builder.or_(low, high)
            distance, stride, phase = stride - block, stride >> 1, block
        block >>= 1
    return x


def _balanced(operation: Callable[[int, int], int], x: Bits, neutral: int) -> int:
    while len(x) > 1:
        x = [operation(*x[i : i + 2]) if i + 1 < len(x) else x[i] for i in range(0, len(x), 2)]
    return x[0] if x else neutral


def _number(bits: Bits) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


def _bits_of(number: int, width: int) -> Bits:
    return [number >> i & 1 for i in range(width)]


def _right_sum(x: Bits) -> Bits:
    half = len(x) // 2
    return _bits_of(_number(x[:half]) + _number(x[half:]), half + 1)


def _right_product(x: Bits) -> Bits:
    half = len(x) // 2
    return _bits_of(_number(x[:half]) * _number(x[half:]), 2 * half)


def _right_formula(x: Bits) -> Bits:
    """The correct value of the formula, from the top: AND or OR of the halves; a missing half is ignored."""

    def value(first: int, level: int) -> int:
        half = 1 << level >> 1
        if not level:
            return x[first]
        if first + half >= len(x):
            return value(first, level - 1)
        return (min if level % 2 else max)(value(first, level - 1), value(first + half, level - 1))

    return [value(0, (len(x) - 1).bit_length())]


def _right_path(x: Bits) -> Bits:
    n = isqrt(len(x))
    seen, waiting = {0}, [0]
    while waiting:
        i = waiting.pop()
        new = {j for j in range(n) if x[n * i + j]} - seen
        seen |= new
        waiting += new
    return [int(n - 1 in seen)]


def _even(length: int) -> bool:
    return length >= 2 and length % 2 == 0


def _square(length: int) -> bool:
    return length >= 1 and isqrt(length) ** 2 == length


FAMILIES: dict[str, CircuitFamily] = {
    "contains-aba": CircuitFamily(
        _contains_aba, lambda x: [any(x[i : i + 3] == [0, 1, 0] for i in range(len(x)))], letters=("a", "b")
    ),
    "equal-halves": CircuitFamily(_equal_halves, lambda x: [x[: len(x) // 2] == x[len(x) // 2 :]]),
    "addition": CircuitFamily(_addition, _right_sum, _even, "2, 4, 6, …"),
    "parity": CircuitFamily(_parity, lambda x: [sum(x) % 2]),
    "majority": CircuitFamily(_majority, lambda x: [2 * sum(x) > len(x)]),
    "formula": CircuitFamily(_formula, _right_formula),
    "multiplication": CircuitFamily(_multiplication, _right_product, _even, "2, 4, 6, …"),
    "reachability": CircuitFamily(_reachability, _right_path, _square, "1, 4, 9, …"),
    "sorting": CircuitFamily(_sorting, sorted),
}
