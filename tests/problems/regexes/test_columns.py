"""Columns of constructs, in text full of things that only look like them."""

import re

import pytest

from unmask.problems.regexes.columns import (
    ATOMIC,
    BACK_REFERENCE,
    CONDITIONAL,
    LOOK_AHEAD,
    LOOK_BEHIND,
    POSSESSIVE,
    constructs,
)


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
