"""Pairs (what a row holds, the map of its letters): closed under the table of a row, with the automaton's answer.

start: (letter, its map)          (x, f), (y, g)  →  (table[x][y], f·g), which must be listed too
"""

from collections.abc import Iterable, Sequence

import numpy as np

from unmask.checker.certificate import need
from unmask.checker.families import form
from unmask.checker.families.letters import Map

MOST_PAIRS = 3000


class Maps:
    """The elements of a certificate: maps of states, in increasing order."""

    def __init__(self, elements: list[list[int]], states: int) -> None:
        maps = [tuple(image) for image in elements]
        need(maps == sorted({*maps}), "elements are not in order, each once")
        need(all(len(f) == states and max(f) < states for f in maps), "an element is not a map of the states")
        need(0 < len(maps) <= MOST_PAIRS, "there are no elements, or too many")
        self._images = np.array(maps, dtype=np.int32)
        self._number = {image.tobytes(): i for i, image in enumerate(self._images)}
        self.identity = tuple(range(states))

    def number(self, image: Map) -> int:
        return self._number.get(np.array(image, dtype=np.int32).tobytes(), -1)

    def products(self) -> np.ndarray:
        """[f, g]: f·g, first f and then g; -1 where it is not listed."""
        table = np.empty((len(self._images), len(self._images)), dtype=np.int64)
        for f, image in enumerate(self._images):
            composed = np.ascontiguousarray(self._images[:, image])
            table[f] = [self._number.get(row.tobytes(), -1) for row in composed]
        return table

    def accepting(self, accepting: Sequence[bool]) -> np.ndarray:
        """Of every element: is the state that it takes state 0 to accepting?"""
        return np.array(accepting)[self._images[:, 0]]


class Pairs:
    """The pairs of a certificate, and what is held in any of them."""

    def __init__(self, claimed: list[form.Pair], maps: Maps, start: Iterable[tuple[int, Map]]) -> None:
        need(claimed == sorted({*claimed}), "pairs are not in order, each once")
        need(0 < len(claimed) <= MOST_PAIRS, "there are no pairs, or too many")
        self.held = sorted({x for x, _ in claimed})
        self._element = np.array([f for _, f in claimed])
        self._place = np.searchsorted(self.held, [x for x, _ in claimed])
        self.products = maps.products()
        need(
            {*self._element.tolist()} == {*range(len(self.products))}, "pairs do not name every element that is listed"
        )
        self._known = np.array([self._code(x, f) for x, f in claimed])
        need(all(self._code(x, maps.number(f)) in self._known for x, f in start), "the pair of a letter is not listed")

    def _code(self, x, f):
        """A number for a pair; of f = -1, none that is listed."""
        return np.where(np.asarray(f) < 0, -1, np.asarray(x) * len(self.products) + f)

    def closed(self, table: np.ndarray) -> None:
        """table[x, y] over what is held, in order, by its number or symbol."""
        made = self._code(table[np.ix_(self._place, self._place)], self.products[np.ix_(self._element, self._element)])
        need(bool(np.isin(made, self._known).all()), "a row may hold a pair that is not listed")

    def answered(self, table: np.ndarray, verdicts: np.ndarray) -> None:
        """Of any two pairs, table[x, y] is the verdict of their product."""
        product = self.products[np.ix_(self._element, self._element)]
        right = verdicts[product]
        said = table[np.ix_(self._place, self._place)]
        need(
            bool((product >= 0).all()) and np.array_equal(said, right),
            "the last row does not say what the automaton says",
        )

    def each_answered(self, said: np.ndarray, verdicts: np.ndarray) -> None:
        """Of any one pair, said[x] is the verdict of its map."""
        right = np.array_equal(said[self._place], verdicts[self._element])
        need(right, "the last row does not say what the automaton says")
