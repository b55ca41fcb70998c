"""Automaton → its transition monoid, the set of maps state → state that words induce; and permutation groups."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from unmask.errors import ProblemError, TooLarge, shortened
from unmask.limits import check
from unmask.problems.automata.automaton import Automaton

_MOST_TABLE_ENTRIES = 100_000_000


@dataclass(frozen=True, eq=False)
class Monoid:
    """The maps of all words. In a product the first factor acts first: (i · j)(q) = elements[j][elements[i][q]].

    Element 0 is the identity, the map of the empty word. `identity_is_a_word` is True if some
    nonempty word has this map, too. Element j > 0 is parents[j] followed by the token letters[j],
    and parents[j] < j.
    """

    elements: np.ndarray  # [size, states], the smallest unsigned type that holds a state
    generators: np.ndarray  # int32 [tokens]: the element of each token
    successors: np.ndarray  # int32 [size, tokens]: i · generators[t]
    accepting: np.ndarray  # bool [size]: whether words with this map are accepted
    parents: np.ndarray  # int32 [size]
    letters: np.ndarray  # int32 [size]
    identity_is_a_word: bool
    identity: int = 0

    @property
    def size(self) -> int:
        """The number of elements, including the identity."""
        return len(self.elements)

    def compose(self, i: int, j: int) -> int:
        """i · j: the words of i, followed by those of j."""
        return self._index[self.elements[j][self.elements[i]].tobytes()]

    def element(self, ids: Sequence[int]) -> int:
        """The map of a word, given as token indices."""
        element = self.identity
        for token in ids:
            element = int(self.successors[element, token])
        return element

    def word(self, i: int) -> list[int]:
        """A shortest word with this map, as token indices."""
        ids: list[int] = []
        while i != self.identity:
            ids.append(int(self.letters[i]))
            i = int(self.parents[i])
        return ids[::-1]

    @cached_property
    def product_table(self) -> np.ndarray:
        """int32 [size, size]: entry (i, j) is i · j; column j = successors[column parents[j], letters[j]]."""
        if self.size**2 > _MOST_TABLE_ENTRIES:
            raise TooLarge(f"a product table of {self.size:,} elements is too large; use compose instead")
        columns = np.empty((self.size, self.size), dtype=np.int32)
        columns[self.identity] = np.arange(self.size, dtype=np.int32)
        for j in range(1, self.size):
            columns[j] = self.successors[columns[self.parents[j]], self.letters[j]]
        table = np.ascontiguousarray(columns.T)
        table.setflags(write=False)
        return table

    @cached_property
    def _index(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(self.elements)}


def transition_monoid(automaton: Automaton, *, most: int = 1_000) -> Monoid:
    """Return the monoid, computed breadth first by appending tokens; raise TooLarge beyond `most` elements."""
    states, count = automaton.delta.shape
    columns = automaton.delta.T.astype(np.min_scalar_type(states - 1))
    # Of tokens with the same map, only one is followed.
    _, firsts, alike = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    moves, alike = columns[firsts], alike.reshape(-1)
    elements = [np.arange(states, dtype=columns.dtype)]
    index = {elements[0].tobytes(): 0}
    parents, letters, successors = [0], [-1], []
    for i, element in enumerate(elements):  # grows while it is read
        check()
        row: list[int] = []
        for k, image in enumerate(moves[:, element]):
            j = index.setdefault(image.tobytes(), len(elements))
            if j == len(elements):
                elements.append(image)
                parents.append(i)
                letters.append(int(firsts[k]))
            row.append(j)
        successors.append(row)
        if len(elements) > most:
            raise TooLarge(
                f"the transition monoid of these {states:,} states has more than {most:,} elements; "
                "store a function as one slot for each state instead"
            )
    table = np.array(successors, dtype=np.int32)[:, alike].reshape(len(elements), count)
    maps = np.stack(elements)
    return Monoid(
        elements=maps,
        generators=table[0].copy(),
        successors=table,
        accepting=automaton.accepting[maps[:, automaton.start]],
        parents=np.array(parents, dtype=np.int32),
        letters=np.array(letters, dtype=np.int32),
        identity_is_a_word=bool((table == 0).any()),
    )


# Permutation groups: `A5`, `S5`, `Z12`, `D4`, or generators in cycle notation.


Permutation = tuple[int, ...]

_MOST_ELEMENTS = 10_000
_MOST_SYMBOLS = 200  # words over a named group of at most this order are written with all its elements
_MOST_POINTS = 1_000
_SYNTAX = "use S5, A5, Z12, D4 and the like, or generators such as gens:(1 2 3)(4 5),(1 2)"


@dataclass(frozen=True, eq=False)
class PermutationGroup:
    """A group of permutations of `points` points; elements[0] is the identity.

    In a product the first element acts first: (i · j)(x) = elements[j][elements[i][x]].
    `symbols` are the elements that words are written with, and `names` the names of all elements.
    """

    points: int
    elements: np.ndarray  # int32 [order, points]
    names: tuple[str, ...]
    symbols: tuple[int, ...]

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.elements)

    def product(self, i: int, j: int) -> int:
        """i · j: first i, then j."""
        return self._index[self.elements[j][self.elements[i]].tobytes()]

    @cached_property
    def table(self) -> np.ndarray:
        """int32 [order, symbols]: entry (i, k) is i · symbols[k]."""
        images = self.elements[list(self.symbols)][:, self.elements]  # [symbols, order, points]
        return np.array([[self._index[row.tobytes()] for row in rows] for rows in images], dtype=np.int32).T

    @cached_property
    def _index(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(self.elements)}


def permutation_group(spec: str) -> PermutationGroup:
    """The group that a specification names.

    `Sn`, `An` act on n points, `Zk` on k (elements +0, +1, …), `Dk` on the k corners of a polygon
    (r0, r1, … rotations x → x + i, s0, s1, … reflections x → i - x). Up to order 200, words over a group are
    written with all its elements; beyond that, with generators.
    `gens:` is followed by generators separated by commas, each a product of disjoint cycles of points
    1, 2, …: `gens:(1 2 3)(4 5),(1 2)`; `()` is the identity. Words are written with these generators,
    named without blanks: `(123)(45)`, `(12)`, or `(1,10)` if a point has two digits.
    """
    if spec.startswith("gens:"):
        return _generated(spec.removeprefix("gens:"))
    named = re.fullmatch(r"([SAZD])([1-9][0-9]{0,5})", spec)
    if named is None:
        raise ProblemError(f"{shortened(spec)!r} is not the name of a group; {_SYNTAX}")
    family, n = named[1], int(named[2])
    order = {"S": math.factorial(min(n, 20)), "A": math.factorial(min(n, 20)) // 2, "Z": n, "D": 2 * n}[family]
    if order > _MOST_ELEMENTS:
        raise TooLarge(f"the group {spec} has more than {_MOST_ELEMENTS:,} elements; choose a smaller one")
    elements, names, generators = {"S": _symmetric, "A": _alternating, "Z": _cyclic, "D": _dihedral}[family](n)
    symbols = range(len(elements)) if len(elements) <= _MOST_SYMBOLS else map(elements.index, generators)
    return _group(elements, names, symbols)


def cycles(permutation: Sequence[int]) -> str:
    """Cycle notation from 1 without blanks; `e` for the identity."""
    separator = "," if len(permutation) > 9 else ""
    text, visited = "", set()
    for start in range(len(permutation)):
        cycle = []
        while start not in visited:
            visited.add(start)
            cycle.append(str(start + 1))
            start = permutation[start]
        if len(cycle) > 1:
            text += f"({separator.join(cycle)})"
    return text or "e"


def _symmetric(n: int) -> tuple[list[Permutation], list[str], list[Permutation]]:
    elements = list(permutations(range(n)))
    rotation, swap = (*range(1, n), 0), (1, 0, *range(2, n))
    return elements, [cycles(p) for p in elements], [rotation, swap]


def _alternating(n: int) -> tuple[list[Permutation], list[str], list[Permutation]]:
    elements = [p for p in permutations(range(n)) if _is_even(p)]
    triples: list[Permutation] = [(1, k, *range(2, k), 0, *range(k + 1, n)) for k in range(2, n)]  # 0 → 1 → k → 0
    return elements, [cycles(p) for p in elements], triples


def _cyclic(k: int) -> tuple[list[Permutation], list[str], list[Permutation]]:
    elements = [tuple((x + i) % k for x in range(k)) for i in range(k)]
    return elements, [f"+{i}" for i in range(k)], [elements[1 % k]]


def _dihedral(k: int) -> tuple[list[Permutation], list[str], list[Permutation]]:
    names = [f"{kind}{i}" for kind in "rs" for i in range(k)]
    if k > 2:
        turns = [tuple((x + i) % k for x in range(k)) for i in range(k)]
        flips = [tuple((i - x) % k for x in range(k)) for i in range(k)]
    else:  # too few corners to distinguish the elements: act on k corners of two colours; a reflection swaps colours
        turns = [tuple((x + i) % k + k * c for c in (0, 1) for x in range(k)) for i in range(k)]
        flips = [tuple((x + i) % k + k * (1 - c) for c in (0, 1) for x in range(k)) for i in range(k)]
    return turns + flips, names, [turns[1 % k], flips[0]]


def _is_even(permutation: Permutation) -> bool:
    pairs = ((a, b) for k, a in enumerate(permutation) for b in permutation[k + 1 :])
    return sum(a > b for a, b in pairs) % 2 == 0


def _generated(text: str) -> PermutationGroup:
    if re.fullmatch(r"\s*(\([\d\s,]*\)\s*)+(,\s*(\([\d\s,]*\)\s*)+)*", text) is None:
        raise ProblemError(f"cannot read the generators {shortened(text)!r}; {_SYNTAX}")
    cycle_texts = [re.findall(r"\(([\d\s,]*)\)", generator_text) for generator_text in re.split(r",\s*(?=\()", text)]
    generator_cycles = [
        [[int(p) for p in re.findall(r"\d{1,9}", cycle)] for cycle in generator] for generator in cycle_texts
    ]
    points = max((p for generator in generator_cycles for cycle in generator for p in cycle), default=1)
    if points > _MOST_POINTS:
        raise TooLarge(f"a generator moves point {points}, and {_MOST_POINTS} points are allowed; number from 1")
    generators = [_permutation(generator, points) for generator in generator_cycles]
    if len(set(generators)) < len(generators):
        raise ProblemError("a generator is given twice; give each one once")
    elements = [tuple(range(points))]
    reached = set(elements)
    for element in elements:  # grows while it is read
        for generator in generators:
            image = tuple(generator[x] for x in element)
            if image not in reached:
                reached.add(image)
                elements.append(image)
        if len(elements) > _MOST_ELEMENTS:
            raise TooLarge(f"the generators give more than {_MOST_ELEMENTS:,} elements; choose a smaller group")
    return _group(elements, [cycles(p) for p in elements], map(elements.index, generators))


def _permutation(generator: list[list[int]], points: int) -> Permutation:
    """Disjoint cycles of points from 1 → the tuple of images, from 0."""
    images = list(range(points))
    moved = [p for cycle in generator for p in cycle]
    if len(set(moved)) < len(moved) or 0 in moved:
        raise ProblemError("a generator must be a product of disjoint cycles of points 1, 2, …; correct its cycles")
    for cycle in generator:
        for point, image in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            images[point - 1] = image - 1
    return tuple(images)


def _group(elements: list[Permutation], names: list[str], symbols: Sequence[int] | map) -> PermutationGroup:
    array = np.array(elements, dtype=np.int32)
    array.setflags(write=False)
    return PermutationGroup(array.shape[1], array, tuple(names), tuple(symbols))
