"""Regular expressions as trees: the few forms that every supported pattern comes down to."""

from dataclasses import dataclass

from unmask.problems.automata.characters import EVERYTHING, Ranges


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Sequence:
    """One part after another; no parts: the empty word."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True)
class Choice:
    """One of the parts; no parts: no word at all."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True)
class Repeat:
    """The body, at least `least` and at most `most` times (None: without bound)."""

    body: "Node"
    least: int
    most: int | None


@dataclass(frozen=True)
class Side:
    """What may stand on one side of a position: a character of `ranges`, or (if `edge`) nothing at all."""

    ranges: Ranges
    edge: bool


@dataclass(frozen=True)
class Case:
    """One way for an assertion to hold at a position.

    `only_newline_left`: what remains to be read is exactly one newline.
    """

    before: Side
    after: Side
    only_newline_left: bool = False


@dataclass(frozen=True)
class Assertion:
    """No character, but one of the cases holds here."""

    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Look:
    """No character, but a word of the body begins here (`ahead`) or ends here; or, `negated`, none does."""

    body: "Node"
    ahead: bool
    negated: bool


Node = Chars | Sequence | Choice | Repeat | Assertion | Look

ANYTHING = Side(EVERYTHING, edge=True)
EDGE = Side((), edge=True)
EMPTY = Sequence(())


def repeated(body: Node, least: int, most: int | None) -> Node:
    """Repeat, simplified so that nested loops and loops over nothing cost no states."""
    if most == 0:
        return EMPTY
    if not reads(body):
        return body if least else EMPTY
    if least == 1 == most:
        return body
    if isinstance(body, Repeat) and body.least == 0 and (body.most is None or body.most == 1):
        # (x*){m,n} = x* and (x?){m,n} = x{0,n}
        return Repeat(body.body, 0, most if body.most == 1 else None)
    return Repeat(body, least, most)


def reads(node: Node) -> bool:
    """Whether the node can read a character."""
    match node:
        case Chars(ranges=ranges):
            return bool(ranges)
        case Sequence(parts=parts) | Choice(parts=parts):
            return any(map(reads, parts))
        case Repeat(body=body):
            return reads(body)
        case Assertion() | Look():
            return False


def size(node: Node) -> int:
    """The number of states of the automaton of a node, known before it is built."""
    match node:
        case Chars():
            return 1
        case Sequence(parts=parts):
            return sum(map(size, parts))
        case Choice(parts=parts):
            return 1 + sum(map(size, parts))
        case Repeat(body=body, least=least, most=None):
            return 1 + size(body) * max(least, 1)
        case Repeat(body=body, least=least, most=int(most)):
            return size(body) * most + (most - least) + (1 if 0 < least < most else 0)
        case Assertion():
            return 1
        case Look(body=body):
            return 2 + size(body)
    raise AssertionError(node)
