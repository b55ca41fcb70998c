"""Python's parse tree → our tree."""

import re
import warnings

import pytest

from unmask.errors import PatternError
from unmask.problems.automata.characters import EVERYTHING
from unmask.problems.regexes.nfa import Alternatives, Assertion, Chars, Concatenation, Repeat
from unmask.problems.regexes.regex_parser import (
    ATOMIC,
    BACK_REFERENCE,
    CONDITIONAL,
    LOOK_AHEAD,
    LOOK_BEHIND,
    POSSESSIVE,
    constructs,
    parse_regex,
    regex_flags,
)

A, B = Chars(((97, 97),)), Chars(((98, 98),))


@pytest.mark.parametrize(
    ("pattern", "tree"),
    [
        ("", Concatenation(())),
        ("a", A),
        ("(a)(?:b)", Concatenation((A, B))),
        ("[ab]", Chars(((97, 98),))),
        ("a|b", Chars(((97, 98),))),
        ("a|bb", Alternatives((A, Concatenation((B, B))))),
        ("a{2,3}?", Repeat(A, 2, 3)),
        ("(?s).", Chars(EVERYTHING)),
        ("(?i:a)b", Concatenation((Chars(((65, 65), (97, 97))), B))),
        ("[^\\w\\W]", Chars(())),
    ],
)
def test_trees(pattern: str, tree: object):
    assert parse_regex(pattern) == tree


def test_anchors_are_assertions():
    assert isinstance(parse_regex("^"), Assertion)
    assert parse_regex("^") == parse_regex(r"\A") != parse_regex("(?m)^")
    assert parse_regex("$") != parse_regex(r"\Z") != parse_regex("(?m)$")


@pytest.mark.parametrize(
    ("pattern", "ascii", "ignore_case", "flags"),
    [
        ("a", True, False, re.ASCII),
        ("a", False, False, 0),
        ("(?u)a", True, False, 0),
        ("(?a)a", False, False, re.ASCII),
        ("(?i)(?u)a", True, True, re.IGNORECASE),
        ("(?u:a)", True, False, re.ASCII),
    ],
)
def test_flags(pattern: str, ascii: bool, ignore_case: bool, flags: int):
    assert regex_flags(pattern, ascii=ascii, ignore_case=ignore_case) == flags
    re.compile(pattern, flags)


def test_no_warning_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pattern in ("[[a]", "[a&&b]", "[a||b]", "[--a]", "[a~~b]"):
            parse_regex(pattern)


def test_the_obsolete_template_flag_is_refused():
    with pytest.raises(PatternError, match=r"flag t|unknown extension"):
        parse_regex("(?t)a")


# Columns of constructs, in text full of things that only look like them.


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(a)\1", [(BACK_REFERENCE, 4)]),
        (r"(?P<x>a)b(?P=x)", [(BACK_REFERENCE, 10)]),
        (r"(a)\\1[\1]\01\101\1", [(BACK_REFERENCE, 18)]),
        (r"a(?=b)(?!c)", [(LOOK_AHEAD, 2), (LOOK_AHEAD, 7)]),
        (r"(?<=a)(?<!b)", [(LOOK_BEHIND, 1), (LOOK_BEHIND, 7)]),
        (r"\(?=a[(?=](?:(?i:x)(?=y))", [(LOOK_AHEAD, 20)]),
        (r"[](?=a](?=b)", [(LOOK_AHEAD, 8)]),
        (r"[^](?=a](?=b)", [(LOOK_AHEAD, 9)]),
        (r"[\](?=a](?=b)", [(LOOK_AHEAD, 9)]),
        (r"(a)?(?(1)b|c)", [(CONDITIONAL, 5)]),
        (r"(?P<n>a)?(?(n)b|c)", [(CONDITIONAL, 10)]),
        (r"(?#(?=x\)a)(?=b)", [(LOOK_AHEAD, 12)]),
        (r"(?>a|b)", [(ATOMIC, 1)]),
        (r"a*+b++c?+d{2}+e{1,}+f{,3}+", [(POSSESSIVE, c) for c in (2, 5, 8, 11, 16, 22)]),
        (r"a*?b+?c??a{}+a{+a{x}+a{,}+", [(POSSESSIVE, 23)]),
        (r"(?:a++)*+", [(POSSESSIVE, 5), (POSSESSIVE, 8)]),
        (r"a\++[*+]", []),
        ("(?x) a # (?=c\n (?=b)", [(LOOK_AHEAD, 16)]),
        ("(?x: a # (?=c\n ) # (?=b)", [(LOOK_AHEAD, 20)]),
        ("(?x)(?-x:#(?=a)) #(?=b)", [(LOOK_AHEAD, 11)]),
        ("(?ix-s:[#] [ ]\\# #)\n)(?=a)", [(LOOK_AHEAD, 22)]),
        (r"\N{LEFT PARENTHESIS}?+(?=a)", [(POSSESSIVE, 21), (LOOK_AHEAD, 23)]),
    ],
)
def test_constructs(pattern: str, expected: list[tuple[str, int]]):
    re.compile(pattern)
    assert list(constructs(pattern)) == expected


def test_verbose_mode_may_come_from_a_flag():
    assert list(constructs("a #(?=b)\n(?=c)", verbose=True)) == [(LOOK_AHEAD, 10)]
    assert list(constructs("a #(?=b)\n(?=c)")) == [(LOOK_AHEAD, 4), (LOOK_AHEAD, 10)]
