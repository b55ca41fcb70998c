"""The shapes of the computation trees, as positional expressions.

Queue (masked diffusion). Slot j = 0 … N-2 stands at position N + j and multiplies the entries 2j and 2j + 1 of a
queue: first the N inputs, the last 2c of them foremost (c = N - 2^⌊log2 N⌋), then the slots. So after the first
c slots the queue holds 2^⌊log2 N⌋ products in the right order, and a perfect tree follows: depth ⌈log2 N⌉, root
in slot N - 2. The paper's layout lacks the rotation and multiplies in a rotated order unless N is a power of two.

Levels (looped, parallel chain of thought). Entry i of a level multiplies the entries 2i and 2i + 1 of the level
before; an entry that does not exist is the identity.

A length is a number, or N itself: the layout of every N from 2 on, in expressions.
"""

from dataclasses import dataclass
from typing import overload

from unmask.programs.language.positions import Expression, N, both, choose, log2_above, n, power_of_two_below
from unmask.programs.language.program import Size
from unmask.weights.transformer import Attention


@dataclass(frozen=True)
class Tree:
    """A tree of products: its rows, where the two factors of a row stand, and how rows are written."""

    length: Size
    rows: Size
    room: Size  # how many rows the addresses have room for
    factors: tuple[Expression, Expression]
    waits: bool  # a row may be read before it is written
    attention: Attention


LEAST = 2
"""From which length on a layout in expressions is meant."""


def several(length: Size) -> bool:
    """Is there something to multiply?"""
    return isinstance(length, Expression) or length >= LEAST


@overload
def tree_steps(length: int) -> int: ...
@overload
def tree_steps(length: Size) -> Size: ...
def tree_steps(length: Size) -> Size:
    """⌈log2 N⌉, and 0 for N <= 1."""
    if isinstance(length, Expression):
        return log2_above(length)
    return (length - 1).bit_length() if length > 1 else 0


@overload
def least_steps(length: int) -> int: ...
@overload
def least_steps(length: Size) -> Size: ...
def least_steps(length: Size) -> Size:
    """⌈log2 N⌉, at least 1."""
    return tree_steps(length) if several(length) else 1


@overload
def queue_slots(length: int) -> int: ...
@overload
def queue_slots(length: Size) -> Size: ...
def queue_slots(length: Size) -> Size:
    """N - 1 products, the last of which is the answer; one slot where there is nothing to multiply."""
    return length - 1 if several(length) else 1


def queue_child(length: Size, side: int) -> Expression:
    """The position of a slot's left (0) or right (1) factor; everything without one points to itself."""
    return n if not isinstance(length, Expression) and length == 0 else choose(n < N, n, queue_factor(n - N, side))


def queue_tree(length: Size) -> Tree:
    """Masked diffusion: N letters and a slot per product."""
    rows = length + queue_slots(length)
    factors = queue_child(length, 0), queue_child(length, 1)
    return Tree(length, rows, rows, factors, waits=several(length), attention="unmasked")


def queue_factor(slot: Expression, side: int) -> Expression:
    """Which input (below N) or slot (N + its number) is a factor of a slot, for N >= 1."""
    entry = 2 * slot + side
    return choose(entry < N, (entry - 2 * (N - power_of_two_below(N))) % N, entry)


def loop_child(side: int) -> Expression:
    """Row i of N reads the rows 2i and 2i + 1; those that do not exist are the pad row N, the identity."""
    entry = 2 * n + side
    return choose(both(n < N, entry < N), entry, N)


@overload
def level_width(length: int) -> int: ...
@overload
def level_width(length: Size) -> Size: ...
def level_width(length: Size) -> Size:
    """P' = ⌈N/2⌉, at least 1: room for the first level, and more than enough for the others."""
    return (length + 1) // 2 if several(length) else 1


@overload
def level_room(length: int, rows: int) -> int: ...
@overload
def level_room(length: Size, rows: Size) -> Size: ...
def level_room(length: Size, rows: Size) -> Size:
    """How many rows the addresses of a parallel chain of thought have room for: at least `rows`.

    There are about N·(1 + T/2) of them, and T grows like log N; 16·N is enough up to N = 2^30, so that a doubling
    of N adds one bit.
    """
    if isinstance(length, Expression) or isinstance(rows, Expression):
        return choose(16 * length >= rows, 16 * length, rows)  # ty: ignore
    return max(rows, 16 * length)


def level_child(length: Size, steps: Size, side: int) -> Expression:
    """The position of a factor of row i in block t of a parallel chain of thought; missing ones are the row itself.

    The very last row is the root: entry 0 of its level.
    """
    width = level_width(length)
    level = (n - N) // width
    root = N + (steps * width - 1)
    entry = choose(n.equals(root), side, 2 * ((n - N) % width) + side)
    from_input = choose(entry < N, entry, n)
    from_block = choose(entry < width, N + width * (level - 1) + entry, n)
    return choose(n < N, n, choose(level.equals(0), from_input, from_block))


def level_tree(length: Size) -> Tree:
    """Parallel chain of thought: N letters and a block of products per level; every step finds its factors written."""
    steps = least_steps(length)
    rows = length + steps * level_width(length)
    factors = level_child(length, steps, 0), level_child(length, steps, 1)
    return Tree(length, rows, level_room(length, rows), factors, waits=False, attention="causal")
