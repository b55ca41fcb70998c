"""Induction state by state: a network whose variables select what they read, compared with an automaton.

Invariant, for a variable v over the letters of an interval [i, j) and a state q:

    (value of v, the state to which w_i … w_{j-1} lead from q)  ∈  R_{v,q}        for every word w

Row q of a node stores the state that q leads to. It reads row r of the next node, where r is what it found so far. No
table of all these rows is built: for each value r only R_{row r, q'} is needed, where q' is the automaton's state after
the first part, and in a correct model q' = r. So |Q| rows of |Q| pairs replace a monoid of up to |Q|^|Q| elements.

Variables of one shape have the same pairs. Relations are requested from the end and computed without recursion, because
a chain is as deep as the word is long. If intervals overlap, the method does not apply.
"""

from collections.abc import Iterator

import numpy as np

from unmask.limits import check
from unmask.problems.automata.automaton import Automaton
from unmask.verification.words.extraction import ACCEPT, REJECT, Extraction
from unmask.verification.words.induction import InductionResult, Letters, NoInduction
from unmask.verification.words.network import Cases, Shapes

MOST_STEPS = 1 << 24

Pair = tuple[int, int]
"""(value, state reached)"""

Asked = tuple[int, int]
"""(variable, state at the start)"""

Way = tuple[tuple[Asked | int, Pair], ...]
"""How a pair was reached: per part, what was asked (of a gap, its length) and the pair of it that was taken."""

Pairs = dict[Pair, Way]


class _Statewise:
    def __init__(self, extraction: Extraction, automaton: Automaton, letters: Letters) -> None:
        self._network, self._shapes = extraction.network, Shapes(extraction.network)
        self._moves = automaton.delta[:, letters.tokens].tolist()  # [state][letter]
        self._symbols = letters.symbols.tolist()
        self._known: dict[Asked, Pairs] = {}
        self._letter: dict[tuple[int, Pair], int] = {}
        self._gaps: dict[tuple[int, int], dict[int, Pair]] = {}  # (state, letters) → state → (state before, letter)
        self.cases = 0

    def over_all(self, cases: Cases, start: int) -> Pairs:
        """(case, state at the end) of all words."""
        waiting: list[Asked] = []
        while True:
            missing: set[Asked] = set()
            pairs = self._table(cases.variables, cases.index, start, 0, len(self._network.letters), missing)
            if not missing:
                return pairs
            waiting += missing
            while waiting:
                self._work_off(waiting)

    def _work_off(self, waiting: list[Asked]) -> None:
        """Answer the last question, or ask first what it needs."""
        check()
        v, q = waiting[-1]
        missing: set[Asked] = set()
        if (v, q) not in self._known:
            pairs = self._pairs(v, q, missing)
            if missing:
                waiting += missing
                return
            self._known[v, q] = pairs
        waiting.pop()

    def _pairs(self, v: int, q: int, missing: set[Asked]) -> Pairs:
        variable = self._network.variables[v]
        if variable.letter is not None:
            pairs: Pairs = {}
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
            for pair, way in self._branch(selector, value, branch, q, first, last, missing):
                pairs.setdefault(pair, way)
        return pairs

    def _branch(
        self, selector: int, value: int, branch: Cases, q: int, first: int, last: int, missing: set[Asked]
    ) -> Iterator[tuple[Pair, Way]]:
        """The pairs of a switch while its selector has one value."""
        read = (selector, *(v for v in branch.variables if v != selector))
        for values, state, way in self._ways(read, q, first, last, missing, only=value):
            known_values = dict(zip(read, values, strict=True))
            yield (int(branch.index[tuple(known_values[v] for v in branch.variables)]), state), way

    def _table(
        self, parents: tuple[int, ...], table: np.ndarray, q: int, first: int, last: int, missing: set[Asked]
    ) -> Pairs:
        pairs: Pairs = {}
        for values, state, way in self._ways(parents, q, first, last, missing):
            pairs.setdefault((int(table[values]), state), way)
        return pairs

    def _ways(
        self, parents: tuple[int, ...], q: int, first: int, last: int, missing: set[Asked], *, only: int | None = None
    ) -> Iterator[tuple[tuple[int, ...], int, Way]]:
        """(the parents' values, the state at the end, how) of all words of an interval; `only` for the first parent."""
        intervals = {v: self._shapes.interval(v) for v in parents}
        order = sorted(parents, key=lambda v: intervals[v])
        ways: dict[tuple[tuple[int, ...], int], Way] = {((), q): ()}
        at = first
        for v in order:
            if intervals[v][0] < at:
                raise NoInduction("two variables of one table depend on the same letter")
            ways = self._through_gap(ways, intervals[v][0] - at)
            wanted = only if v == parents[0] else None
            ways = self._through(ways, self._shapes.representative(v), wanted, missing)
            at = intervals[v][1]
        place = [order.index(v) for v in parents]
        for (values, state), way in self._through_gap(ways, last - at).items():
            yield tuple(values[i] for i in place), state, way

    def _through(
        self, ways: dict[tuple[tuple[int, ...], int], Way], v: int, wanted: int | None, missing: set[Asked]
    ) -> dict[tuple[tuple[int, ...], int], Way]:
        reached: dict[tuple[tuple[int, ...], int], Way] = {}
        for (values, state), way in ways.items():
            pairs = self._known.get((v, state))
            if pairs is None:
                missing.add((v, state))
                continue
            self._count(len(pairs))
            for value, after in pairs:
                if wanted is None or value == wanted:
                    reached.setdefault(((*values, value), after), (*way, ((v, state), (value, after))))
        return reached

    def _through_gap(
        self, ways: dict[tuple[tuple[int, ...], int], Way], length: int
    ) -> dict[tuple[tuple[int, ...], int], Way]:
        """All words of a length in between."""
        if not length:
            return ways
        reached: dict[tuple[tuple[int, ...], int], Way] = {}
        for (values, state), way in ways.items():
            after = self._gap(state, length)
            self._count(len(after))
            for target in after:
                reached.setdefault((values, target), (*way, (length, (state, target))))
        return reached

    def _gap(self, state: int, length: int) -> dict[int, Pair]:
        self._gaps.setdefault((state, 0), {state: (state, -1)})
        known = length
        while (state, known) not in self._gaps:
            known -= 1
        for n in range(known, length):
            reached = self._gaps[state, n + 1] = {}
            for before in self._gaps[state, n]:
                for letter, after in enumerate(self._moves[before]):
                    reached.setdefault(after, (before, letter))
        return self._gaps[state, length]

    def _count(self, cases: int) -> None:
        self.cases += cases
        if self.cases > MOST_STEPS:
            raise NoInduction(f"a proof state by state has more than {MOST_STEPS:,} cases")

    def word(self, way: Way) -> list[int]:
        """Numbers of letters that lead to a pair."""
        letters: list[int] = []
        waiting = list(reversed(way))
        while waiting:
            asked, pair = waiting.pop()
            if isinstance(asked, int):
                letters += self._gap_word(pair[0], pair[1], asked)
            elif self._network.variables[asked[0]].letter is not None:
                letters.append(self._letter[asked[1], pair])
            else:
                waiting += reversed(self._known[asked][pair])
        return letters

    def _gap_word(self, first: int, state: int, length: int) -> list[int]:
        letters = []
        for n in range(length, 0, -1):
            state, letter = self._gaps[first, n][state]
            letters.append(letter)
        return letters[::-1]


def prove_statewise(extraction: Extraction, automaton: Automaton, letters: Letters) -> InductionResult:
    """Return whether, on all words over these letters, the answer is the automaton's and no run fails."""
    induction = _Statewise(extraction, automaton, letters)
    variables, start = len(extraction.network.variables), int(automaton.start)

    def found(way: Way | None) -> InductionResult:
        return InductionResult(None if way is None else induction.word(way), variables, induction.cases, {}, [])

    for failure in extraction.failures:
        for (case, _), way in induction.over_all(failure.cases, start).items():
            if failure.labels[case]:
                return found(way)
    cases, answers = extraction.answer()
    for (case, state), way in induction.over_all(cases, start).items():
        if answers[case] != (ACCEPT if automaton.accepting[state] else REJECT):
            return found(way)
    return found(None)
