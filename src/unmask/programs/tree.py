"""The shapes of the computation trees, as positional expressions.

Queue (masked diffusion). Slot j = 0 … N-2 stands at position N + j and multiplies the entries 2j and 2j + 1 of a
queue: first the N inputs, the last 2c of them foremost (c = N - 2^⌊log2 N⌋), then the slots. So after the first
c slots the queue holds 2^⌊log2 N⌋ products in the right order, and a perfect tree follows: depth ⌈log2 N⌉, root
in slot N - 2. The paper's layout lacks the rotation and multiplies in a rotated order unless N is a power of two.

Levels (looped, parallel chain of thought). Entry i of a level multiplies the entries 2i and 2i + 1 of the level
before; an entry that does not exist is the identity.
"""

from unmask.programs.expressions import Expression, N, both, choose, n, power_of_two_below


def tree_steps(length: int) -> int:
    """⌈log2 N⌉, and 0 for N <= 1."""
    return (length - 1).bit_length() if length > 1 else 0


def queue_slots(length: int) -> int:
    """N - 1 products, the last of which is the answer; one slot where there is nothing to multiply."""
    return max(1, length - 1)


def queue_child(length: int, side: int) -> Expression:
    """The position of a slot's left (0) or right (1) factor; everything without one points to itself."""
    return n if length == 0 else choose(n < N, n, queue_factor(n - N, side))


def queue_factor(slot: Expression, side: int) -> Expression:
    """Which input (below N) or slot (N + its number) is a factor of a slot, for N >= 1."""
    entry = 2 * slot + side
    return choose(entry < N, (entry - 2 * (N - power_of_two_below(N))) % N, entry)


def loop_child(side: int) -> Expression:
    """Row i of N reads the rows 2i and 2i + 1; those that do not exist are the pad row N, the identity."""
    entry = 2 * n + side
    return choose(both(n < N, entry < N), entry, N)


def level_width(length: int) -> int:
    """P' = ⌈N/2⌉, at least 1: room for the first level, and more than enough for the others."""
    return max(1, (length + 1) // 2)


def level_room(length: int, rows: int) -> int:
    """How many rows the addresses of a parallel chain of thought have room for: at least `rows`.

    There are about N·(1 + T/2) of them, and T grows like log N; 16·N is enough up to N = 2^30, so that a doubling
    of N adds one bit.
    """
    return max(rows, 16 * length)


def level_child(length: int, steps: int, side: int) -> Expression:
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
