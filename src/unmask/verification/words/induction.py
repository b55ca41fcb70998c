"""Proof by induction over intervals of the word: a network of local tables compared with an automaton.

Invariant, for every variable v over the letters of an interval [i, j):

    (value of v, the map of w_i … w_{j-1} in the automaton's transition monoid)  ∈  R_v        for every word w

The relation R of a letter is read off. If v is a table of variables over disjoint intervals, R_v contains all pairs
that the pairs of its parents lead to, with all words in the gaps between them. Each step is a finite case analysis, so
the whole proof takes time linear in the number of variables. At the end, the answer must agree with the automaton in
every pair, and no failure may be reachable. A pair that disagrees comes with a word that leads to it. If intervals
overlap, the method does not apply and the caller uses another one.

`induction_certificate` writes the result for `unmask.checker`, in the form of `checker/certificate.py`.
"""

import json
from collections.abc import Sequence
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

MOST_PAIRS = 1 << 22
FEW_PRODUCTS = 1 << 12
MOST_TABLED = 1 << 11


class NoInduction(Exception):
    """The network is not a tree over intervals, or too large; the sentence says which."""


@dataclass(frozen=True, eq=False)
class Letters:
    """The letters a word may have: each is an input symbol's number of the model and a token of the automaton."""

    symbols: np.ndarray
    tokens: np.ndarray


@dataclass(frozen=True, eq=False)
class Relation:
    """Pairs (value, element) of a variable over the letters [first, last).

    `origin` says which pairs of `parts` each came from, or which letter.
    """

    first: int
    last: int
    values: np.ndarray
    elements: np.ndarray
    parts: tuple["Relation", ...]
    origin: np.ndarray


@dataclass(frozen=True, eq=False)
class InductionResult:
    """What the induction found: no counterexample, or one as numbers of letters; how many cases were looked at.

    `relations` has the pairs of every variable that the answer depends on, `maps` the elements that they name.
    """

    counterexample: list[int] | None
    variables: int
    cases: int
    relations: dict[int, Relation]
    maps: list[np.ndarray]


@dataclass(eq=False)
class _Elements:
    """The maps of words, numbered; products are kept, or tabled once there are many."""

    maps: list[np.ndarray] = field(default_factory=list)
    numbers: dict[bytes, int] = field(default_factory=dict)
    products: dict[int, int] = field(default_factory=dict)
    letters: int = 0
    """The number of generators: the first maps are those of the letters and the identity."""
    _table: np.ndarray | None = None
    _too_many: bool = False

    def number(self, image: np.ndarray) -> int:
        key = image.tobytes()
        if key not in self.numbers:
            self.numbers[key] = len(self.maps)
            self.maps.append(image)
        return self.numbers[key]

    def times(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """First the words of `left`, then those of `right`."""
        if self._table is not None:
            return self._table[left, right]
        pairs, inverse = np.unique((left.astype(np.int64) << 32) | right, return_inverse=True)
        if pairs.size > FEW_PRODUCTS and self._tabled():
            return self.times(left, right)
        result = np.empty(pairs.size, dtype=np.int64)
        for i, pair in enumerate(pairs.tolist()):
            check()
            product = self.products.get(pair)
            if product is None:
                product = self.products[pair] = self.number(self.maps[pair & 0xFFFFFFFF][self.maps[pair >> 32]])
            result[i] = product
        return result[inverse.reshape(-1)]

    def _tabled(self) -> bool:
        """All products at once, if the letters generate few: x·(y·g) = (x·y)·g, column by column."""
        if self._too_many:
            return False
        known, letters = len(self.maps), range(self.letters)
        order, made_of = list(letters), dict[int, tuple[int, int]]()  # y = x·g
        after: dict[int, list[int]] = {}
        for x in order:
            check()
            after[x] = [self.number(self.maps[g][self.maps[x]]) for g in letters]
            for g, y in enumerate(after[x]):
                if y not in made_of and y >= self.letters:
                    made_of[y] = x, g
                    order.append(y)
            if len(self.maps) > MOST_TABLED:
                for image in self.maps[known:]:
                    del self.numbers[image.tobytes()]
                del self.maps[known:]
                self._too_many = True
                return False
        steps = np.array([after[x] for x in range(len(order))])
        table = np.empty((len(order), len(order)), dtype=np.int64)
        table[:, : self.letters] = steps
        for y, (x, g) in made_of.items():
            table[:, y] = steps[table[:, x], g]
        self._table = table
        return True


class _Induction:
    def __init__(self, extraction: Extraction, automaton: Automaton, letters: Letters) -> None:
        self._network, self._automaton, self._letters = extraction.network, automaton, letters
        self.elements = _Elements()
        self._of_token = [self.elements.number(np.ascontiguousarray(column)) for column in automaton.delta.T]
        self._identity = self.elements.number(np.arange(automaton.states, dtype=automaton.delta.dtype))
        self.elements.letters = len(self.elements.maps)
        self._shapes = Shapes(extraction.network)
        self.relations: dict[int, Relation] = {}
        self._gaps: list[Relation] = []
        self.cases = 0

    def relation(self, v: int) -> Relation:
        for u in stage("induction over variables", self._network.below([v])):
            if u not in self.relations:
                variable = self._network.variables[u]
                known = self.relations.get(self._shapes.representative(u))
                if known is not None:  # the same pairs, of other letters
                    first = self._shapes.interval(u)[0]
                    self.relations[u] = replace(known, first=first, last=first + known.last - known.first)
                    continue
                if variable.letter is not None:
                    self.relations[u] = self._letter(variable.letter)
                elif variable.table is None:
                    raise NoInduction("a variable chooses what it reads")
                else:
                    parts = [self.relations[p] for p in variable.parents]
                    self.relations[u] = self._table(parts, variable.table)
        return self.relations[v]

    def over_all(self, cases: Cases) -> Relation:
        """The relation of a table, over all letters of the word."""
        parts = [self.relation(v) for v in cases.variables]
        return self._table(parts, cases.index, whole=True)

    def _letter(self, place: int) -> Relation:
        elements = np.array([self._of_token[t] for t in self._letters.tokens.tolist()])
        self.cases += elements.size
        return Relation(place, place + 1, self._letters.symbols, elements, (), np.arange(elements.size)[:, None])

    def _gap(self, length: int) -> Relation:
        """All words of a length: one value."""
        if not self._gaps:
            nothing = np.zeros((1, 0), dtype=np.int64)
            self._gaps.append(Relation(0, 0, np.zeros(1, dtype=np.int64), np.array([self._identity]), (), nothing))
        while len(self._gaps) <= length:
            letter = self._letter(0)
            self._gaps.append(
                self._joined([self._gaps[-1], letter], lambda values: np.zeros_like(values[0]), 0, len(self._gaps))
            )
        return self._gaps[length]

    def _table(self, parts: list[Relation], table: np.ndarray, *, whole: bool = False) -> Relation:
        order = sorted(range(len(parts)), key=lambda k: parts[k].first)
        ordered: list[Relation] = []
        place: dict[int, int] = {}  # parent → its place among the parts, gaps included
        first = 0 if whole or not parts else parts[order[0]].first
        at = first
        for k in order:
            part = parts[k]
            if part.first < at:
                raise NoInduction("two variables of one table depend on the same letter")
            if part.first > at:
                ordered.append(self._gap(part.first - at))
            place[k] = len(ordered)
            ordered.append(part)
            at = part.last
        last = len(self._network.letters) if whole else at
        if last > at:
            ordered.append(self._gap(last - at))
        if not ordered:
            ordered.append(self._gap(0))
        return self._joined(
            ordered, lambda values: table[tuple(values[place[k]] for k in range(len(parts)))], first, last
        )

    def _joined(self, parts: list[Relation], value, first: int, last: int) -> Relation:
        total = 1
        for part in parts:
            total *= part.values.size
            if total > MOST_PAIRS:
                raise NoInduction(f"one table has more than {MOST_PAIRS} combinations of pairs")
        self.cases += total
        origin = np.indices([part.values.size for part in parts]).reshape(len(parts), -1)
        elements = parts[0].elements[origin[0]]
        for part, pairs in zip(parts[1:], origin[1:], strict=True):
            elements = self.elements.times(elements, part.elements[pairs])
        values = np.asarray(value([part.values[pairs] for part, pairs in zip(parts, origin, strict=True)]))
        values = np.broadcast_to(values, elements.shape)
        _, distinct = np.unique((values.astype(np.int64) << 32) | elements, return_index=True)
        return Relation(first, last, values[distinct], elements[distinct], tuple(parts), origin[:, distinct].T)

    def word(self, relation: Relation, pair: int) -> list[int]:
        """Numbers of letters that lead to a pair."""
        letters: list[int] = []
        waiting = [(relation, pair)]
        while waiting:  # a chain of relations is as deep as the word is long
            relation, pair = waiting.pop()
            origin = relation.origin[pair].tolist()
            if relation.parts:
                waiting += reversed(list(zip(relation.parts, origin, strict=True)))
            else:
                letters += origin
        return letters

    def accepting(self, elements: np.ndarray) -> np.ndarray:
        distinct, inverse = np.unique(elements, return_inverse=True)
        start = self._automaton.start
        accepts = np.array([bool(self._automaton.accepting[self.elements.maps[e][start]]) for e in distinct.tolist()])
        return accepts[inverse.reshape(-1)]


def prove_by_induction(
    extraction: Extraction, automaton: Automaton, letters: Letters, named: Sequence[int] = ()
) -> InductionResult:
    """Is the answer that of the automaton, and does no run fail, on all words over these letters?

    `named` are variables that shall have pairs too, where intervals allow it.
    """
    asked = {v for cases in (extraction.answer()[0], *(f.cases for f in extraction.failures)) for v in cases.variables}
    if any(extraction.network.variables[v].branches for v in {*named, *extraction.network.below(sorted(asked))}):
        raise NoInduction("a variable chooses what it reads")
    induction = _Induction(extraction, automaton, letters)
    for failure in extraction.failures:
        relation = induction.over_all(failure.cases)
        reached = np.flatnonzero(failure.labels[relation.values])
        if reached.size:
            return _refuted(induction, relation, int(reached[0]), extraction)
    cases, answers = extraction.answer()
    relation = induction.over_all(cases)
    right = np.where(induction.accepting(relation.elements), ACCEPT, REJECT)
    wrong = np.flatnonzero(answers[relation.values] != right)
    if wrong.size:
        return _refuted(induction, relation, int(wrong[0]), extraction)
    for v in named:
        with suppress(NoInduction):
            induction.relation(v)
    return _found(induction, extraction, None)


def _refuted(induction: _Induction, relation: Relation, pair: int, extraction: Extraction) -> InductionResult:
    return _found(induction, extraction, induction.word(relation, pair))


def _found(induction: _Induction, extraction: Extraction, word: list[int] | None) -> InductionResult:
    variables = len(extraction.network.variables)
    return InductionResult(word, variables, induction.cases, induction.relations, induction.elements.maps)


FORMAT = "unmask-induction/2"

VariableNumbers = dict[int, int]
"""Variable of the network → its number in the certificate."""


@dataclass(frozen=True)
class InductionDocument:
    """A JSON document."""

    document: dict[str, Any]

    def files(self) -> dict[str, str]:
        return {".induction.json": json.dumps(self.document, separators=(",", ":")) + "\n"}


def named_variables(extraction: Extraction) -> list[int]:
    """The letters, and what slots (in a loop: rows) were cut to, with all that these depend on; there are no others."""
    slots = [] if extraction.model.kind == "plt" else [token.cases for step in extraction.steps for token in step]
    named = {v for cases in (*slots, *extraction.cut_rows.values()) for v in cases.variables}
    return sorted({*extraction.network.letters, *extraction.network.below(sorted(named))})


def induction_certificate(
    extraction: Extraction, automaton: Automaton, induction: InductionResult
) -> InductionDocument:
    """The certificate of an induction that found no counterexample."""
    network, model = extraction.network, extraction.model
    number = {v: i for i, v in enumerate(named_variables(extraction))}
    states = breadth_first(automaton.delta.tolist(), automaton.start) if model.length else [automaton.start]
    rank = {q: i for i, q in enumerate(states)}
    images = [tuple(rank[q] for q in image[states].tolist()) if model.length else (0,) for image in induction.maps]
    pairs = {v: _pairs(relation, images) for v, relation in induction.relations.items() if v in number}
    elements = {image: i for i, image in enumerate(sorted({image for some in pairs.values() for _, image in some}))}
    listed = {v: sorted((value, elements[image]) for value, image in some) for v, some in pairs.items()}
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
                [bool(scores), u, k, _only(cases, number)]
                for (scores, u, k), cases in sorted(extraction.cut_rows.items(), key=lambda cut: cut[0])
            ],
        }
    )


def _automaton(automaton: Automaton, states: list[int], rank: VariableNumbers, model: Model) -> dict[str, Any]:
    """As the checker wants it: the start is state 0, and nothing is said of states that no word ends in."""
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
        "characters": None if characters is None else [list(part) for part in characters],
        "delta": [[rank[q] for q in automaton.delta[state, order].tolist()] for state in states],
        "accepting": [bool(automaton.accepting[state]) if state in reached else None for state in states],
    }


def _pairs(relation: Relation, images: list[tuple[int, ...]]) -> set[tuple[int, tuple[int, ...]]]:
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
    """The slots after every step; of a chain of thought, those that are new."""
    model = extraction.model
    new = -(model.block or 1) if model.kind in ("cot", "pcot") else 0
    return [[_only(token.cases, number) for token in slots[new:]] for slots in extraction.steps]


def _only(cases: Cases, number: VariableNumbers) -> int | None:
    """The variable of cases that were cut."""
    assert len(cases.variables) <= 1
    return number[cases.variables[0]] if cases.variables else None
