"""Monoid elements as symbols and as features of the residual stream, so that an MLP can multiply two of them.

A coding gives every element f of a finite monoid three sets of features, and a list of triples (l, r, g):

    left(f), right(f), result(f),       result feature g of f·h  =  OR over triples (l, r, g) of l(f) ∧ r(h)

For fixed f and h the units of one g are mutually exclusive, so a plain sum is the OR. The result features identify an
element: f is the product if and only if all of result(f) hold.

| coding | left                       | right                     | triples         | suitable for              |
|--------|----------------------------|---------------------------|-----------------|---------------------------|
| table  | f itself                   | h itself                  | all pairs       | small monoids             |
| points | where f takes a base point | where h takes every point | paths b → r → s | large monoids, few points |

A base is a set of points whose images distinguish all elements: A5 on five points has a base of three.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import TooLarge
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.groups_and_monoids import Monoid, PermutationGroup, transition_monoid
from unmask.programs.program import Vocabulary, vocabulary_of


@dataclass(frozen=True, eq=False)
class FeaturePairs:
    """Pairs of an element and a feature that it has."""

    element: np.ndarray
    feature: np.ndarray

    def of(self, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (index in `elements`, feature) for every feature of these elements."""
        order = np.argsort(self.element, kind="stable")
        starts = np.searchsorted(self.element[order], elements)
        stops = np.searchsorted(self.element[order], elements, side="right")
        index = np.repeat(np.arange(len(elements)), stops - starts)
        within = np.arange(index.size) - np.repeat(np.cumsum(stops - starts) - (stops - starts), stops - starts)
        return index, self.feature[order][np.repeat(starts, stops - starts) + within]


@dataclass(frozen=True)
class Disjunct:
    """All of `present` hold and, if given, `absent` does not."""

    present: tuple[int, ...]
    absent: int | None = None


@dataclass(frozen=True, eq=False)
class Coding:
    """Features of every element of a monoid; element 0 is the identity."""

    name: str
    size: int
    left: FeaturePairs
    right: FeaturePairs
    result: FeaturePairs
    left_names: tuple[str, ...]
    right_names: tuple[str, ...]
    triples: tuple[np.ndarray, np.ndarray, np.ndarray]
    accept: tuple[Disjunct, ...]
    reject: tuple[Disjunct, ...]

    @property
    def result_names(self) -> tuple[str, ...]:
        return self.left_names


def coding_price(*, size: int, left: int, right: int, pairs: int, triples: int) -> int:
    """The number of weights of a composition, plus ten for every column, because every row and layer has the column.

    `left` and `right` are numbers of features, `pairs` of (element, feature); they are known before a coding exists.
    """
    return 3 * triples + pairs + 10 * (3 * left + 2 * right + 2 * size)


def table_price(size: int) -> int:
    """The price of `table_coding`."""
    return coding_price(size=size, left=size, right=size, pairs=3 * size, triples=size**2)


def table_coding(table: np.ndarray, accepting: np.ndarray, names: Sequence[str]) -> Coding:
    """One feature per element; table[f, h] = f·h."""
    size = len(table)
    every = np.arange(size)
    f, h = (axis.ravel() for axis in np.indices((size, size)))
    return Coding(
        name="table",
        size=size,
        left=FeaturePairs(every, every),
        right=FeaturePairs(every, every),
        result=FeaturePairs(every, every),
        left_names=tuple(names),
        right_names=tuple(names),
        triples=(f, h, table.ravel().astype(np.int64)),
        accept=tuple(Disjunct((int(f),)) for f in np.flatnonzero(accepting)),
        reject=tuple(Disjunct((int(f),)) for f in np.flatnonzero(~accepting)),
    )


def monoid_coding(monoid: Monoid, accepting_states: np.ndarray, names: Sequence[str]) -> Coding:
    """The cheaper coding, for the transition monoid of an automaton that starts in state 0."""
    maps = monoid.elements.astype(np.int64)
    points = _PointFeatures(maps, base_of(maps, first=0))
    if table_price(monoid.size) <= points.price:
        return table_coding(monoid.product_table, monoid.accepting, names)
    start = np.unique(maps[:, 0])
    accept = tuple(Disjunct((points.left(0, int(s)),)) for s in start if accepting_states[s])
    reject = tuple(Disjunct((points.left(0, int(s)),)) for s in start if not accepting_states[s])
    return points.coding(accept, reject)


def group_coding(group: PermutationGroup, names: Sequence[str]) -> Coding:
    """The cheaper coding, for "is the product the identity"."""
    maps = group.elements.astype(np.int64)
    base = base_of(maps)
    points = _PointFeatures(maps, base)
    if table_price(group.order) > points.price:
        fixed = [points.left(b, b) for b in base]
        reject = tuple(Disjunct(tuple(fixed[:i]), absent=fixed[i]) for i in range(len(base)))
        return points.coding((Disjunct(tuple(fixed)),), reject)
    index = {row.tobytes(): i for i, row in enumerate(maps)}
    table = np.array([[index[maps[h][maps[f]].tobytes()] for h in range(group.order)] for f in range(group.order)])
    return table_coding(table, np.arange(group.order) == 0, names)


def base_of(maps: np.ndarray, *, first: int | None = None) -> tuple[int, ...]:
    """Points whose images distinguish all maps, chosen greedily; `first` is always among them."""
    base = [] if first is None else [first]
    classes = np.zeros(len(maps), dtype=np.int64)
    for point in base:
        classes = _refined_classes(classes, maps[:, point])
    while len(np.unique(classes)) < len(maps):
        candidates = [_refined_classes(classes, maps[:, point]) for point in range(maps.shape[1])]
        best = max(range(maps.shape[1]), key=lambda point: int(candidates[point].max()))
        base.append(best)
        classes = candidates[best]
    return tuple(base or [0])


def _refined_classes(classes: np.ndarray, images: np.ndarray) -> np.ndarray:
    return np.unique(classes * (int(images.max()) + 1) + images, return_inverse=True)[1].reshape(-1)


class _PointFeatures:
    """Features "f takes point b to point s", numbered."""

    def __init__(self, maps: np.ndarray, base: tuple[int, ...]) -> None:
        self.maps, self.base = maps, base
        self.orbits = [np.unique(maps[:, point]) for point in range(maps.shape[1])]
        reached = np.unique(np.concatenate([self.orbits[b] for b in base]))
        self.left_pairs = [(b, int(s)) for b in base for s in self.orbits[b]]
        self.right_pairs = [(int(r), int(s)) for r in reached for s in self.orbits[r]]
        self.left_number = {pair: i for i, pair in enumerate(self.left_pairs)}
        self.right_number = {pair: i for i, pair in enumerate(self.right_pairs)}
        self.reached = reached

    @property
    def price(self) -> int:
        """The price of `coding`."""
        return coding_price(
            size=len(self.maps),
            left=len(self.left_pairs),
            right=len(self.right_pairs),
            pairs=len(self.maps) * (2 * len(self.base) + len(self.reached)),
            triples=sum(self.orbits[r].size for b in self.base for r in self.orbits[b]),
        )

    def left(self, b: int, s: int) -> int:
        return self.left_number[b, s]

    def coding(self, accept: tuple[Disjunct, ...], reject: tuple[Disjunct, ...]) -> Coding:
        left = self._pairs(np.array(self.base), self.left_number)
        right = self._pairs(self.reached, self.right_number)
        triples = [
            (self.left_number[b, int(r)], self.right_number[int(r), int(s)], self.left_number[b, int(s)])
            for b in self.base
            for r in self.orbits[b]
            for s in self.orbits[r]
        ]
        first, second, third = np.array(triples, dtype=np.int64).T
        return Coding(
            name="points",
            size=len(self.maps),
            left=left,
            right=right,
            result=left,
            left_names=tuple(f"{b}→{s}" for b, s in self.left_pairs),
            right_names=tuple(f"{r}→{s}" for r, s in self.right_pairs),
            triples=(first, second, third),
            accept=accept,
            reject=reject,
        )

    def _pairs(self, points: np.ndarray, number: dict[tuple[int, int], int]) -> FeaturePairs:
        element = np.repeat(np.arange(len(self.maps)), len(points))
        images = self.maps[:, points].ravel()
        sources = np.tile(points, len(self.maps))
        lookup = np.full((self.maps.shape[1], self.maps.shape[1]), -1, dtype=np.int64)
        for (r, s), i in number.items():
            lookup[r, s] = i
        return FeaturePairs(element, lookup[sources, images])


MOST_ELEMENTS = 1024
LONGEST_NAME = 12


@dataclass(frozen=True, eq=False)
class Products:
    """Token t is the element letters[t]; the element e is written with the symbol symbol_of[e]."""

    coding: Coding
    letters: np.ndarray
    symbols: tuple[str, ...]
    symbol_of: np.ndarray

    @property
    def element_names(self) -> tuple[str, ...]:
        return tuple(self.symbols[s] for s in self.symbol_of)


def elements_of(automaton: Automaton, group: PermutationGroup | None = None) -> PermutationGroup | Monoid:
    """The algebra of the words' products: the group of the problem if it is small, else the transition monoid."""
    if group is not None and group.order <= MOST_ELEMENTS:
        return group
    return transition_monoid(automaton, most=MOST_ELEMENTS)


def products_of(automaton: Automaton, group: PermutationGroup | None = None) -> Products:
    """The products of an automaton's words; raise TooLarge if there are more than a thousand."""
    monoid = elements_of(automaton, group)
    if isinstance(monoid, PermutationGroup):
        letters = np.array(monoid.symbols)
        symbols, symbol_of = _with_symbols(automaton.tokens, letters, list(monoid.names))
        return Products(group_coding(monoid, monoid.names), letters, symbols, symbol_of)
    names = [_word_name(monoid, e, automaton.tokens) for e in range(monoid.size)]
    symbols, symbol_of = _with_symbols(automaton.tokens, monoid.generators, names)
    coding = monoid_coding(monoid, automaton.accepting, names)
    return Products(coding, monoid.generators, symbols, symbol_of)


def try_products(automaton: Automaton, group: PermutationGroup | None = None) -> Products | None:
    """`products_of`, or None if the monoid is too large for one slot per node."""
    try:
        return products_of(automaton, group)
    except TooLarge:
        return None


def _word_name(monoid: Monoid, element: int, tokens: tuple[str, ...]) -> str:
    word = "".join(tokens[t] for t in monoid.word(element)) or "ε"
    return word if len(word) <= LONGEST_NAME else f"f{element}"


def _with_symbols(tokens: tuple[str, ...], letters: np.ndarray, names: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the symbols, which are the tokens and then the other elements, and the symbol of every element.

    A name that is already used gets a number.
    """
    symbols = list(tokens)
    used = set(tokens)
    symbol_of = np.full(len(names), -1)
    for token in reversed(range(len(tokens))):
        symbol_of[letters[token]] = token
    for element, name in enumerate(names):
        if symbol_of[element] >= 0:
            continue
        while name in used:
            name = f"{name}#{element}"
        used.add(name)
        symbol_of[element] = len(symbols)
        symbols.append(name)
    return tuple(symbols), symbol_of


def products_vocabulary(products: Products, roles: Sequence[str]) -> Vocabulary:
    """The vocabulary of letters and products; every vocabulary also has reject and accept."""
    return vocabulary_of(products.symbols, len(products.letters), (*roles, "reject", "accept"))


def symbols_with_elements(products: Products, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """(symbols, their elements): letters, products, and the identity for mask, pad and begin."""
    letters = np.arange(len(products.letters))
    products_only = np.flatnonzero(products.symbol_of >= len(products.letters))
    neutral = [i for role, i in vocabulary.special.items() if role in ("mask", "pad", "begin")]
    symbols = np.concatenate([letters, products.symbol_of[products_only], np.array(neutral, dtype=np.int64)])
    return symbols, np.concatenate([products.letters, products_only, np.zeros(len(neutral), dtype=np.int64)])
