"""Tree → nondeterministic automaton whose silent arrows may look at both neighbours of a position, or further."""

from dataclasses import dataclass, field

from unmask.problems.automata.characters import EVERYTHING, Ranges

# Regular expressions as trees: the few forms to which every supported pattern is reduced.


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Concatenation:
    """The concatenation of the parts; without parts, the empty word."""

    parts: "tuple[RegexNode, ...]"


@dataclass(frozen=True)
class Alternatives:
    """The union of the parts; without parts, no word."""

    parts: "tuple[RegexNode, ...]"


@dataclass(frozen=True)
class Repeat:
    """The body, repeated at least `least` and at most `most` times (None: unbounded)."""

    body: "RegexNode"
    least: int
    most: int | None


@dataclass(frozen=True)
class Neighbour:
    """A condition on one side of a position: a character of `ranges`, or (if `edge`) an end of the word."""

    ranges: Ranges
    edge: bool


@dataclass(frozen=True)
class AssertionCase:
    """One way for an assertion to hold at a position.

    `only_newline_left`: what remains to be read is exactly one newline.
    """

    before: Neighbour
    after: Neighbour
    only_newline_left: bool = False


@dataclass(frozen=True)
class Assertion:
    """The empty word, at a position where one of the cases holds."""

    cases: tuple[AssertionCase, ...]


@dataclass(frozen=True)
class Look:
    """The empty word at a position where a word of the body begins (`ahead`) or ends; `negated`: where none does."""

    body: "RegexNode"
    ahead: bool
    negated: bool


RegexNode = Chars | Concatenation | Alternatives | Repeat | Assertion | Look

ANYTHING = Neighbour(EVERYTHING, edge=True)
EDGE = Neighbour((), edge=True)
EMPTY = Concatenation(())


def repetition(body: RegexNode, least: int, most: int | None) -> RegexNode:
    """A Repeat, simplified so that nested loops and loops over the empty word need no states."""
    if most == 0:
        return EMPTY
    if not can_read(body):
        return body if least else EMPTY
    if least == 1 == most:
        return body
    if isinstance(body, Repeat) and body.least == 0 and (body.most is None or body.most == 1):
        # (x*){m,n} = x* and (x?){m,n} = x{0,n}
        return Repeat(body.body, 0, most if body.most == 1 else None)
    return Repeat(body, least, most)


def can_read(node: RegexNode) -> bool:
    """Whether the node can read a character."""
    match node:
        case Chars(ranges=ranges):
            return bool(ranges)
        case Concatenation(parts=parts) | Alternatives(parts=parts):
            return any(map(can_read, parts))
        case Repeat(body=body):
            return can_read(body)
        case Assertion() | Look():
            return False


def state_count(node: RegexNode) -> int:
    """The number of states of the automaton of a node, known before it is built."""
    match node:
        case Chars():
            return 1
        case Concatenation(parts=parts):
            return sum(map(state_count, parts))
        case Alternatives(parts=parts):
            return 1 + sum(map(state_count, parts))
        case Repeat(body=body, least=least, most=None):
            return 1 + state_count(body) * max(least, 1)
        case Repeat(body=body, least=least, most=int(most)):
            return state_count(body) * most + (most - least) + (1 if 0 < least < most else 0)
        case Assertion():
            return 1
        case Look(body=body):
            return 2 + state_count(body)
    raise AssertionError(node)


@dataclass(frozen=True)
class LookGuard:
    """A condition of an arrow: look-around `look` holds or, if `negated`, does not hold."""

    look: int
    negated: bool


@dataclass(frozen=True)
class LookAround:
    """Holds if a word leads from `start` to `end`: one that begins here (`ahead`) or one that ends here."""

    start: int
    end: int
    ahead: bool


Guard = AssertionCase | LookGuard | None


@dataclass
class Nfa:
    """States 0 … n-1, each either reading or silent.

    Reading states: reads[s] = (set, target). Silent states: silent[s] = [(target, guard), …].
    State 0 is the end. A look-around mentions only earlier ones.
    better[s] is the mask of the states t such that every word that leads from s to the end also leads from t to it.
    Such states are at the same position in another copy of a repeated body.
    """

    sets: dict[Ranges, int] = field(default_factory=dict)
    reads: dict[int, tuple[int, int]] = field(default_factory=dict)
    silent: dict[int, list[tuple[int, Guard]]] = field(default_factory=dict)
    looks: list[LookAround] = field(default_factory=list)
    better: dict[int, int] = field(default_factory=dict)
    states: int = 1
    start: int = 0

    def add_reading_state(self, ranges: Ranges, target: int) -> int:
        """Add a state that reads one character of a set, and return its number."""
        state = self._new()
        self.reads[state] = (self.sets.setdefault(ranges, len(self.sets)), target)
        return state

    def add_silent_state(self, arrows: list[tuple[int, Guard]]) -> int:
        """Add a state that continues without reading, and return its number."""
        state = self._new()
        self.silent[state] = arrows
        return state

    def _new(self) -> int:
        self.states += 1
        return self.states - 1


def nfa_of(node: RegexNode) -> Nfa:
    """The automaton, built from the end to the start."""
    nfa = Nfa()
    nfa.start = _before(nfa, node, 0)
    for guard in (guard for arrows in nfa.silent.values() for _, guard in arrows):
        for side in (guard.before, guard.after) if isinstance(guard, AssertionCase) else ():
            nfa.sets.setdefault(side.ranges, len(nfa.sets))
    return nfa


def _before(nfa: Nfa, node: RegexNode, target: int) -> int:
    """The state from which exactly the words of `node` lead to `target`."""
    match node:
        case Chars(ranges=ranges):
            return nfa.add_reading_state(ranges, target)
        case Concatenation(parts=parts):
            for part in reversed(parts):
                target = _before(nfa, part, target)
            return target
        case Alternatives(parts=parts):
            return nfa.add_silent_state([(_before(nfa, part, target), None) for part in parts])
        case Assertion(cases=cases):
            return nfa.add_silent_state([(target, case) for case in cases])
        case Look(body=body, ahead=ahead, negated=negated):
            end = nfa.add_silent_state([])
            nfa.looks.append(LookAround(_before(nfa, body, end), end, ahead))
            return nfa.add_silent_state([(target, LookGuard(len(nfa.looks) - 1, negated))])
        case Repeat():
            return _before_repeat(nfa, node, target)


def _before_repeat(nfa: Nfa, node: Repeat, target: int) -> int:
    if node.most is None:
        return _before_loop(nfa, node, target)
    entry, first, optional = target, nfa.states, node.most - node.least
    for _ in range(optional):
        entry = nfa.add_silent_state([(_before(nfa, node.body, entry), None), (target, None)])
    last = 1 if optional and node.least else 0  # the last required copy is built in the same way, for comparison
    for _ in range(last):
        entry = nfa.add_silent_state([(_before(nfa, node.body, entry), None)])
    # Behind each later block one copy more is allowed than behind the one before it: x{0,k} ⊆ x{0,k+1}.
    _compare_blocks(nfa, first, optional + last, later_is_better=True)
    for _ in range(node.least - last):
        entry = _before(nfa, node.body, entry)
    return entry


def _before_loop(nfa: Nfa, node: Repeat, target: int) -> int:
    loop = nfa.add_silent_state([(target, None)])
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
    """Compare the states at equal positions of `count` blocks of equal length, which are copies of a body."""
    length = (nfa.states - first) // max(count, 1)
    for first_copy in range(first, first + length):
        if first_copy in nfa.reads:
            copies = range(first_copy, first_copy + count * length, length)
            better = 0
            for state in reversed(copies) if later_is_better else copies:
                if better:
                    nfa.better[state] = nfa.better.get(state, 0) | better
                better |= 1 << state
