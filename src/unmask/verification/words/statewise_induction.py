"""Induction state by state: a network with switches, compared with an automaton.

Invariant, for a variable v that depends on the letters of an interval [i, j) alone, and a state q:

    (value of v, the state to which w_i … w_{j-1} lead from q)  ∈  R_{v,q}        for every word w

It suits models that store a map of states in the rows of a node, one row per state. Row q of a node stores the state
r to which the node's letters lead from q. To compose the maps of two nodes, row q of the first selects row r of the
second: a switch. Its proof only needs R_{row r, q'}, where q' is the automaton's state after the letters of the first
node; in a correct model q' = r. Hence |Q| relations of |Q| pairs replace a monoid of up to |Q|^|Q| elements.

Variables of one shape have the same relations. Relations are computed on request, from the answer down to the letters.
This is not recursive, because a chain of variables is as deep as the word is long. If intervals overlap, the method
does not apply (`NoInduction`).
"""

from collections.abc import Iterator

import numpy as np

from unmask.limits import check
from unmask.problems.automata.automaton import Automaton
from unmask.verification.words.extraction import ACCEPT, REJECT, Extraction
from unmask.verification.words.induction import InductionResult, LetterNumbers, NoInduction
from unmask.verification.words.network import Cases, Shapes

MOST_STEPS = 1 << 24

StatePair = tuple[int, int]
"""(value, state that is reached)"""

Request = tuple[int, int]
"""(variable v, state q): which relation R_{v,q} is needed"""

Derivation = tuple[tuple[Request | int, StatePair], ...]
"""How a pair is composed: from left to right, one pair per parent (with its relation) and per gap (with its length).
The pair of a gap is (state before, state after)."""

StateRelation = dict[StatePair, Derivation]
"""A relation, with one derivation of each pair."""

Reached = dict[tuple[tuple[int, ...], int], Derivation]
"""(values of the parents so far, state that is reached) → derivation."""


class _Statewise:
    """The relations R_{v,q} that are needed so far."""

    def __init__(self, extraction: Extraction, automaton: Automaton, letters: LetterNumbers) -> None:
        self._network, self._shapes = extraction.network, Shapes(extraction.network)
        self._moves = automaton.delta[:, letters.tokens].tolist()  # [state][letter]
        self._symbols = letters.symbols.tolist()
        self._relations: dict[Request, StateRelation] = {}
        self._letter: dict[tuple[int, StatePair], int] = {}  # (state, pair of a letter from this state) → letter
        # (state q, length n) → state that n letters lead to from q → (state before the last letter, last letter)
        self._gaps: dict[tuple[int, int], dict[int, StatePair]] = {}
        self.cases = 0

    def over_all(self, cases: Cases, start: int) -> StateRelation:
        """Return the pairs (case, state at the end) of all words."""
        waiting: list[Request] = []
        while True:
            missing: set[Request] = set()
            pairs = self._table(cases.variables, cases.index, start, 0, len(self._network.letters), missing)
            if not missing:
                return pairs
            waiting += missing
            while waiting:
                self._compute_last(waiting)

    def _compute_last(self, waiting: list[Request]) -> None:
        """Compute the relation that was requested last and drop the request, or request the relations it needs."""
        check()
        v, q = waiting[-1]
        missing: set[Request] = set()
        if (v, q) not in self._relations:
            pairs = self._pairs(v, q, missing)
            if missing:
                waiting += missing
                return
            self._relations[v, q] = pairs
        waiting.pop()

    def _pairs(self, v: int, q: int, missing: set[Request]) -> StateRelation:
        """Return R_{v,q}. If relations that it depends on are missing, they are added to `missing` instead."""
        variable = self._network.variables[v]
        if variable.letter is not None:
            pairs: StateRelation = {}
            for letter, pair in enumerate(zip(self._symbols, self._moves[q], strict=True)):
                self._letter.setdefault((q, pair), letter)
                pairs[pair] = ()
            return pairs
        first, last = self._shapes.interval(v)
        if variable.table is not None:
            return self._table(variable.parents, variable.table, q, first, last, missing)
        pairs = {}
        selector = variable.parents[0]
        for value, branch in enumerate(variable.branches):
            for pair, derivation in self._branch(selector, value, branch, q, first, last, missing):
                pairs.setdefault(pair, derivation)
        return pairs

    def _branch(
        self, selector: int, value: int, branch: Cases, q: int, first: int, last: int, missing: set[Request]
    ) -> Iterator[tuple[StatePair, Derivation]]:
        """Yield the pairs of a switch for one value of its selector."""
        variables = (selector, *(v for v in branch.variables if v != selector))
        for values, state, derivation in self._combinations(variables, q, first, last, missing, first_value=value):
            value_of = dict(zip(variables, values, strict=True))
            yield (int(branch.index[tuple(value_of[v] for v in branch.variables)]), state), derivation

    def _table(
        self, parents: tuple[int, ...], table: np.ndarray, q: int, first: int, last: int, missing: set[Request]
    ) -> StateRelation:
        pairs: StateRelation = {}
        for values, state, derivation in self._combinations(parents, q, first, last, missing):
            pairs.setdefault((int(table[values]), state), derivation)
        return pairs

    def _combinations(
        self,
        parents: tuple[int, ...],
        q: int,
        first: int,
        last: int,
        missing: set[Request],
        *,
        first_value: int | None = None,
    ) -> Iterator[tuple[tuple[int, ...], int, Derivation]]:
        """Yield (values of the parents, state at the end, derivation), over all words of the interval from state q.

        With `first_value`, only those in which the first parent has this value.
        """
        intervals = {v: self._shapes.interval(v) for v in parents}
        order = sorted(parents, key=lambda v: intervals[v])
        reached: Reached = {((), q): ()}
        end = first
        for v in order:
            if intervals[v][0] < end:
                raise NoInduction("two variables of one table depend on the same letter")
            reached = self._after_gap(reached, intervals[v][0] - end)
            wanted_value = first_value if v == parents[0] else None
            reached = self._after_variable(reached, self._shapes.representative(v), wanted_value, missing)
            end = intervals[v][1]
        index = [order.index(v) for v in parents]
        for (values, state), derivation in self._after_gap(reached, last - end).items():
            yield tuple(values[i] for i in index), state, derivation

    def _after_variable(self, before: Reached, v: int, wanted_value: int | None, missing: set[Request]) -> Reached:
        """Extend by the letters of a variable, in all ways or in those that give it a certain value."""
        reached: Reached = {}
        for (values, state), derivation in before.items():
            pairs = self._relations.get((v, state))
            if pairs is None:
                missing.add((v, state))
                continue
            self._count(len(pairs))
            for value, after in pairs:
                if wanted_value is None or value == wanted_value:
                    reached.setdefault(((*values, value), after), (*derivation, ((v, state), (value, after))))
        return reached

    def _after_gap(self, before: Reached, length: int) -> Reached:
        """Extend by all words of a length, for letters that the parents do not depend on."""
        if not length:
            return before
        reached: Reached = {}
        for (values, state), derivation in before.items():
            targets = self._gap(state, length)
            self._count(len(targets))
            for target in targets:
                reached.setdefault((values, target), (*derivation, (length, (state, target))))
        return reached

    def _gap(self, state: int, length: int) -> dict[int, StatePair]:
        """Return every state that words of a length lead to, with (the state before, the letter) of the last move."""
        self._gaps.setdefault((state, 0), {state: (state, -1)})
        longest = length
        while (state, longest) not in self._gaps:
            longest -= 1
        for n in range(longest, length):
            reached = self._gaps[state, n + 1] = {}
            for before in self._gaps[state, n]:
                for letter, after in enumerate(self._moves[before]):
                    reached.setdefault(after, (before, letter))
        return self._gaps[state, length]

    def _count(self, cases: int) -> None:
        self.cases += cases
        if self.cases > MOST_STEPS:
            raise NoInduction(f"a proof state by state has more than {MOST_STEPS:,} cases")

    def word(self, derivation: Derivation) -> list[int]:
        """Return a word, as numbers of letters, with this derivation."""
        letters: list[int] = []
        waiting = list(reversed(derivation))
        while waiting:
            source, pair = waiting.pop()
            if isinstance(source, int):
                letters += self._gap_word(pair[0], pair[1], source)
            elif self._network.variables[source[0]].letter is not None:
                letters.append(self._letter[source[1], pair])
            else:
                waiting += reversed(self._relations[source][pair])
        return letters

    def _gap_word(self, first: int, state: int, length: int) -> list[int]:
        """Return a word of this length that leads from the first state to the other."""
        letters = []
        for n in range(length, 0, -1):
            state, letter = self._gaps[first, n][state]
            letters.append(letter)
        return letters[::-1]


def prove_statewise(extraction: Extraction, automaton: Automaton, letters: LetterNumbers) -> InductionResult:
    """Decide whether, on all words over these letters, the answer is the automaton's and no run fails."""
    induction = _Statewise(extraction, automaton, letters)
    variables, start = len(extraction.network.variables), int(automaton.start)

    def result(counterexample: list[int] | None) -> InductionResult:
        return InductionResult(counterexample, variables, induction.cases, {}, [])

    for failure in extraction.failures:
        for (case, _), derivation in induction.over_all(failure.cases, start).items():
            if failure.labels[case]:
                return result(induction.word(derivation))
    cases, answers = extraction.answer()
    for (case, state), derivation in induction.over_all(cases, start).items():
        if answers[case] != (ACCEPT if automaton.accepting[state] else REJECT):
            return result(induction.word(derivation))
    return result(None)
