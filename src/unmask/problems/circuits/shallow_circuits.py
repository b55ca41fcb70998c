"""Circuits of low depth for every family and N: the circuits that are compiled.

| family                                                      | depth        | defined by                        |
|-------------------------------------------------------------|--------------|-----------------------------------|
| contains-aba, equal-halves, formula, parity, reachability   | see there    | a machine (`printed_circuits`)    |
| addition                                                    | constant     | carry look-ahead                  |
| majority                                                    | O(log N)     | a tree of additions, a comparison |
| multiplication                                              | O(log N)     | a tree of additions               |
| sorting                                                     | O(log² N)    | merge exchange                    |

No proof trusts this module: `circuit_families` says what the outputs must be, without using a circuit from here.
"""

from collections.abc import Sequence
from functools import lru_cache

from unmask.problems.circuits.circuit import FALSE, Circuit, CircuitBuilder, simplified
from unmask.problems.circuits.circuit_families import Bits, Build, built_circuit
from unmask.problems.circuits.printed_circuits import PRINTED, printed_circuit


@lru_cache(maxsize=8)
def shallow_circuit(family: str, length: int) -> Circuit:
    """The shallow circuit of a family for words of one length."""
    if family in PRINTED:
        return simplified(printed_circuit(length, PRINTED[family].items(length)))
    return built_circuit(BUILT[family], length)


# Numbers in circuits, lowest bit first: addition in constant depth, comparison, counting, multiplication.


def add_numbers(builder: CircuitBuilder, a: Sequence[int], b: Sequence[int]) -> list[int]:
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


def sum_numbers(builder: CircuitBuilder, numbers: Sequence[Sequence[int]]) -> list[int]:
    """The sum of many numbers, by a balanced tree of additions."""
    numbers = [list(number) for number in numbers]
    while len(numbers) > 1:
        pairs = [add_numbers(builder, x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
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


def multiply_numbers(builder: CircuitBuilder, a: Sequence[int], b: Sequence[int]) -> list[int]:
    """a · b: the shifted copies of a, added in a balanced tree."""
    rows = [[FALSE] * i + [builder.and_(x, bit) for x in a] for i, bit in enumerate(b)]
    total = sum_numbers(builder, rows)
    return (total + [FALSE] * (len(a) + len(b)))[: len(a) + len(b)]


def _addition(builder: CircuitBuilder, x: Bits) -> list[int]:
    return add_numbers(builder, x[: len(x) // 2], x[len(x) // 2 :])


def _majority(builder: CircuitBuilder, x: Bits) -> list[int]:
    return [exceeds(builder, sum_numbers(builder, [[bit] for bit in x]), len(x) // 2)]


def _multiplication(builder: CircuitBuilder, x: Bits) -> list[int]:
    return multiply_numbers(builder, x[: len(x) // 2], x[len(x) // 2 :])


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


BUILT: dict[str, Build] = {
    "addition": _addition,
    "majority": _majority,
    "multiplication": _multiplication,
    "sorting": _sorting,
}
