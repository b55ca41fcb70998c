"""Trees of patterns: what is simplified, and the size that is known beforehand."""

import pytest

from unmask.problems.regexes.nfa import nfa_of
from unmask.problems.regexes.nodes import EMPTY, Chars, Repeat, repeated, size
from unmask.problems.regexes.parser import parse_regex

A = Chars(((97, 97),))


def test_loops_are_simplified():
    assert repeated(A, 0, 0) == EMPTY
    assert repeated(A, 1, 1) == A
    assert repeated(EMPTY, 3, None) == EMPTY
    assert repeated(Repeat(A, 0, None), 2, 5) == Repeat(A, 0, None)
    assert repeated(Repeat(A, 0, 1), 2, 5) == Repeat(A, 0, 5)
    assert repeated(Repeat(A, 0, 1), 2, None) == Repeat(A, 0, None)
    assert repeated(Repeat(A, 1, 2), 2, 5) == Repeat(Repeat(A, 1, 2), 2, 5)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a",
        "ab|c",
        "a*",
        "a+",
        "a{3}",
        "a{3,}",
        "a{2,5}",
        "a{,4}",
        "(ab?){1,3}c",
        "((a|b){2,}c){0,2}",
        "^a$",
        "(?>a*)b++",
    ],
)
def test_the_size_is_that_of_the_automaton(pattern: str):
    tree = parse_regex(pattern)
    assert size(tree) == nfa_of(tree).states - 1  # the end is no part of the pattern
