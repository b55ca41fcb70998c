"""Tree → nondeterministic automaton whose silent arrows may look at both neighbours of a position, or further."""

from dataclasses import dataclass, field

from unmask.problems.automata.characters import Ranges
from unmask.problems.regexes.nodes import Assertion, Case, Chars, Choice, Look, Node, Repeat, Sequence


@dataclass(frozen=True)
class Seen:
    """An arrow may be taken where look-around `look` holds; or, `negated`, where it does not."""

    look: int
    negated: bool


@dataclass(frozen=True)
class LookAround:
    """A word leads from `start` to `end`, from here on (`ahead`) or up to here."""

    start: int
    end: int
    ahead: bool


Guard = Case | Seen | None


@dataclass
class Nfa:
    """States 0 … n-1, each with one way on.

    Reading states: reads[s] = (set, target). Silent states: silent[s] = [(target, guard), …].
    State 0 is the end. A look-around mentions only earlier ones.
    better[s] is the mask of states from which every word that leads from s to
    the end does so too, because they stand in the same place of another copy of a repeated body.
    """

    sets: dict[Ranges, int] = field(default_factory=dict)
    reads: dict[int, tuple[int, int]] = field(default_factory=dict)
    silent: dict[int, list[tuple[int, Guard]]] = field(default_factory=dict)
    looks: list[LookAround] = field(default_factory=list)
    better: dict[int, int] = field(default_factory=dict)
    states: int = 1
    start: int = 0

    def reading(self, ranges: Ranges, target: int) -> int:
        """A new state that reads one character of a set."""
        state = self._new()
        self.reads[state] = (self.sets.setdefault(ranges, len(self.sets)), target)
        return state

    def branching(self, arrows: list[tuple[int, Guard]]) -> int:
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
    for guard in (guard for arrows in nfa.silent.values() for _, guard in arrows):
        for side in (guard.before, guard.after) if isinstance(guard, Case) else ():
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
        case Look(body=body, ahead=ahead, negated=negated):
            end = nfa.branching([])
            nfa.looks.append(LookAround(_before(nfa, body, end), end, ahead))
            return nfa.branching([(target, Seen(len(nfa.looks) - 1, negated))])
        case Repeat():
            return _before_repeat(nfa, node, target)


def _before_repeat(nfa: Nfa, node: Repeat, target: int) -> int:
    if node.most is None:
        return _before_loop(nfa, node, target)
    entry, first, optional = target, nfa.states, node.most - node.least
    for _ in range(optional):
        entry = nfa.branching([(_before(nfa, node.body, entry), None), (target, None)])
    last = 1 if optional and node.least else 0  # the last required copy is built alike, to be compared
    for _ in range(last):
        entry = nfa.branching([(_before(nfa, node.body, entry), None)])
    # Behind each later block one copy more is allowed than behind the one before it: x{0,k} ⊆ x{0,k+1}.
    _compare_blocks(nfa, first, optional + last, later_is_better=True)
    for _ in range(node.least - last):
        entry = _before(nfa, node.body, entry)
    return entry


def _before_loop(nfa: Nfa, node: Repeat, target: int) -> int:
    loop = nfa.branching([(target, None)])
    first = nfa.states
    entry = _before(nfa, node.body, loop)
    nfa.silent[loop].insert(0, (entry, None))
    if node.least == 0:
        return loop
    for _ in range(node.least - 1):
        entry = _before(nfa, node.body, entry)
    # Behind each later block one copy more is required than behind the one before it: x{k+1,} ⊆ x{k,}.
    _compare_blocks(nfa, first, node.least, later_is_better=False)
    return entry


def _compare_blocks(nfa: Nfa, first: int, count: int, *, later_is_better: bool) -> None:
    """Copies of a body fill `count` blocks of equal length; compare the states in equal places of them."""
    length = (nfa.states - first) // max(count, 1)
    for place in range(first, first + length):
        if place in nfa.reads:
            copies = range(place, place + count * length, length)
            better = 0
            for state in reversed(copies) if later_is_better else copies:
                if better:
                    nfa.better[state] = nfa.better.get(state, 0) | better
                better |= 1 << state
