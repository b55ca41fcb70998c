"""Tree → nondeterministic automaton whose silent arrows may look at both neighbours of a position."""

from dataclasses import dataclass, field

from unmask.problems.characters import Ranges
from unmask.problems.regex_nodes import Assertion, Case, Chars, Choice, Node, Repeat, Sequence


@dataclass
class Nfa:
    """States 0 … n-1, each with one way on.

    Reading states: reads[s] = (set, target). Silent states: silent[s] = [(target, case or None), …].
    State 0 is the end.
    """

    sets: dict[Ranges, int] = field(default_factory=dict)
    reads: dict[int, tuple[int, int]] = field(default_factory=dict)
    silent: dict[int, list[tuple[int, Case | None]]] = field(default_factory=dict)
    states: int = 1
    start: int = 0

    def reading(self, ranges: Ranges, target: int) -> int:
        """A new state that reads one character of a set."""
        state = self._new()
        self.reads[state] = (self.sets.setdefault(ranges, len(self.sets)), target)
        return state

    def branching(self, arrows: list[tuple[int, Case | None]]) -> int:
        """A new state that goes on without reading."""
        state = self._new()
        self.silent[state] = arrows
        return state

    def _new(self) -> int:
        self.states += 1
        return self.states - 1


def nfa_of(node: Node) -> Nfa:
    """The automaton, built from the end to the start."""
    nfa = Nfa()
    nfa.start = _before(nfa, node, 0)
    for case in (case for arrows in nfa.silent.values() for _, case in arrows if case is not None):
        for side in (case.before, case.after):
            nfa.sets.setdefault(side.ranges, len(nfa.sets))
    return nfa


def _before(nfa: Nfa, node: Node, target: int) -> int:
    """The state from which exactly the words of `node` lead to `target`."""
    match node:
        case Chars(ranges=ranges):
            return nfa.reading(ranges, target)
        case Sequence(parts=parts):
            for part in reversed(parts):
                target = _before(nfa, part, target)
            return target
        case Choice(parts=parts):
            return nfa.branching([(_before(nfa, part, target), None) for part in parts])
        case Assertion(cases=cases):
            return nfa.branching([(target, case) for case in cases])
        case Repeat():
            return _before_repeat(nfa, node, target)


def _before_repeat(nfa: Nfa, node: Repeat, target: int) -> int:
    entry = target
    if node.most is None:
        loop = nfa.branching([(target, None)])
        body = _before(nfa, node.body, loop)
        nfa.silent[loop].insert(0, (body, None))
        entry = body if node.least else loop
        copies = max(node.least - 1, 0)
    else:
        for _ in range(node.most - node.least):
            entry = nfa.branching([(_before(nfa, node.body, entry), None), (target, None)])
        copies = node.least
    for _ in range(copies):
        entry = _before(nfa, node.body, entry)
    return entry
