"""Pairs (what a row holds, the map of its letters in the automaton), closed under the table of a row.

    start: (letter, its map)          (x, f), (y, g)  →  (table[x, y], f·g)

The closure says, once for all N, what rows can hold for which products; by induction on the tree no other pair occurs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.budget import check
from unmask.problems.automata.automaton import Automaton
from unmask.verification.families.obligations.ledger import Open

MOST_PAIRS = 3000


class Maps:
    """The maps of states that words have, numbered as they come up; the identity is 0."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        states = np.arange(automaton.states, dtype=np.int32)
        found, number = [states], {states.tobytes(): 0}
        made_of: list[tuple[int, int]] = [(0, 0)]  # f = (an earlier map)·(a letter)
        after: list[list[int]] = []
        for f, images in enumerate(found):  # the list grows while it is gone through
            check()
            after.append([])
            for letter in range(automaton.delta.shape[1]):
                image = automaton.delta[images, letter].astype(np.int32)
                g = number.setdefault(image.tobytes(), len(found))
                if g == len(found):
                    found.append(image)
                    made_of.append((f, letter))
                after[f].append(g)
            if len(found) > MOST_PAIRS:
                raise Open(f"the automaton has more than {MOST_PAIRS:,} maps")
        self._after = np.array(after, dtype=np.int64).reshape(len(found), -1)
        self._table = np.zeros((len(found), len(found)), dtype=np.int32)
        self._table[:, 0] = np.arange(len(found))
        for g in range(1, len(found)):
            earlier, letter = made_of[g]
            self._table[:, g] = self._after[self._table[:, earlier], letter]
        self._images = found
        self._start = np.array([images[automaton.start] for images in found])

    def image(self, number: int) -> np.ndarray:
        """state ↦ state."""
        return self._images[number]

    def of_letters(self, tokens: np.ndarray) -> np.ndarray:
        return self._after[0, tokens]

    def products(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """f·g: first f, then g; f·(h·a) = (f·h)·a."""
        return self._table[first, second].astype(np.int64)

    def accepting(self, numbers: np.ndarray) -> np.ndarray:
        return self._automaton.accepting[self._start[numbers]]


@dataclass(frozen=True)
class Pool:
    """Pairs: what is held, by number, and the map."""

    held: np.ndarray
    maps: np.ndarray

    @property
    def size(self) -> int:
        return self.held.size

    def every_two(self) -> tuple[np.ndarray, np.ndarray]:
        """All (first, second), as places in the pool."""
        first, second = np.indices((self.size, self.size))
        return first.ravel(), second.ravel()


Table = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(left, right), what two rows hold → what a row holds that reads them."""


def closed(start: Pool, table: Table, maps: Maps) -> Pool:
    """The least pool that holds the start and what the table makes of any two of its pairs."""
    pairs = list(dict.fromkeys(zip(start.held.tolist(), start.maps.tolist(), strict=True)))
    known = set(pairs)
    settled = 0
    while settled < len(pairs):
        check()
        count = len(pairs)
        held, numbers = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
        new, every = np.arange(settled, count), np.arange(count)
        first = np.concatenate([np.repeat(new, count), np.repeat(every[:settled], new.size)])
        second = np.concatenate([np.tile(every, new.size), np.tile(new, settled)])
        made = table(held[first], held[second]) << 32 | maps.products(numbers[first], numbers[second])
        for code in np.unique(made).tolist():
            pair = code >> 32, code & (1 << 32) - 1
            if pair not in known:
                known.add(pair)
                pairs.append(pair)
        settled = count
        if len(pairs) > MOST_PAIRS:
            raise Open(f"more than {MOST_PAIRS:,} pairs of a symbol and a map occur")
    held, numbers = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    return Pool(held, numbers)
