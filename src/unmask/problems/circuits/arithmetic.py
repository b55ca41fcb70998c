"""Numbers in circuits, lowest bit first: addition in constant depth, comparison, counting, multiplication."""

from collections.abc import Sequence

from unmask.problems.circuits.circuit import FALSE, CircuitBuilder

Bits = list[int]


def add(builder: CircuitBuilder, a: Sequence[int], b: Sequence[int]) -> Bits:
    """a + b with its carry, by carry look-ahead: depth at most 5 whatever the length.

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


def sum_of(builder: CircuitBuilder, numbers: Sequence[Sequence[int]]) -> Bits:
    """The sum of many numbers, by a balanced tree of additions."""
    numbers = [list(number) for number in numbers]
    while len(numbers) > 1:
        pairs = [add(builder, x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
        numbers = pairs + (numbers[-1:] if len(numbers) % 2 else [])
    return numbers[0] if numbers else [FALSE]


def exceeds(builder: CircuitBuilder, a: Sequence[int], bound: int) -> int:
    """[a > bound]: some bit is 1 where the bound's is 0, and all higher ones are at least the bound's."""
    cases = []
    for i, bit in enumerate(a):
        if not bound >> i & 1:
            higher = [a[j] for j in range(i + 1, len(a)) if bound >> j & 1]
            cases.append(builder.and_(bit, *higher))
    return FALSE if bound >> len(a) else builder.or_(*cases)


def multiply(builder: CircuitBuilder, a: Sequence[int], b: Sequence[int]) -> Bits:
    """a · b: the shifted copies of a, added in a balanced tree."""
    rows = [[FALSE] * i + [builder.and_(x, bit) for x in a] for i, bit in enumerate(b)]
    total = sum_of(builder, rows)
    return (total + [FALSE] * (len(a) + len(b)))[: len(a) + len(b)]
