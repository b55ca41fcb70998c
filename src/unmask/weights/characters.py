"""`characters` of a folder → the code points that can be read, and the input symbol of each.

    [[first, last, token], …]  ↦  disjoint ranges in increasing order

A code point that two ranges name, or whose token is not an input symbol, cannot be read: no token is chosen for it.
"""

from collections.abc import Collection, Iterable

from unmask.errors import WeightsError

LAST_CODE_POINT = 0x10FFFF

Range = tuple[int, int, str]


def readable(ranges: Iterable[Range], input_symbols: Collection[str]) -> tuple[Range, ...]:
    """The part of the ranges in which a code point has exactly one token, an input symbol."""
    inputs = set(input_symbols)
    edges: dict[int, list[tuple[int, str | None]]] = {}
    for number, (first, last, symbol) in enumerate(ranges):
        if not 0 <= first <= last <= LAST_CODE_POINT:
            raise WeightsError(
                f"characters must be ranges of code points, and [{first}, {last}] is not one; correct config.json"
            )
        edges.setdefault(first, []).append((number, symbol))
        edges.setdefault(last + 1, []).append((number, None))
    found: list[Range] = []
    naming: dict[int, str] = {}  # the ranges that name a code point
    since = 0
    for edge in sorted(edges):
        symbols = list(naming.values())
        if len(symbols) == 1 and symbols[0] in inputs:
            found.append((since, edge - 1, symbols[0]))
        for number, symbol in edges[edge]:
            if symbol is None:
                del naming[number]
            else:
                naming[number] = symbol
        since = edge
    return tuple(found)
