"""Pattern → tree, read by Python's own parser so that the syntax is exactly Python's."""

import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from unmask.errors import PatternError
from unmask.problems.automata.characters import EVERYTHING, NEWLINE, Item, Ranges, category, class_members, complement
from unmask.problems.regexes.nfa import (
    ANYTHING,
    EDGE,
    EMPTY,
    Alternatives,
    Assertion,
    AssertionCase,
    Chars,
    Concatenation,
    Look,
    Neighbour,
    RegexNode,
    Repeat,
    repetition,
)

# Pattern text → the columns of constructs for which Python's parse tree has no position.
#
# The scan assumes a pattern that Python accepts, and follows its tokenizer: escapes, classes, comments,
# verbose mode with its scopes, and `\1` against octal escapes.


BACK_REFERENCE, CONDITIONAL, LOOK_AHEAD, LOOK_BEHIND = (
    "back-reference",
    "conditional group",
    "look-ahead",
    "look-behind",
)
ATOMIC, POSSESSIVE = "atomic group", "possessive quantifier"

_OPENINGS = (
    ("(?P=", BACK_REFERENCE),
    ("(?(", CONDITIONAL),
    ("(?=", LOOK_AHEAD),
    ("(?!", LOOK_AHEAD),
    ("(?<=", LOOK_BEHIND),
    ("(?<!", LOOK_BEHIND),
    ("(?>", ATOMIC),
)
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_CLASS = re.compile(r"\[\^?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]", re.DOTALL)
_COMMENT = re.compile(r"\(\?#(?:\\.|[^)\\])*\)", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?!\})\d*(?:,\d*)?\})([+?]?)")
_ESCAPE = re.compile(r"\\(?:N\{[^}]*\}|0[0-7]{0,2}|[1-7][0-7][0-7]|([1-9][0-9]?)|.)", re.DOTALL)
_NAME = re.compile(r"\(\?(?:P<[^>]*>|P=[^)]*\)|\([^)]*\)|<?[=!]|>)|\(")


def column_of(pattern: str, construct: str, *, verbose: bool = False, occurrence: int = 0) -> int | None:
    """The column, from 1, of an occurrence (from 0) of a construct; None if it does not occur."""
    columns = [column for name, column in constructs(pattern, verbose=verbose) if name == construct]
    return columns[occurrence] if occurrence < len(columns) else None


def constructs(pattern: str, *, verbose: bool = False) -> Iterator[tuple[str, int]]:
    """(construct, column) in the order of the text; the column of a quantifier is that of its sign."""
    scopes = [verbose]
    position = 0
    while position < len(pattern):
        sign = pattern[position]
        if sign == "\\":
            escape = _matched(_ESCAPE, pattern, position)
            if escape[1]:
                yield BACK_REFERENCE, position + 1
            position = escape.end()
        elif sign == "[":
            position = _matched(_CLASS, pattern, position).end()
        elif sign == "#" and scopes[-1]:
            end = pattern.find("\n", position)
            position = len(pattern) if end < 0 else end + 1
        elif sign == "(":
            name = next((name for opening, name in _OPENINGS if pattern.startswith(opening, position)), None)
            if name is not None:
                yield name, position + 1
            position = _end_of_opening(pattern, position, scopes)
        elif sign == ")":
            scopes.pop()
            position += 1
        elif quantifier := _QUANTIFIER.match(pattern, position):
            if quantifier[1] == "+":
                yield POSSESSIVE, position + 1
            position = quantifier.end()
        else:
            position += 1


def _end_of_opening(pattern: str, position: int, scopes: list[bool]) -> int:
    """Step over an opening parenthesis with all that belongs to it; keep the scopes of verbose mode."""
    if comment := _COMMENT.match(pattern, position):
        return comment.end()
    if flags := _FLAGS.match(pattern, position):
        verbose = (scopes[-1] or "x" in flags[1]) and "x" not in (flags[2] or "")
        if flags[3] == ")":
            scopes[-1] = verbose
        else:
            scopes.append(verbose)
        return flags.end()
    if not pattern.startswith("(?P=", position):
        scopes.append(scopes[-1])
    return _matched(_NAME, pattern, position).end()


def _matched(expression: re.Pattern[str], pattern: str, position: int) -> re.Match[str]:
    match = expression.match(pattern, position)
    assert match is not None, (pattern, position)
    return match


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
    "GROUPREF": (BACK_REFERENCE, "is not regular"),
    "GROUPREF_EXISTS": (CONDITIONAL, "is not supported"),
    "ATOMIC_GROUP": (ATOMIC, "with a choice inside is not supported"),
    "POSSESSIVE_REPEAT": (POSSESSIVE, "of more than one character is not supported"),
}
# Whether \B holds in the empty word depends on the version of Python.
_NON_BOUNDARY_OF_NOTHING = re.fullmatch(r"\B", "") is not None


def parse_regex(pattern: str, *, ascii: bool = True, ignore_case: bool = False) -> RegexNode:
    """The tree of a pattern under re.ASCII (unless it contains `(?u)`) and, if requested, re.IGNORECASE."""
    tree, flags = _python_tree(pattern, ascii=ascii, ignore_case=ignore_case)
    return _TreeReader(pattern, flags).sequence(tree, flags)


def regex_flags(pattern: str, *, ascii: bool = True, ignore_case: bool = False) -> int:
    """The flags with which `re` is to be called for a pattern."""
    _, flags = _python_tree(pattern, ascii=ascii, ignore_case=ignore_case)
    ascii_flag = re.ASCII if flags & re.ASCII else 0
    return ascii_flag | (re.IGNORECASE if ignore_case else 0)


def _python_tree(pattern: str, *, ascii: bool, ignore_case: bool) -> tuple[Any, int]:
    """Python's parse tree, and all flags at its top level."""
    flags = re.IGNORECASE if ignore_case else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            try:
                tree = _parser.parse(pattern, flags | (re.ASCII if ascii else 0))
            except ValueError:  # the pattern contains (?u), which cannot be combined with re.ASCII
                tree = _parser.parse(pattern, flags)
        except re.error as error:
            column = None if error.pos is None else error.pos + 1
            raise PatternError(
                f"Python cannot parse the pattern ({error.msg}): correct it", pattern=pattern, column=column
            ) from None
        except (OverflowError, ValueError):
            raise PatternError("a repetition count is too large: lower the counts", pattern=pattern) from None
        except RecursionError:
            raise PatternError("groups are nested too deeply: flatten the groups", pattern=pattern) from None
    at_top = int(tree.state.flags)
    if at_top & _TEMPLATE:
        raise PatternError("the flag t has no effect; remove it", pattern=pattern)
    return tree, at_top


class _TreeReader:
    """Python's parse tree → our tree. Constructs that are refused only in some forms are counted."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.verbose = pattern, bool(flags & re.VERBOSE)
        self.occurrences = {"ATOMIC_GROUP": 0, "POSSESSIVE_REPEAT": 0, "ASSERT": 0}

    def sequence(self, tree: Any, flags: int) -> RegexNode:
        parts: list[RegexNode] = []
        for op, argument in tree:
            node = self.node(str(op), argument, flags)
            parts.extend(node.parts if isinstance(node, Concatenation) else (node,))
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def node(self, op: str, argument: Any, flags: int) -> RegexNode:
        match op:
            case "LITERAL" | "NOT_LITERAL":
                return Chars(_class(((argument, argument),), op == "NOT_LITERAL", flags))
            case "IN":
                return Chars(_class(*_items(argument), flags))
            case "ANY":
                return Chars(EVERYTHING if flags & re.DOTALL else complement(NEWLINE))
            case "BRANCH":
                return Alternatives(tuple(self.sequence(part, flags) for part in argument[1]))
            case "SUBPATTERN":
                _, added, removed, body = argument
                inherited = flags & ~_TYPES if added & _TYPES else flags
                return self.sequence(body, (inherited | added) & ~removed)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, body = argument
                return repetition(self.sequence(body, flags), least, _bound(most))
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

    def look(self, op: str, direction: int, tree: Any, flags: int) -> RegexNode:
        """(?=…), (?!…), (?<=…), (?<!…); the content of a look-behind must have one length, as in Python."""
        if direction < 0:
            occurrence = self.occurrences["ASSERT"]
            self.occurrences["ASSERT"] += 1
            least, most = tree.getwidth()
            if least != most:
                name, why = LOOK_BEHIND, "must have a fixed width"
                raise self.refused(
                    name,
                    why,
                    occurrence=occurrence,
                    instead="give all its alternatives the same width, starting with the one",
                )
        return Look(self.sequence(tree, flags), direction > 0, op == "ASSERT_NOT")

    def possessive(self, body: RegexNode, least: int, most: int | None) -> RegexNode:
        """x{m,n}+ for a set x of characters: n of them, or fewer that are not followed by another x."""
        occurrence = self.occurrences["POSSESSIVE_REPEAT"]
        self.occurrences["POSSESSIVE_REPEAT"] += 1
        if not isinstance(body, Chars):
            raise self.refused(*_REFUSED["POSSESSIVE_REPEAT"], occurrence=occurrence)
        return _greediest(body, least, most)

    def atomic(self, tree: Any, flags: int) -> RegexNode:
        """(?>…) for contents without a choice, except for a greedy loop over one set at the end."""
        occurrence = self.occurrences["ATOMIC_GROUP"]
        self.occurrences["ATOMIC_GROUP"] += 1
        body = self.sequence(tree, flags)
        parts = list(body.parts) if isinstance(body, Concatenation) else [body]
        loop = parts[-1] if parts else EMPTY
        if isinstance(loop, Repeat) and isinstance(loop.body, Chars) and str(tree[-1][0]) == "MAX_REPEAT":
            parts[-1:] = [_greediest(loop.body, loop.least, loop.most)]
            rigid = all(map(_has_no_choice, parts[:-1]))
        else:
            rigid = all(map(_has_no_choice, parts))
        if not rigid:
            raise self.refused(*_REFUSED["ATOMIC_GROUP"], occurrence=occurrence)
        return Concatenation(tuple(parts))

    def refused(
        self, name: str, why: str, *, occurrence: int = 0, instead: str = "write the pattern without the one"
    ) -> PatternError:
        column = column_of(self.pattern, name, verbose=self.verbose, occurrence=occurrence)
        article = "an" if name[0] in "aeiou" else "a"
        reason = f"{article} {name} {why}: {instead}"
        return PatternError(reason, pattern=self.pattern, column=column)


def _greediest(body: Chars, least: int, most: int | None) -> RegexNode:
    """The longest run of characters of the set, up to `most`."""
    no_more = Assertion((AssertionCase(ANYTHING, Neighbour(complement(body.ranges), edge=True)),))
    if most is None:
        return Concatenation((repetition(body, least, None), no_more))
    full = repetition(body, most, most)
    if least == most:
        return full
    return Alternatives((full, Concatenation((repetition(body, least, most - 1), no_more))))


def _has_no_choice(node: RegexNode) -> bool:
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
    return class_members(items, negated=negated, ascii=ascii, ignore_case=ignore_case)


def _assertion(name: str, flags: int) -> Assertion:
    """The cases in which an assertion about a position holds."""
    if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        return _boundary(category(r"\w", ascii=not flags & re.UNICODE), holds=name == "AT_BOUNDARY")
    beside_newline = Neighbour(NEWLINE, edge=True)
    many_lines = bool(flags & re.MULTILINE)
    match name:
        case "AT_BEGINNING" if many_lines:
            return Assertion((AssertionCase(beside_newline, ANYTHING),))
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return Assertion((AssertionCase(EDGE, ANYTHING),))
        case "AT_END" if many_lines:
            return Assertion((AssertionCase(ANYTHING, beside_newline),))
        case "AT_END":
            newline = Neighbour(NEWLINE, edge=False)
            return Assertion((AssertionCase(ANYTHING, EDGE), AssertionCase(ANYTHING, newline, only_newline_left=True)))
        case "AT_END_STRING":
            return Assertion((AssertionCase(ANYTHING, EDGE),))
    raise AssertionError(name)


def _boundary(word: Ranges, *, holds: bool) -> Assertion:
    """Exactly one neighbour is a word character; or (not `holds`) both are, or neither is."""
    inside, outside = Neighbour(word, edge=False), Neighbour(complement(word), edge=True)
    if holds:
        return Assertion((AssertionCase(inside, outside), AssertionCase(outside, inside)))
    middle = Neighbour(outside.ranges, edge=False)
    after_start = Neighbour(outside.ranges, edge=_NON_BOUNDARY_OF_NOTHING)
    return Assertion((AssertionCase(inside, inside), AssertionCase(middle, outside), AssertionCase(EDGE, after_start)))
