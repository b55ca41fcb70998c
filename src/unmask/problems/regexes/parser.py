r"""Pattern → tree, read by Python's own parser so that the syntax is exactly Python's."""

import re
import warnings
from importlib import import_module
from typing import Any

from unmask.errors import PatternError
from unmask.problems.automata.characters import EVERYTHING, NEWLINE, Item, Ranges, category, complement, matched
from unmask.problems.regexes import columns as regex_columns
from unmask.problems.regexes.nodes import (
    ANYTHING,
    EDGE,
    EMPTY,
    Assertion,
    Case,
    Chars,
    Choice,
    Look,
    Node,
    Repeat,
    Sequence,
    Side,
    repeated,
)

_parser: Any = import_module("re._parser")

_TYPES = re.ASCII | re.LOCALE | re.UNICODE
_TEMPLATE = 1  # of Python 3.11 and 3.12 only, undocumented: the repeat operators are refused under it
_ESCAPES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_REFUSED = {
    "GROUPREF": (regex_columns.BACK_REFERENCE, "is not regular"),
    "GROUPREF_EXISTS": (regex_columns.CONDITIONAL, "is not supported"),
    "ATOMIC_GROUP": (regex_columns.ATOMIC, "with a choice inside is not supported"),
    "POSSESSIVE_REPEAT": (regex_columns.POSSESSIVE, "of more than one character is not supported"),
}
# Whether \B holds in the empty word depends on the version of Python.
_NON_BOUNDARY_OF_NOTHING = re.fullmatch(r"\B", "") is not None


def parse_regex(pattern: str, *, ascii: bool = True, ignore_case: bool = False) -> Node:
    """The tree of a pattern under re.ASCII (unless it says `(?u)`) and re.IGNORECASE if asked."""
    tree, flags = _python_tree(pattern, ascii=ascii, ignore_case=ignore_case)
    return _Reader(pattern, flags).sequence(tree, flags)


def regex_flags(pattern: str, *, ascii: bool = True, ignore_case: bool = False) -> int:
    """The flags with which `re` is to be called for a pattern."""
    _, flags = _python_tree(pattern, ascii=ascii, ignore_case=ignore_case)
    ascii_flag = re.ASCII if flags & re.ASCII else 0
    return ascii_flag | (re.IGNORECASE if ignore_case else 0)


def _python_tree(pattern: str, *, ascii: bool, ignore_case: bool) -> tuple[Any, int]:
    """Python's parse tree, and all flags that hold at its top."""
    flags = re.IGNORECASE if ignore_case else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            try:
                tree = _parser.parse(pattern, flags | (re.ASCII if ascii else 0))
            except ValueError:  # the pattern says (?u), which cannot be combined with re.ASCII
                tree = _parser.parse(pattern, flags)
        except re.error as error:
            column = None if error.pos is None else error.pos + 1
            raise PatternError(
                f"Python cannot parse it ({error.msg}): correct it", pattern=pattern, column=column
            ) from None
        except (OverflowError, ValueError):
            raise PatternError("a repetition count is too large: lower the counts", pattern=pattern) from None
        except RecursionError:
            raise PatternError("groups are nested too deeply: flatten the groups", pattern=pattern) from None
    at_top = int(tree.state.flags)
    if at_top & _TEMPLATE:
        raise PatternError("the flag t has no effect; remove it", pattern=pattern)
    return tree, at_top


class _Reader:
    """Python's parse tree → our tree, counting the constructs of which only some are refused."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.verbose = pattern, bool(flags & re.VERBOSE)
        self.seen = {"ATOMIC_GROUP": 0, "POSSESSIVE_REPEAT": 0, "ASSERT": 0}

    def sequence(self, tree: Any, flags: int) -> Node:
        parts: list[Node] = []
        for op, argument in tree:
            node = self.node(str(op), argument, flags)
            parts.extend(node.parts if isinstance(node, Sequence) else (node,))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def node(self, op: str, argument: Any, flags: int) -> Node:
        match op:
            case "LITERAL" | "NOT_LITERAL":
                return Chars(_class(((argument, argument),), op == "NOT_LITERAL", flags))
            case "IN":
                return Chars(_class(*_items(argument), flags))
            case "ANY":
                return Chars(EVERYTHING if flags & re.DOTALL else complement(NEWLINE))
            case "BRANCH":
                return Choice(tuple(self.sequence(part, flags) for part in argument[1]))
            case "SUBPATTERN":
                _, added, removed, body = argument
                inherited = flags & ~_TYPES if added & _TYPES else flags
                return self.sequence(body, (inherited | added) & ~removed)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, body = argument
                return repeated(self.sequence(body, flags), least, _bound(most))
            case "POSSESSIVE_REPEAT":
                least, most, body = argument
                return self.possessive(self.sequence(body, flags), least, _bound(most))
            case "ATOMIC_GROUP":
                return self.atomic(argument, flags)
            case "AT":
                return _assertion(str(argument), flags)
            case "ASSERT" | "ASSERT_NOT":
                return self.look(op, *argument, flags)
        raise self.refused(*_REFUSED.get(op, (f"construct {op}", "is not supported")))

    def look(self, op: str, direction: int, tree: Any, flags: int) -> Node:
        """(?=…), (?!…), (?<=…), (?<!…); what stands behind must have one length, as Python demands."""
        if direction < 0:
            occurrence = self.seen["ASSERT"]
            self.seen["ASSERT"] += 1
            least, most = tree.getwidth()
            if least != most:
                name, why = regex_columns.LOOK_BEHIND, "must have a fixed width"
                raise self.refused(
                    name,
                    why,
                    occurrence=occurrence,
                    instead="give all its alternatives the same width, starting with the one",
                )
        return Look(self.sequence(tree, flags), direction > 0, op == "ASSERT_NOT")

    def possessive(self, body: Node, least: int, most: int | None) -> Node:
        """x{m,n}+ for a set x of characters: n of them, or fewer with no further x behind them."""
        occurrence = self.seen["POSSESSIVE_REPEAT"]
        self.seen["POSSESSIVE_REPEAT"] += 1
        if not isinstance(body, Chars):
            raise self.refused(*_REFUSED["POSSESSIVE_REPEAT"], occurrence=occurrence)
        return _greediest(body, least, most)

    def atomic(self, tree: Any, flags: int) -> Node:
        """(?>…) for contents without a choice, up to a greedy loop over one set at the end."""
        occurrence = self.seen["ATOMIC_GROUP"]
        self.seen["ATOMIC_GROUP"] += 1
        body = self.sequence(tree, flags)
        parts = list(body.parts) if isinstance(body, Sequence) else [body]
        loop = parts[-1] if parts else EMPTY
        if isinstance(loop, Repeat) and isinstance(loop.body, Chars) and str(tree[-1][0]) == "MAX_REPEAT":
            parts[-1:] = [_greediest(loop.body, loop.least, loop.most)]
            rigid = all(map(_has_no_choice, parts[:-1]))
        else:
            rigid = all(map(_has_no_choice, parts))
        if not rigid:
            raise self.refused(*_REFUSED["ATOMIC_GROUP"], occurrence=occurrence)
        return Sequence(tuple(parts))

    def refused(
        self, name: str, why: str, *, occurrence: int = 0, instead: str = "write the pattern without the one"
    ) -> PatternError:
        column = regex_columns.column_of(self.pattern, name, verbose=self.verbose, occurrence=occurrence)
        article = "an" if name[0] in "aeiou" else "a"
        reason = f"{article} {name} {why}: {instead}"
        return PatternError(reason, pattern=self.pattern, column=column)


def _greediest(body: Chars, least: int, most: int | None) -> Node:
    """As many characters of the set as there are, up to `most`."""
    no_more = Assertion((Case(ANYTHING, Side(complement(body.ranges), edge=True)),))
    if most is None:
        return Sequence((repeated(body, least, None), no_more))
    full = repeated(body, most, most)
    if least == most:
        return full
    return Choice((full, Sequence((repeated(body, least, most - 1), no_more))))


def _has_no_choice(node: Node) -> bool:
    if isinstance(node, Repeat):
        return node.least == node.most and _has_no_choice(node.body)
    return isinstance(node, Chars | Assertion | Look)


def _bound(most: Any) -> int | None:
    return None if most == _parser.MAXREPEAT else int(most)


def _items(members: Any) -> tuple[tuple[Item, ...], bool]:
    """The members of a class, and whether it is negated."""
    items: list[Item] = []
    for op, argument in members:
        match str(op):
            case "LITERAL":
                items.append((argument, argument))
            case "RANGE":
                items.append((argument[0], argument[1]))
            case "CATEGORY":
                items.append(_ESCAPES[str(argument)])
    return tuple(items), str(members[0][0]) == "NEGATE"


def _class(items: tuple[Item, ...], negated: bool, flags: int) -> Ranges:
    ascii, ignore_case = not flags & re.UNICODE, bool(flags & re.IGNORECASE)
    return matched(items, negated=negated, ascii=ascii, ignore_case=ignore_case)


def _assertion(name: str, flags: int) -> Assertion:
    """The cases in which a position assertion holds."""
    if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        return _boundary(category(r"\w", ascii=not flags & re.UNICODE), holds=name == "AT_BOUNDARY")
    beside_newline = Side(NEWLINE, edge=True)
    many_lines = bool(flags & re.MULTILINE)
    match name:
        case "AT_BEGINNING" if many_lines:
            return Assertion((Case(beside_newline, ANYTHING),))
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return Assertion((Case(EDGE, ANYTHING),))
        case "AT_END" if many_lines:
            return Assertion((Case(ANYTHING, beside_newline),))
        case "AT_END":
            newline = Side(NEWLINE, edge=False)
            return Assertion((Case(ANYTHING, EDGE), Case(ANYTHING, newline, only_newline_left=True)))
        case "AT_END_STRING":
            return Assertion((Case(ANYTHING, EDGE),))
    raise AssertionError(name)


def _boundary(word: Ranges, *, holds: bool) -> Assertion:
    """Exactly one neighbour is a word character; or (not `holds`) both are, or neither is."""
    inside, outside = Side(word, edge=False), Side(complement(word), edge=True)
    if holds:
        return Assertion((Case(inside, outside), Case(outside, inside)))
    middle = Side(outside.ranges, edge=False)
    after_start = Side(outside.ranges, edge=_NON_BOUNDARY_OF_NOTHING)
    return Assertion((Case(inside, inside), Case(middle, outside), Case(EDGE, after_start)))
