"""Proof by induction over intervals of the word: a network of local tables compared with an automaton.

Invariant, for every variable v that depends on the letters of an interval [i, j) alone:

    (value of v, the map of w_i … w_{j-1} in the automaton's transition monoid)  ∈  R_v        for every word w

For a letter, R_v has one pair per letter of the alphabet. Let v be a table of variables over disjoint intervals. Then
every choice of one pair per parent, and of a word for each gap between their intervals, gives a pair of R_v. Each step
is a finite case analysis, so the proof takes time linear in the number of variables. At the end, the answer must agree
with the automaton in every pair, and no failure may be reachable. A pair that disagrees comes with a word that leads to
it. If intervals overlap, the method does not apply (`NoInduction`) and the caller uses another one.

`induction_certificate` writes the result for `unmask.checker`, in the form of `checker/certificate.py`.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unmask.limits import check, stage
from unmask.problems.automata.automaton import Automaton, breadth_first
from unmask.verification.words.extraction import ACCEPT, REJECT, Extraction
from unmask.verification.words.network import Cases, Shapes
from unmask.weights.model import Model
from unmask.weights.storage import content_hash

MOST_PAIRS = 1 << 22  # combinations of pairs in one table
FEW_PRODUCTS = 1 << 12  # more products than this at once are looked up in a table
MOST_TABLED = 1 << 11  # maps that a table of products may have


class NoInduction(Exception):
    """The network is not a tree over intervals, or is too large; the message says which."""


@dataclass(frozen=True, eq=False)
class LetterNumbers:
    """The letters of words: the number of the model's input symbol and the automaton's token for each letter."""

    symbols: np.ndarray
    tokens: np.ndarray


@dataclass(frozen=True, eq=False)
class Relation:
    """R_v, pairs (values[k], elements[k]) of a variable over the letters [first, last).

    An element is a map of the transition monoid, by its number. For a letter, origin[k] is the letter of pair k.
    Otherwise pair k is composed of one pair of each of `factors`, which cover the interval from left to right;
    origin[k] has the indices of these pairs.
    """

    first: int
    last: int
    values: np.ndarray
    elements: np.ndarray
    factors: tuple["Relation", ...]
    origin: np.ndarray


@dataclass(frozen=True, eq=False)
class InductionResult:
    """The result of an induction: a counterexample as numbers of letters, or None; the number of cases examined.

    `relations` has R_v of every variable that the answer depends on, `maps` the monoid's maps by their numbers.
    """

    counterexample: list[int] | None
    variables: int
    cases: int
    relations: dict[int, Relation]
    maps: list[np.ndarray]


@dataclass(eq=False)
class _Elements:
    """Maps of the transition monoid, numbered. Products are computed once, or all together once there are many."""

    maps: list[np.ndarray] = field(default_factory=list)
    numbers: dict[bytes, int] = field(default_factory=dict)
    products: dict[int, int] = field(default_factory=dict)
    generators: int = 0
    """The number of generators, which are the first maps: those of the letters and the identity."""
    _table: np.ndarray | None = None
    _too_many: bool = False

    def number(self, image: np.ndarray) -> int:
        key = image.tobytes()
        if key not in self.numbers:
            self.numbers[key] = len(self.maps)
            self.maps.append(image)
        return self.numbers[key]

    def times(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the maps of words uv, from those of u (`left`) and of v (`right`)."""
        if self._table is not None:
            return self._table[left, right]
        pairs, inverse = np.unique((left.astype(np.int64) << 32) | right, return_inverse=True)
        if pairs.size > FEW_PRODUCTS and self._make_table():
            return self.times(left, right)
        result = np.empty(pairs.size, dtype=np.int64)
        for i, pair in enumerate(pairs.tolist()):
            check()
            product = self.products.get(pair)
            if product is None:
                product = self.products[pair] = self.number(self.maps[pair & 0xFFFFFFFF][self.maps[pair >> 32]])
            result[i] = product
        return result[inverse.reshape(-1)]

    def _make_table(self) -> bool:
        """Compute the table of all products if the letters generate few maps; return whether it was computed.

        Column by column: x·(y·g) = (x·y)·g.
        """
        if self._too_many:
            return False
        maps_before, generators = len(self.maps), range(self.generators)
        order, factors = list(generators), dict[int, tuple[int, int]]()  # y → (x, g) with y = x·g
        after: dict[int, list[int]] = {}
        for x in order:
            check()
            after[x] = [self.number(self.maps[g][self.maps[x]]) for g in generators]
            for g, y in enumerate(after[x]):
                if y not in factors and y >= self.generators:
                    factors[y] = x, g
                    order.append(y)
            if len(self.maps) > MOST_TABLED:
                for image in self.maps[maps_before:]:
                    del self.numbers[image.tobytes()]
                del self.maps[maps_before:]
                self._too_many = True
                return False
        steps = np.array([after[x] for x in range(len(order))])
        table = np.empty((len(order), len(order)), dtype=np.int64)
        table[:, : self.generators] = steps
        for y, (x, g) in factors.items():
            table[:, y] = steps[table[:, x], g]
        self._table = table
        return True


class _Induction:
    """The relations of a network's variables, computed from the letters upwards."""

    def __init__(self, extraction: Extraction, automaton: Automaton, letters: LetterNumbers) -> None:
        self._network, self._automaton, self._letters = extraction.network, automaton, letters
        self.elements = _Elements()
        self._of_token = [self.elements.number(np.ascontiguousarray(column)) for column in automaton.delta.T]
        self._identity = self.elements.number(np.arange(automaton.states, dtype=automaton.delta.dtype))
        self.elements.generators = len(self.elements.maps)
        self._shapes = Shapes(extraction.network)
        self.relations: dict[int, Relation] = {}
        self._gaps: list[Relation] = []
        self.cases = 0

    def relation(self, v: int) -> Relation:
        for u in stage("induction over variables", self._network.below([v])):
            if u not in self.relations:
                variable = self._network.variables[u]
                same_shape = self.relations.get(self._shapes.representative(u))
                if same_shape is not None:  # the same pairs, for another interval
                    first = self._shapes.interval(u)[0]
                    self.relations[u] = replace(
                        same_shape, first=first, last=first + same_shape.last - same_shape.first
                    )
                elif variable.letter is not None:
                    self.relations[u] = self._letter(variable.letter)
                elif variable.table is None:
                    raise NoInduction("a variable chooses what it reads")
                else:
                    parents = [self.relations[p] for p in variable.parents]
                    self.relations[u] = self._table(parents, variable.table)
        return self.relations[v]

    def over_all(self, cases: Cases) -> Relation:
        """Return the relation of a table, over all letters of the word."""
        parents = [self.relation(v) for v in cases.variables]
        return self._table(parents, cases.index, all_letters=True)

    def _letter(self, index: int) -> Relation:
        elements = np.array([self._of_token[t] for t in self._letters.tokens.tolist()])
        self.cases += elements.size
        return Relation(index, index + 1, self._letters.symbols, elements, (), np.arange(elements.size)[:, None])

    def _gap(self, length: int) -> Relation:
        """Return the maps of all words of a length, each paired with the value 0."""
        if not self._gaps:
            no_factors = np.zeros((1, 0), dtype=np.int64)
            self._gaps.append(Relation(0, 0, np.zeros(1, dtype=np.int64), np.array([self._identity]), (), no_factors))
        while len(self._gaps) <= length:
            factors = [self._gaps[-1], self._letter(0)]
            self._gaps.append(self._product(factors, lambda values: np.zeros_like(values[0]), 0, len(self._gaps)))
        return self._gaps[length]

    def _table(self, parents: list[Relation], table: np.ndarray, *, all_letters: bool = False) -> Relation:
        """Return the relation of a table of variables, over the interval that they span, or over all letters."""
        order = sorted(range(len(parents)), key=lambda k: parents[k].first)
        factors: list[Relation] = []  # parents and gaps, from left to right
        factor_of: dict[int, int] = {}  # parent → its index among the factors
        first = 0 if all_letters or not parents else parents[order[0]].first
        end = first
        for k in order:
            parent = parents[k]
            if parent.first < end:
                raise NoInduction("two variables of one table depend on the same letter")
            if parent.first > end:
                factors.append(self._gap(parent.first - end))
            factor_of[k] = len(factors)
            factors.append(parent)
            end = parent.last
        last = len(self._network.letters) if all_letters else end
        if last > end:
            factors.append(self._gap(last - end))
        if not factors:
            factors.append(self._gap(0))
        return self._product(
            factors, lambda values: table[tuple(values[factor_of[k]] for k in range(len(parents)))], first, last
        )

    def _product(
        self, factors: list[Relation], value: Callable[[list[np.ndarray]], np.ndarray], first: int, last: int
    ) -> Relation:
        """Combine one pair per factor in all ways: their elements are multiplied, `value` maps their values."""
        total = 1
        for factor in factors:
            total *= factor.values.size
            if total > MOST_PAIRS:
                raise NoInduction(f"one table has more than {MOST_PAIRS} combinations of pairs")
        self.cases += total
        origin = np.indices([factor.values.size for factor in factors]).reshape(len(factors), -1)
        elements = factors[0].elements[origin[0]]
        for factor, pairs in zip(factors[1:], origin[1:], strict=True):
            elements = self.elements.times(elements, factor.elements[pairs])
        values = np.asarray(value([factor.values[pairs] for factor, pairs in zip(factors, origin, strict=True)]))
        values = np.broadcast_to(values, elements.shape)
        _, distinct = np.unique((values.astype(np.int64) << 32) | elements, return_index=True)
        return Relation(first, last, values[distinct], elements[distinct], tuple(factors), origin[:, distinct].T)

    def word(self, relation: Relation, pair: int) -> list[int]:
        """Return a word, as numbers of letters, that leads to a pair."""
        letters: list[int] = []
        waiting = [(relation, pair)]
        while waiting:  # without recursion: a chain of relations is as deep as the word is long
            relation, pair = waiting.pop()
            origin = relation.origin[pair].tolist()
            if relation.factors:
                waiting += reversed(list(zip(relation.factors, origin, strict=True)))
            else:
                letters += origin
        return letters

    def accepting(self, elements: np.ndarray) -> np.ndarray:
        """Return, for each element, whether the automaton accepts its words."""
        distinct, inverse = np.unique(elements, return_inverse=True)
        start = self._automaton.start
        accepts = np.array([bool(self._automaton.accepting[self.elements.maps[e][start]]) for e in distinct.tolist()])
        return accepts[inverse.reshape(-1)]

    def result(self, relation: Relation | None = None, pair: int = 0) -> InductionResult:
        """Return the result; if a pair of a relation is given, with a word that leads to it as the counterexample."""
        word = None if relation is None else self.word(relation, pair)
        variables = len(self._network.variables)
        return InductionResult(word, variables, self.cases, self.relations, self.elements.maps)


def prove_by_induction(
    extraction: Extraction, automaton: Automaton, letters: LetterNumbers, named: Sequence[int] = ()
) -> InductionResult:
    """Decide whether, on all words over these letters, the answer is the automaton's and no run fails.

    Relations of the variables `named` are computed too, where intervals allow it: a certificate lists them.
    """
    cases, answers = extraction.answer()
    needed = {v for table in (cases, *(failure.cases for failure in extraction.failures)) for v in table.variables}
    if any(extraction.network.variables[v].branches for v in {*named, *extraction.network.below(sorted(needed))}):
        raise NoInduction("a variable chooses what it reads")
    induction = _Induction(extraction, automaton, letters)
    for failure in extraction.failures:
        relation = induction.over_all(failure.cases)
        reached = np.flatnonzero(failure.labels[relation.values])
        if reached.size:
            return induction.result(relation, int(reached[0]))
    relation = induction.over_all(cases)
    expected = np.where(induction.accepting(relation.elements), ACCEPT, REJECT)
    wrong = np.flatnonzero(answers[relation.values] != expected)
    if wrong.size:
        return induction.result(relation, int(wrong[0]))
    for v in named:
        with suppress(NoInduction):
            induction.relation(v)
    return induction.result()


FORMAT = "unmask-induction/2"

VariableNumbers = dict[int, int]
"""Variable of the network → its number in the certificate."""


@dataclass(frozen=True)
class InductionDocument:
    """The certificate of an induction, as a JSON document."""

    document: dict[str, Any]

    def files(self) -> dict[str, str]:
        return {".induction.json": json.dumps(self.document, separators=(",", ":")) + "\n"}


def named_variables(extraction: Extraction) -> list[int]:
    """Return the variables of a certificate: letters, slots (in a loop: rows), and everything that these depend on."""
    slots = [] if extraction.model.kind == "plt" else [token.cases for step in extraction.steps for token in step]
    named = {v for cases in (*slots, *extraction.cut_rows.values()) for v in cases.variables}
    return sorted({*extraction.network.letters, *extraction.network.below(sorted(named))})


def induction_certificate(
    extraction: Extraction, automaton: Automaton, induction: InductionResult
) -> InductionDocument:
    """Return the certificate of an induction that found no counterexample."""
    network, model = extraction.network, extraction.model
    number = {v: i for i, v in enumerate(named_variables(extraction))}
    states = breadth_first(automaton.delta.tolist(), automaton.start) if model.length else [automaton.start]
    rank = {q: i for i, q in enumerate(states)}
    images = [tuple(rank[q] for q in image[states].tolist()) if model.length else (0,) for image in induction.maps]
    pairs = {v: _pairs(relation, images) for v, relation in induction.relations.items() if v in number}
    used = {image for pairs_of_variable in pairs.values() for _, image in pairs_of_variable}
    elements = {image: i for i, image in enumerate(sorted(used))}
    listed = {v: sorted((value, elements[image]) for value, image in pairs[v]) for v in pairs}
    letters = listed[network.letters[0]] if network.letters else []
    return InductionDocument(
        {
            "format": FORMAT,
            "model": content_hash(model),
            "automaton": _automaton(automaton, states, rank, model),
            "elements": [list(image) for image in elements],
            "letters": [list(pair) for pair in letters],
            "variables": [
                _variable(extraction, induction, v, number, listed.get(v))
                for v in number
                if network.variables[v].table is not None
            ],
            "steps": [] if model.kind == "plt" else _steps(extraction, number),
            "cuts": [
                [bool(for_scores), u, k, _single_variable(cases, number)]
                for (for_scores, u, k), cases in sorted(extraction.cut_rows.items(), key=lambda cut: cut[0])
            ],
        }
    )


def _automaton(automaton: Automaton, states: list[int], rank: VariableNumbers, model: Model) -> dict[str, Any]:
    """Return the automaton as the checker reads it: the start is state 0, and states that no word ends in have null."""
    if not model.length:
        return {"tokens": [], "characters": None, "delta": [[]], "accepting": [bool(automaton.accepting[states[0]])]}
    reached = {automaton.start}
    for _ in range(model.length):
        reached = set(np.unique(automaton.delta[sorted(reached)]).tolist())
    symbols, characters = list(model.input_symbols), automaton.characters
    order = range(len(automaton.tokens))
    if characters is None:
        order = sorted(order, key=lambda token: symbols.index(automaton.tokens[token]))
    return {
        "tokens": None if characters is not None else [automaton.tokens[token] for token in order],
        "characters": None if characters is None else [list(entry) for entry in characters],
        "delta": [[rank[q] for q in automaton.delta[state, order].tolist()] for state in states],
        "accepting": [bool(automaton.accepting[state]) if state in reached else None for state in states],
    }


def _pairs(relation: Relation, images: list[tuple[int, ...]]) -> set[tuple[int, tuple[int, ...]]]:
    """Return the pairs of a relation, with maps in place of their numbers."""
    return {(v, images[e]) for v, e in zip(relation.values.tolist(), relation.elements.tolist(), strict=True)}


def _variable(
    extraction: Extraction,
    induction: InductionResult,
    v: int,
    number: VariableNumbers,
    pairs: list[tuple[int, int]] | None,
) -> dict[str, Any]:
    variable, relation = extraction.network.variables[v], induction.relations.get(v)
    assert variable.table is not None
    return {
        "parents": [number[u] for u in variable.parents],
        "table": variable.table.ravel().tolist(),
        "interval": None if relation is None else [relation.first, relation.last],
        "pairs": None if pairs is None else [list(pair) for pair in pairs],
    }


def _steps(extraction: Extraction, number: VariableNumbers) -> list[list[int | None]]:
    """Return the variables of the slots after every step; for a chain of thought, only those of the new symbols."""
    model = extraction.model
    new = -(model.block or 1) if model.kind in ("cot", "pcot") else 0
    return [[_single_variable(token.cases, number) for token in slots[new:]] for slots in extraction.steps]


def _single_variable(cases: Cases, number: VariableNumbers) -> int | None:
    """Return the only variable of cases that were cut to one; None for constant cases."""
    assert len(cases.variables) <= 1
    return number[cases.variables[0]] if cases.variables else None
