"""Nondeterministic automaton → complete DFA, by subsets.

A subset is a bit mask of the reading states just read. The silent arrows behind them are followed only when the next
character, or the end, is known, so that an assertion sees both its neighbours. A state of the DFA is (mask, kind of
the last character).

`$` also holds before a last newline. Taking it there lifts the run to phase 1, in which exactly one
newline remains to be read, and reading it to phase 2, in which nothing remains.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unmask.errors import PatternError, TooLarge
from unmask.limits import check
from unmask.problems.automata.automaton import Automaton, character_class_names
from unmask.problems.automata.characters import NEWLINE, blocks_in, partition
from unmask.problems.regexes.nfa import AssertionCase, Guard, LookGuard, Neighbour, Nfa, nfa_of, state_count
from unmask.problems.regexes.regex_parser import parse_regex

_MOST_WORK = 60_000_000  # operations on big integers, and table entries: they take some seconds


def deterministic_automaton(nfa: Nfa, *, most_states: int) -> Automaton:
    """A complete DFA of the same language, not yet minimal."""
    return _Subsets(nfa).automaton(most_states)


class _Subsets:
    def __init__(self, nfa: Nfa) -> None:
        self.nfa = nfa
        has_phases = any(
            isinstance(case, AssertionCase) and case.only_newline_left for row in nfa.silent.values() for _, case in row
        )
        if has_phases:
            nfa.sets.setdefault(NEWLINE, len(nfa.sets))
        self.characters, inside = partition(list(nfa.sets))
        self.edge = len(inside)  # the kind of neighbour before the first and after the last character
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
        self.closures: dict[tuple[int, int, int, int], tuple[int, bool]] = {}

    def _readable(self, inside: list[int], newlines: int) -> list[int]:
        """For each token, the mask of the reading states of all phases that may read it."""
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
            assert isinstance(case, AssertionCase), "look-around needs `deterministic_with_looks`"
            before, after = self._allowed(case.before), self._allowed(case.after)
            arrows.append((target, before, after, case.only_newline_left))
        return arrows

    def _allowed(self, side: Neighbour) -> int:
        return self.tokens_in[self.nfa.sets[side.ranges]] | side.edge << self.edge

    def _kinds(self, masks: set[int]) -> list[int]:
        """For each token and the edge, the first one that is in the same masks: the representative of its class."""
        firsts: dict[tuple[bool, ...], int] = {}
        return [
            firsts.setdefault(tuple(bool(mask >> token & 1) for mask in masks), token) for token in range(self.edge + 1)
        ]

    def automaton(self, most_states: int) -> Automaton:
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
            character_class_names(self.characters),
            np.array(delta, dtype=np.int32),
            0,
            np.array(accepting),
            self.characters,
        )

    def _without_worse(self, mask: int) -> int:
        """The subset without states for which it contains a better one: the same words lead from it to the end."""
        if not mask & self.compared:
            return mask
        if (pruned := self.pruned.get(mask)) is not None:
            return pruned
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
        if (closure := self.closures.get(key)) is not None:
            return closure
        reach, ends = 0, False
        stack, visited = [(origin, phase)], {(origin, phase)}
        while stack:
            state, current_phase = stack.pop()
            if state in self.nfa.reads:
                if current_phase < 2:
                    reach |= 1 << (state + current_phase * self.nfa.states)
            elif state == 0:
                ends |= current_phase != 1
            else:
                for target, before, after, lifted in self.arrows[state]:
                    move = (target, max(current_phase, 1) if lifted else current_phase)
                    if before >> last & 1 and after >> following & 1 and move not in visited:
                        visited.add(move)
                        stack.append(move)
        self._charge(len(visited))
        self.closures[key] = (reach, ends)
        return reach, ends

    def _charge(self, operations: int) -> None:
        self.work += operations * self.weight
        if self.work > _MOST_WORK:
            raise TooLarge(
                f"making the regex deterministic takes more than {_MOST_WORK:,} operations; "
                "shorten its counted repetitions"
            )


# Nondeterministic automaton with look-around → complete DFA.
#
# Whether an assertion holds at a gap between two characters depends on both sides of the gap:
#
#     ahead    a = the reading states from which the rest of the word succeeds     a function of what follows
#     behind   f = the reading states of look-behinds that were just read          a function of what came before
#
# Given both, and both neighbours, every look-around is true or false, the inner ones first. So a word has one history
# of pairs (f, a): reading it backwards decides a, reading it forwards decides f. The DFA reads forwards and keeps the
# set of all pairs that are correct so far, provided that the rest of the word agrees with a. At the end, only an empty
# a is correct.


MOST_WORK = 10_000_000  # arrows and gaps visited: they take some seconds
MOST_LOOK_BEHINDS = 8


@dataclass(frozen=True)
class Rest:
    """What follows a gap: the next token (or the edge), whether it is a final newline, and the states that succeed."""

    token: int
    only_newline: bool
    succeeds: int


@dataclass(frozen=True)
class GapPast:
    """What came before a gap: the kind of the character next to it, and the states of look-behinds that read it."""

    kind: int
    read: int


Gap = tuple[GapPast, Rest]


def deterministic_with_looks(nfa: Nfa, *, most_states: int) -> Automaton:
    """A complete DFA of the same language, not yet minimal."""
    return _Gaps(nfa).automaton(most_states)


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
        self.decided: dict[tuple[int, Rest, int], tuple[int, int]] = {}
        self.work = 0

    def _arrows_to(self) -> dict[int, list[tuple[int, Guard]]]:
        """The silent arrows by their targets."""
        arrows: dict[int, list[tuple[int, Guard]]] = {}
        for state, ways in self.nfa.silent.items():
            for target, guard in ways:
                arrows.setdefault(target, []).append((state, guard))
        return arrows

    def _kinds_before(self) -> list[int]:
        """For each token and the edge, the first one that no assertion about the previous character distinguishes."""
        guards = [guard for ways in self.nfa.silent.values() for _, guard in ways if isinstance(guard, AssertionCase)]
        firsts: dict[tuple[bool, ...], int] = {}
        conditions = {guard.before for guard in guards}
        return [
            firsts.setdefault(tuple(self._allows(condition, token) for condition in conditions), token)
            for token in range(self.edge + 1)
        ]

    def automaton(self, most_states: int) -> Automaton:
        ways = self._backwards(most_states)
        nothing = Rest(self.edge, only_newline=False, succeeds=0)
        at_start = GapPast(self.kind[self.edge], 0)
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
            character_class_names(self.characters),
            np.array(delta, dtype=np.int32),
            0,
            np.array(accepting),
            self.characters,
        )

    def _backwards(self, most_states: int) -> dict[Rest, list[tuple[int, Rest]]]:
        """Rest → [(truths of the look-behinds at the gap after its first character, the rest after it), …]."""
        end = Rest(self.edge, only_newline=False, succeeds=0)
        ways: dict[Rest, list[tuple[int, Rest]]] = {end: []}
        queue = [end]
        for rest in queue:
            check()
            for token in range(self.edge):
                for truths_behind in range(1 << len(self.behind)):
                    leading, _ = self._leading(self.kind[token], rest, truths_behind)
                    self._charge(1 + self.readable[token].bit_count())
                    succeeds = sum(
                        1 << state for state in _bits(self.readable[token]) if leading >> self.nfa.reads[state][1] & 1
                    )
                    longer = Rest(token, rest == end and bool(self.newlines >> token & 1), succeeds)
                    if longer not in ways:
                        ways[longer] = []
                        queue.append(longer)
                        _check(len(queue), most_states)
                    ways[longer].append((truths_behind, rest))
        return ways

    def _forwards(self, gaps: frozenset[Gap], token: int, ways: dict[Rest, list[tuple[int, Rest]]]) -> Iterator[Gap]:
        """The gaps behind the next character, if it is `token`."""
        for past, rest in gaps:
            self._charge(1)
            if rest.token != token:
                continue
            if not self.behind:  # the result does not depend on the past
                yield from ((past, shorter) for _, shorter in ways[rest])
                continue
            new = GapPast(self.kind[token], self._read_behind(past, rest) & self.readable[token])
            yield from (
                (new, shorter)
                for truths_behind, shorter in ways[rest]
                if self._look_behind_truths(new, shorter) == truths_behind
            )

    def _accepts(self, past: GapPast, rest: Rest) -> bool:
        leading, _ = self._leading(past.kind, rest, self._look_behind_truths(past, rest))
        return bool(leading >> self.nfa.start & 1)

    def _leading(self, before: int, rest: Rest, truths_behind: int) -> tuple[int, int]:
        """Return the states from which a run at this gap succeeds, and which look-arounds hold here, as bit masks.

        A run succeeds at the end of the word, at the end of a look-ahead, or by what follows the gap. A look-ahead
        mentions only earlier ones, so they are decided in their order. `truths_behind` has a bit per look-behind.
        """
        if (cached := self.decided.get((before, rest, truths_behind))) is not None:
            return cached
        truths = sum(1 << number for bit, number in enumerate(self.behind) if truths_behind >> bit & 1)
        decided = sum(1 << number for number in self.behind)
        leading = rest.succeeds | self.ends | int(rest.token == self.edge)
        new, waiting = list(_bits(leading)), []
        for number, look in enumerate(self.nfa.looks):
            if not look.ahead:
                continue
            leading = self._follow_back(new, leading, waiting, (before, rest, truths, decided))
            truths |= (leading >> look.start & 1) << number
            decided |= 1 << number
            holds = bool(truths >> number & 1)
            freed = {state for state, guard in waiting if guard.look == number and holds != guard.negated}
            new = [state for state in freed if not leading >> state & 1]
            leading |= sum(1 << state for state in new)
        leading = self._follow_back(new, leading, waiting, (before, rest, truths, decided))
        self.decided[before, rest, truths_behind] = leading, truths
        return leading, truths

    def _follow_back(
        self, new: list[int], leading: int, waiting: list[tuple[int, LookGuard]], at: tuple[int, Rest, int, int]
    ) -> int:
        """Follow silent arrows backwards from the states `new`; return `leading` with the states that they reach.

        An arrow whose guard is a look-around that is not decided yet is appended to `waiting`.
        """
        before, rest, truths, decided = at
        while new:
            for state, guard in self.arrows_to.get(new.pop(), ()):
                self._charge(1)
                if leading >> state & 1:
                    continue
                if isinstance(guard, LookGuard) and not decided >> guard.look & 1:
                    waiting.append((state, guard))
                elif self._open(guard, before, rest, truths):
                    leading |= 1 << state
                    new.append(state)
        return leading

    def _look_behind_truths(self, past: GapPast, rest: Rest) -> int:
        """The truths of the look-behinds at a gap, as bits in their order, inner ones first."""
        truths_behind = 0
        for bit, number in enumerate(self.behind):
            look = self.nfa.looks[number]
            _, truths = self._leading(past.kind, rest, truths_behind)  # correct for the inner look-arounds
            origins = [look.start, *(self.nfa.reads[state][1] for state in _bits(past.read))]
            truths_behind |= (look.end in self._reach(origins, past.kind, rest, truths)) << bit
        return truths_behind

    def _read_behind(self, past: GapPast, rest: Rest) -> int:
        """The reading states of look-behinds before the next character; one begins at every gap."""
        _, truths = self._leading(past.kind, rest, self._look_behind_truths(past, rest))
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
        if isinstance(guard, LookGuard):
            return bool(truths >> guard.look & 1) != guard.negated
        if guard.only_newline_left and not rest.only_newline:
            return False
        return self._allows(guard.before, before) and self._allows(guard.after, rest.token)

    def _allows(self, side: Neighbour, token: int) -> bool:
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


# Regular expression → the least automaton of {w : re.fullmatch(pattern, w)}.


def regex_automaton(
    pattern: str, *, ascii: bool = True, ignore_case: bool = False, most_states: int = 20_000
) -> Automaton:
    """The minimal automaton of the words that `re.fullmatch` accepts, over all of Unicode.

    The flags are re.ASCII, unless `ascii` is False or the pattern contains `(?u)`, and re.IGNORECASE if
    requested; inline flags work. Characters that no state distinguishes share a token.
    """
    try:
        tree = parse_regex(pattern, ascii=ascii, ignore_case=ignore_case)
        states = state_count(tree)
        if states > 2 * most_states:
            raise TooLarge(
                f"the regex needs {states:,} states once its counted repetitions are written out, "
                f"and {2 * most_states:,} are allowed; lower the counts"
            )
        nfa = nfa_of(tree)
        automaton = (deterministic_with_looks if nfa.looks else deterministic_automaton)(nfa, most_states=most_states)
        return automaton.minimal()
    except RecursionError:
        raise PatternError("groups are nested too deeply: flatten the groups", pattern=pattern) from None
