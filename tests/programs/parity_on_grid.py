"""Bounds of the least distance of two-pass samplers from strings of even parity, with any probabilities.

`unmask.samplers.write_once_parity` searches fair coins. Here all probabilities are multiples of 1/cells. Rounding the n
probabilities that write a string to this grid moves its law by at most n/(2·cells).
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np

from unmask.errors import TooLarge

MOST_GRID_LENGTH = 4
MOST_CELLS = 64


def distance_on_grid(length: int, cells: int) -> tuple[Fraction, Fraction]:
    """Return bounds of the least distance of two-pass samplers with two operands per slot and any probabilities.

    The upper bound is the least distance of samplers whose probabilities are multiples of 1/cells. One of the first
    slots is not read if there are three of them; then there is one later slot. So all later slots read the same slots,
    the address, and the best law of the later slots can be found for every address by itself. Samplers that write all
    slots in one pass are among those with one later slot.
    """
    if not 2 <= length <= MOST_GRID_LENGTH or not 1 <= cells <= MOST_CELLS:
        raise TooLarge(f"the search covers lengths from 2 to {MOST_GRID_LENGTH} and at most {MOST_CELLS} cells")
    best = max(
        _best_overlap_on_grid(length, cells, min(first, 2), unread)
        for first in range(1, length)
        for unread in combinations_with_replacement(range(cells + 1), max(0, first - 2))
    )
    distance = 1 - Fraction(best, 2 ** (length - 1) * cells**length)
    return max(Fraction(0), distance - Fraction(length, 2 * cells)), distance


def _best_overlap_on_grid(length: int, cells: int, read: int, unread: tuple[int, ...]) -> int:
    """The largest 2^(n-1) · cells^n · Σ min(P, uniform); the first slots are `read` read ones and then `unread`."""
    later = length - read - len(unread)
    tails = np.array(list(product((0, 1), repeat=len(unread) + later)), dtype=np.int64)
    laws = np.array(list(combinations_with_replacement(range(cells + 1), later)), dtype=np.int64)
    chances = np.concatenate([np.tile(np.array(unread, dtype=np.int64), (len(laws), 1)), laws], axis=1)
    factors = np.where(tails[:, None] == 1, chances, cells - chances).prod(axis=2)  # [tails, laws]
    odd = tails.sum(axis=1) % 2
    masses = np.unique(np.multiply.outer(*[np.arange(cells + 1)] * 2) if read == 2 else np.arange(cells + 1))
    most = [
        np.array(
            [
                np.minimum(2 ** (length - 1) * mass * factors[odd == parity], cells**length).sum(axis=0).max()
                for mass in masses
            ]
        )
        for parity in (0, 1)
    ]
    firsts = np.array(list(product(range(cells + 1), repeat=read)), dtype=np.int64)
    overlap = np.zeros(len(firsts), dtype=np.int64)
    for address in product((0, 1), repeat=read):
        mass = np.where(np.array(address) == 1, firsts, cells - firsts).prod(axis=1)
        overlap += most[sum(address) % 2][np.searchsorted(masses, mass)]
    return int(overlap.max())
