"""How close can a sampler that writes each slot once come to strings of even parity, in two passes?

A two-pass sampler writes a set A of the n slots first, independently of each other, and then the others. A slot of the
second pass depends on at most k slots of A (`reads`). The choice of slots depends on the canvas alone, so A is fixed.

Exact sampling of the uniform law on strings of even parity is impossible for n - 1 > k. Proof: given A, the other slots
are independent, and their sum is fixed, so each of them is a function of A. The entropy is n - 1 bits, so A has n - 1
slots (n would be independent). The last slot is then the parity of A and depends on all n - 1 slots. ∎

With editing, two passes and k = 2 are enough (`unmask.problems.random_circuits.even_parity`).

`write_once_distance` finds the least total variation distance by exhaustive search over all samplers whose slots are 0,
1 or a fair coin, in whole numbers.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from unmask.errors import TooLarge

MOST_LENGTH = 5
BITS = (0, 1, 2)
"""Twice the probability of a 1."""


def write_once_distance(length: int, reads: int = 2) -> Fraction:
    """Return the least total variation distance from the uniform law on even-parity strings, over two-pass samplers."""
    if not 1 <= length <= MOST_LENGTH:
        raise TooLarge(f"the search covers lengths from 1 to {MOST_LENGTH}, not {length}")
    if not 1 <= reads <= 2:
        raise TooLarge(f"the search covers slots that read one or two others, not {reads}")
    strings = np.array(list(product((0, 1), repeat=length)), dtype=np.int64)
    even = strings.sum(axis=1) % 2 == 0
    best = 0
    for first in range(length + 1):  # by symmetry the first pass writes the first slots
        for weights in _first_pass(strings, first):
            best = max(best, _best_overlap(weights, even, list(_second_pass(strings, first, reads)), length - first))
    return 1 - Fraction(best, 2**length)


def _factor(bit: np.ndarray, twice_one: np.ndarray | int) -> np.ndarray:
    """Return twice the probability of the bit."""
    return np.where(bit == 1, twice_one, 2 - twice_one)


def _first_pass(strings: np.ndarray, first: int) -> Iterator[np.ndarray]:
    """Yield 2^first · the probability of each string's first slots, for every choice of their laws."""
    for chances in combinations_with_replacement(BITS, first):  # slots of one pass can be exchanged
        yield reduce(
            np.multiply, [_factor(strings[:, i], c) for i, c in enumerate(chances)], np.ones(len(strings), int)
        )


def _second_pass(strings: np.ndarray, first: int, reads: int) -> Iterator[np.ndarray]:
    """Yield every function from the first slots to twice the probability that a slot of the second pass is 1."""
    yielded = set()
    for read_slots in combinations(range(first), min(reads, first)):
        address = sum((strings[:, i] << j for j, i in enumerate(read_slots)), np.zeros(len(strings), dtype=np.int64))
        for table in product(BITS, repeat=2 ** len(read_slots)):
            law = np.array(table)[address]
            if law.tobytes() not in yielded:
                yielded.add(law.tobytes())
                yield law


def _best_overlap(weights: np.ndarray, even: np.ndarray, laws: list[np.ndarray], slots: int) -> int:
    """Return the largest 2^n · Σ min(P, uniform), over the laws of the slots of the second pass."""
    strings = np.arange(len(weights))
    even_weights = weights[even]
    if not slots:
        return int(np.minimum(even_weights, 2).sum())
    factors = [np.array([_factor(strings >> (slots - 1 - i) & 1, law)[even] for law in laws]) for i in range(slots)]
    best = 0
    for combination in combinations_with_replacement(range(len(laws)), slots - 1):
        partial = reduce(np.multiply, [factors[i][c] for i, c in enumerate(combination)], even_weights)
        rest = factors[-1][combination[-1] if combination else 0 :]  # slots of one pass can be exchanged
        best = max(best, int(np.minimum(partial * rest, 2).sum(axis=1).max()))
    return best
