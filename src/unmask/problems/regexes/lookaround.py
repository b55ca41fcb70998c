"""Nondeterministic automaton with look-around → complete DFA.

What holds at a gap between two characters depends on both sides of it:

    ahead    a = the reading states from which the rest of the word succeeds     a function of what follows
    behind   f = the reading states of look-behinds that were just read          a function of what came before

Given both, and both neighbours, every look-around is true or false, the inner ones first. So a word has one history of
pairs (f, a): reading it backwards decides a, reading it forwards decides f. The DFA reads forwards and keeps the set of
all pairs that are right so far if the rest turns out to be what a says; at the end only a = nothing is right.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unmask.budget import check
from unmask.errors import TooLarge
from unmask.problems.automata.automaton import Automaton, token_names
from unmask.problems.automata.characters import NEWLINE, blocks_in, partition
from unmask.problems.regexes.nfa import Guard, Nfa, Seen
from unmask.problems.regexes.nodes import Case, Side

MOST_WORK = 10_000_000  # arrows and gaps visited: some seconds
MOST_LOOK_BEHINDS = 8


@dataclass(frozen=True)
class Rest:
    """What follows a gap: the token next to it (or the edge), whether it is a last newline, and what succeeds on it."""

    token: int
    only_newline: bool
    succeeds: int


@dataclass(frozen=True)
class Past:
    """What came before a gap: the kind of the character next to it, and the states of look-behinds that read it."""

    kind: int
    read: int


Gap = tuple[Past, Rest]


def deterministic_with_looks(nfa: Nfa, *, most_states: int) -> Automaton:
    """A complete DFA of the same language, not yet minimal."""
    return _Gaps(nfa).explored(most_states)


class _Gaps:
    def __init__(self, nfa: Nfa) -> None:
        self.nfa = nfa
        nfa.sets.setdefault(NEWLINE, len(nfa.sets))
        self.characters, inside = partition(list(nfa.sets))
        self.edge = len(inside)
        self.tokens_in = blocks_in(inside, len(nfa.sets))
        self.newlines = self.tokens_in[nfa.sets[NEWLINE]]
        self.readable = [
            sum(1 << state for state, (k, _) in nfa.reads.items() if self.tokens_in[k] >> token & 1)
            for token in range(self.edge)
        ]
        self.arrows_to = self._arrows_to()
        self.kind = self._kinds_before()
        self.behind = [number for number, look in enumerate(nfa.looks) if not look.ahead]
        if len(self.behind) > MOST_LOOK_BEHINDS:
            raise TooLarge(
                f"the regex has {len(self.behind)} look-behinds, and {MOST_LOOK_BEHINDS} are allowed; write fewer"
            )
        self.ends = sum(1 << look.end for look in nfa.looks if look.ahead)
        self.known: dict[tuple[int, Rest, int], tuple[int, int]] = {}
        self.work = 0

    def _arrows_to(self) -> dict[int, list[tuple[int, Guard]]]:
        """The silent arrows by their targets."""
        arrows: dict[int, list[tuple[int, Guard]]] = {}
        for state, ways in self.nfa.silent.items():
            for target, guard in ways:
                arrows.setdefault(target, []).append((state, guard))
        return arrows

    def _kinds_before(self) -> list[int]:
        """For each token and the edge, the first one that no assertion about the character before tells from it."""
        guards = [guard for ways in self.nfa.silent.values() for _, guard in ways if isinstance(guard, Case)]
        firsts: dict[tuple[bool, ...], int] = {}
        sides = {guard.before for guard in guards}
        return [
            firsts.setdefault(tuple(self._allows(side, token) for side in sides), token)
            for token in range(self.edge + 1)
        ]

    def explored(self, most_states: int) -> Automaton:
        ways = self._backwards(most_states)
        nothing = Rest(self.edge, only_newline=False, succeeds=0)
        at_start = Past(self.kind[self.edge], 0)
        first = frozenset((at_start, rest) for rest in ways if self._accepts(at_start, rest))
        numbers: dict[frozenset[Gap], int] = {first: 0}
        queue, delta, accepting = [first], [], []
        for gaps in queue:
            check()
            row = []
            for token in range(self.edge):
                target = frozenset(self._forwards(gaps, token, ways))
                if target not in numbers:
                    numbers[target] = len(queue)
                    queue.append(target)
                    _check(len(queue), most_states)
                row.append(numbers[target])
            delta.append(row)
            accepting.append(any(rest == nothing for _, rest in gaps))
        return Automaton(
            token_names(self.characters), np.array(delta, dtype=np.int32), 0, np.array(accepting), self.characters
        )

    def _backwards(self, most_states: int) -> dict[Rest, list[tuple[int, Rest]]]:
        """Rest → (what the look-behinds say at the gap behind its first character, the rest from there on)."""
        end = Rest(self.edge, only_newline=False, succeeds=0)
        ways: dict[Rest, list[tuple[int, Rest]]] = {end: []}
        queue = [end]
        for rest in queue:
            check()
            for token in range(self.edge):
                for said in range(1 << len(self.behind)):
                    leading, _ = self._leading(self.kind[token], rest, said)
                    self._charge(1 + self.readable[token].bit_count())
                    succeeds = sum(
                        1 << state for state in _bits(self.readable[token]) if leading >> self.nfa.reads[state][1] & 1
                    )
                    longer = Rest(token, rest == end and bool(self.newlines >> token & 1), succeeds)
                    if longer not in ways:
                        ways[longer] = []
                        queue.append(longer)
                        _check(len(queue), most_states)
                    ways[longer].append((said, rest))
        return ways

    def _forwards(self, gaps: frozenset[Gap], token: int, ways: dict[Rest, list[tuple[int, Rest]]]) -> Iterator[Gap]:
        """The gaps behind the next character, if it is `token`."""
        for past, rest in gaps:
            self._charge(1)
            if rest.token != token:
                continue
            if not self.behind:  # the past makes no difference
                yield from ((past, shorter) for _, shorter in ways[rest])
                continue
            new = Past(self.kind[token], self._read_behind(past, rest) & self.readable[token])
            yield from ((new, shorter) for said, shorter in ways[rest] if self._said(new, shorter) == said)

    def _accepts(self, past: Past, rest: Rest) -> bool:
        leading, _ = self._leading(past.kind, rest, self._said(past, rest))
        return bool(leading >> self.nfa.start & 1)

    def _leading(self, before: int, rest: Rest, said: int) -> tuple[int, int]:
        """The states from which a run that stands at this gap succeeds, and which look-arounds hold here.

        A run succeeds at the end of the word, at the end of a look-ahead, or by what follows. Arrows are followed
        backwards; those that ask for a look-around wait until it is known, the inner ones first.
        """
        if (known := self.known.get((before, rest, said))) is not None:
            return known
        truths = sum(1 << number for bit, number in enumerate(self.behind) if said >> bit & 1)
        decided = sum(1 << number for number in self.behind)
        leading = rest.succeeds | self.ends | int(rest.token == self.edge)
        stack, waiting = list(_bits(leading)), []
        for number in (*(number for number, look in enumerate(self.nfa.looks) if look.ahead), None):
            while stack:
                for state, guard in self.arrows_to.get(stack.pop(), ()):
                    self._charge(1)
                    if leading >> state & 1:
                        continue
                    if isinstance(guard, Seen) and not decided >> guard.look & 1:
                        waiting.append((state, guard))
                    elif self._open(guard, before, rest, truths):
                        leading |= 1 << state
                        stack.append(state)
            if number is None:
                break
            truths |= (leading >> self.nfa.looks[number].start & 1) << number
            decided |= 1 << number
            freed = {
                state for state, guard in waiting if guard.look == number and truths >> number & 1 != guard.negated
            }
            stack = [state for state in freed if not leading >> state & 1]
            leading |= sum(1 << state for state in stack)
        self.known[before, rest, said] = leading, truths
        return leading, truths

    def _said(self, past: Past, rest: Rest) -> int:
        """What the look-behinds say at a gap, as bits in their order, the inner ones first."""
        said = 0
        for bit, number in enumerate(self.behind):
            look = self.nfa.looks[number]
            _, truths = self._leading(past.kind, rest, said)  # right as far as inner look-arounds go
            origins = [look.start, *(self.nfa.reads[state][1] for state in _bits(past.read))]
            said |= (look.end in self._reach(origins, past.kind, rest, truths)) << bit
        return said

    def _read_behind(self, past: Past, rest: Rest) -> int:
        """The reading states of look-behinds that stand before the next character; one begins at every gap."""
        _, truths = self._leading(past.kind, rest, self._said(past, rest))
        origins = [self.nfa.looks[number].start for number in self.behind]
        origins += [self.nfa.reads[state][1] for state in _bits(past.read)]
        return sum(1 << state for state in self._reach(origins, past.kind, rest, truths) if state in self.nfa.reads)

    def _reach(self, origins: list[int], before: int, rest: Rest, truths: int) -> set[int]:
        """The states behind silent arrows that may be taken at this gap."""
        stack, reached = list(origins), set(origins)
        while stack:
            for target, guard in self.nfa.silent.get(stack.pop(), ()):
                self._charge(1)
                if target not in reached and self._open(guard, before, rest, truths):
                    reached.add(target)
                    stack.append(target)
        return reached

    def _open(self, guard: Guard, before: int, rest: Rest, truths: int) -> bool:
        if guard is None:
            return True
        if isinstance(guard, Seen):
            return bool(truths >> guard.look & 1) != guard.negated
        if guard.only_newline_left and not rest.only_newline:
            return False
        return self._allows(guard.before, before) and self._allows(guard.after, rest.token)

    def _allows(self, side: Side, token: int) -> bool:
        return side.edge if token == self.edge else bool(self.tokens_in[self.nfa.sets[side.ranges]] >> token & 1)

    def _charge(self, operations: int) -> None:
        self.work += operations
        if self.work > MOST_WORK:
            raise TooLarge(
                f"the look-around of the regex takes more than {MOST_WORK:,} operations to make deterministic; "
                "write a shorter pattern"
            )


def _check(states: int, most_states: int) -> None:
    if states > most_states:
        raise TooLarge(
            f"the regex needs more than {most_states:,} states as a deterministic automaton, because of its "
            "look-around; shorten its counted repetitions"
        )


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
