"""A 16 × 16 array multiplier of NOR gates: the structure of c6288 (ISCAS-85), whose netlist we may not distribute.

Rows of adders, each of nine NOR gates, add one partial product after the other; the last row lets the carry ripple.
"""

from unmask.problems.circuits.circuit import FALSE, Circuit, CircuitBuilder


def nor_multiplier(width: int = 16) -> Circuit:
    """Return a circuit of a · b, lowest bit first; its inputs are a, then b."""
    builder = CircuitBuilder([f"{name}{i}" for name in "ab" for i in range(width)])
    a, b = ([builder.input(first + i) for i in range(width)] for first in (0, width))
    sums, carries, product = [builder.and_(x, b[0]) for x in a], [FALSE] * width, []
    for factor in b[1:]:
        product.append(sums[0])
        added = [
            _adder(builder, builder.and_(x, factor), above, carry)
            for x, above, carry in zip(a, [*sums[1:], FALSE], carries, strict=True)
        ]
        sums, carries = [bit for bit, _ in added], [carry for _, carry in added]
    product.append(sums[0])
    ripple = FALSE
    for above, carry in zip([*sums[1:], FALSE], carries, strict=True):
        bit, ripple = _adder(builder, above, carry, ripple)
        product.append(bit)
    return builder.circuit(product)


def _adder(builder: CircuitBuilder, a: int, b: int, carry: int) -> tuple[int, int]:
    """(sum, carry) of three bits."""

    def nor(x: int, y: int) -> int:
        return builder.and_(x ^ 1, y ^ 1)

    neither = nor(a, b)
    same = nor(nor(a, neither), nor(b, neither))
    lost = nor(same, carry)
    return nor(nor(same, lost), nor(carry, lost)), nor(neither, lost)
