"""What Python's parse tree becomes."""

import re
import warnings

import pytest

from unmask.errors import PatternError
from unmask.problems.automata.characters import EVERYTHING
from unmask.problems.regexes.nodes import Assertion, Chars, Choice, Repeat, Sequence
from unmask.problems.regexes.parser import parse_regex, regex_flags

A, B = Chars(((97, 97),)), Chars(((98, 98),))


@pytest.mark.parametrize(
    ("pattern", "tree"),
    [
        ("", Sequence(())),
        ("a", A),
        ("(a)(?:b)", Sequence((A, B))),
        ("[ab]", Chars(((97, 98),))),
        ("a|b", Chars(((97, 98),))),
        ("a|bb", Choice((A, Sequence((B, B))))),
        ("a{2,3}?", Repeat(A, 2, 3)),
        ("(?s).", Chars(EVERYTHING)),
        ("(?i:a)b", Sequence((Chars(((65, 65), (97, 97))), B))),
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
