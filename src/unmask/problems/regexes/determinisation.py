"""Nondeterministic automaton → complete DFA, by subsets.

A subset is a bit mask of the reading states just read. The silent arrows behind them are followed only
when the next character is known, so that an assertion sees both its neighbours: a state of the DFA is
(mask, kind of the last character), and the next character, or the end, is at hand.

`$` also holds before a last newline. Taking it there lifts the run to phase 1, in which exactly one
newline remains to be read, and reading it to phase 2, in which nothing remains.
"""

import numpy as np

from unmask.budget import check
from unmask.errors import TooLarge
from unmask.problems.automata.automaton import Automaton, token_names
from unmask.problems.automata.characters import NEWLINE, blocks_in, partition
from unmask.problems.regexes.nfa import Nfa
from unmask.problems.regexes.nodes import Case, Side

_MOST_WORK = 60_000_000  # big-integer operations and table entries: some seconds


def deterministic(nfa: Nfa, *, most_states: int) -> Automaton:
    """A complete DFA of the same language, not yet minimal."""
    return _Subsets(nfa).explored(most_states)


class _Subsets:
    def __init__(self, nfa: Nfa) -> None:
        self.nfa = nfa
        has_phases = any(
            isinstance(case, Case) and case.only_newline_left for row in nfa.silent.values() for _, case in row
        )
        if has_phases:
            nfa.sets.setdefault(NEWLINE, len(nfa.sets))
        self.characters, inside = partition(list(nfa.sets))
        self.edge = len(inside)  # the kind of neighbour beyond either end of the word
        self.tokens_in = blocks_in(inside, len(nfa.sets))
        newlines = self.tokens_in[nfa.sets[NEWLINE]] if has_phases else 0
        self.readable = self._readable(inside, newlines)
        self.arrows = {state: self._arrows(state) for state in nfa.silent}
        guards = [arrow for row in self.arrows.values() for arrow in row]
        self.behind = self._kinds({before for _, before, _, _ in guards})
        self.ahead = self._kinds({after for _, _, after, _ in guards})
        self.compared = sum(1 << state for state in nfa.better)
        self.compared |= self.compared << nfa.states
        self.pruned: dict[int, int] = {}
        self.work, self.weight = 0, 1 + nfa.states // 2048
        self.known: dict[tuple[int, int, int, int], tuple[int, bool]] = {}

    def _readable(self, inside: list[int], newlines: int) -> list[int]:
        """For each token the mask of the reading states, of all phases, that may read it."""
        by_set = [0] * len(self.nfa.sets)
        for state, (k, _) in self.nfa.reads.items():
            by_set[k] |= 1 << state
        masks: list[int] = []
        for token, mask in enumerate(inside):
            states = 0
            while mask:
                low = mask & -mask
                states |= by_set[low.bit_length() - 1]
                mask ^= low
            masks.append(states | (states << self.nfa.states if newlines >> token & 1 else 0))
        return masks

    def _arrows(self, state: int) -> list[tuple[int, int, int, bool]]:
        """(target, kinds allowed before, kinds allowed after, lifted to phase 1) as masks."""
        arrows: list[tuple[int, int, int, bool]] = []
        anything = (2 << self.edge) - 1
        for target, case in self.nfa.silent[state]:
            if case is None:
                arrows.append((target, anything, anything, False))
                continue
            assert isinstance(case, Case), "look-around is for lookaround.py"
            before, after = self._allowed(case.before), self._allowed(case.after)
            arrows.append((target, before, after, case.only_newline_left))
        return arrows

    def _allowed(self, side: Side) -> int:
        return self.tokens_in[self.nfa.sets[side.ranges]] | side.edge << self.edge

    def _kinds(self, masks: set[int]) -> list[int]:
        """Tokens and the edge, grouped by the masks that contain them: the first of each group stands for it."""
        firsts: dict[tuple[bool, ...], int] = {}
        return [
            firsts.setdefault(tuple(bool(mask >> token & 1) for mask in masks), token) for token in range(self.edge + 1)
        ]

    def explored(self, most_states: int) -> Automaton:
        tokens = range(self.edge)
        groups = [(kind, [t for t in tokens if self.ahead[t] == kind]) for kind in sorted(set(self.ahead[: self.edge]))]
        # Bit 0 of a mask is the end state, never a reading state: it marks the start of the word.
        first = (1, self.behind[self.edge])
        numbers = {first: 0}
        queue = [first]
        delta: list[list[int]] = []
        accepting: list[bool] = []
        for mask, last in queue:
            check()
            self._charge(self.edge)
            row = [0] * self.edge
            for kind, members in groups:
                reach, _ = self._reach(mask, last, kind)
                for token in members:
                    read = self._without_worse(reach & self.readable[token])
                    key = (read, self.behind[token] if read else 0)
                    number = numbers.get(key)
                    if number is None:
                        number = numbers[key] = len(queue)
                        queue.append(key)
                    row[token] = number
            delta.append(row)
            accepting.append(self._reach(mask, last, self.ahead[self.edge])[1] if mask else False)
            if len(queue) > most_states:
                raise TooLarge(
                    f"the regex needs more than {most_states:,} states as a deterministic automaton "
                    f"({len(queue):,} reached); shorten its counted repetitions"
                )
        return Automaton(
            token_names(self.characters), np.array(delta, dtype=np.int32), 0, np.array(accepting), self.characters
        )

    def _without_worse(self, mask: int) -> int:
        """The subset without the states of which it has a better one: the same words lead to the end."""
        if not mask & self.compared:
            return mask
        if (known := self.pruned.get(mask)) is not None:
            return known
        needed, rest = mask, mask & self.compared
        while rest:
            low = rest & -rest
            rest ^= low
            phase, state = divmod(low.bit_length() - 1, self.nfa.states)
            if mask >> phase * self.nfa.states & self.nfa.better[state]:
                needed ^= low
        self._charge(mask.bit_count())
        self.pruned[mask] = needed
        return needed

    def _reach(self, mask: int, last: int, following: int) -> tuple[int, bool]:
        """The reading states behind a subset, given both neighbours, and whether the end is among them."""
        reach, ends = 0, False
        while mask:
            low = mask & -mask
            mask ^= low
            phase, state = divmod(low.bit_length() - 1, self.nfa.states)
            self._charge(1)
            target = self.nfa.reads[state][1] if state else self.nfa.start
            reached, ended = self._closure(target, 2 * phase, last, following)
            reach |= reached
            ends |= ended
        return reach, ends

    def _closure(self, origin: int, phase: int, last: int, following: int) -> tuple[int, bool]:
        key = (origin, phase, last, following)
        if (known := self.known.get(key)) is not None:
            return known
        reach, ends = 0, False
        stack, seen = [(origin, phase)], {(origin, phase)}
        while stack:
            state, at = stack.pop()
            if state in self.nfa.reads:
                if at < 2:
                    reach |= 1 << (state + at * self.nfa.states)
            elif state == 0:
                ends |= at != 1
            else:
                for target, before, after, lifted in self.arrows[state]:
                    move = (target, max(at, 1) if lifted else at)
                    if before >> last & 1 and after >> following & 1 and move not in seen:
                        seen.add(move)
                        stack.append(move)
        self._charge(len(seen))
        self.known[key] = (reach, ends)
        return reach, ends

    def _charge(self, operations: int) -> None:
        self.work += operations * self.weight
        if self.work > _MOST_WORK:
            raise TooLarge(
                f"making the regex deterministic takes more than {_MOST_WORK:,} operations; "
                "shorten its counted repetitions"
            )
